// What all charts of bytes look like.

// dressed is a copy of an option with what depends on the theme and the width.
// Text says how numbers of the axes print and what the tooltip shows.
function dressed(option, box, text) {
  var o = JSON.parse(JSON.stringify(option)), soft = css("--soft"), line = css("--line"), blue = css("--blue");
  o.textStyle = { fontFamily: getComputedStyle(document.body).fontFamily };
  if (o.legend) Object.assign(o.legend, { textStyle: { color: soft, fontFamily: "inherit" }, icon: "rect", itemWidth: 14, itemHeight: 3, padding: 4 });
  Object.assign(o.tooltip, {
    formatter: text.tooltip, confine: true, backgroundColor: css("--panel"), borderColor: line, textStyle: { color: css("--ink"), fontSize: 12.5 },
    axisPointer: { type: "line", lineStyle: { color: soft, type: "dotted" } },
  });
  var x = o.xAxis[0], y = o.yAxis[0];
  x.axisLabel = Object.assign(x.axisLabel || {}, { color: soft, formatter: text.x, showMinLabel: true, showMaxLabel: true, alignMinLabel: "left", alignMaxLabel: "right" });
  x.axisLine = { lineStyle: { color: line } }; x.axisTick = { lineStyle: { color: line } }; x.splitLine = { show: false };
  x.splitNumber = box.clientWidth < 500 ? 3 : 8;
  y.axisLabel = { color: soft, formatter: text.y }; y.axisLine = { show: false }; y.axisTick = { show: false }; y.splitLine = { lineStyle: { color: line } };
  Object.assign(o.dataZoom[0], {
    height: 20, bottom: 6, borderColor: line, textStyle: { color: soft, fontSize: 11 }, labelFormatter: text.x, brushSelect: false,
    fillerColor: "rgba(90,140,190,.14)", moveHandleSize: 0, handleSize: "90%", handleStyle: { color: css("--panel"), borderColor: soft }, showDataShadow: true,
    dataBackground: { lineStyle: { color: line }, areaStyle: { color: line, opacity: .6 } },
    selectedDataBackground: { lineStyle: { color: blue, opacity: .6 }, areaStyle: { color: blue, opacity: .12 } },
  });
  // The wheel belongs to the page; with Ctrl it zooms.
  Object.assign(o.dataZoom[1], { zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false });
  return o;
}

// fitBox keeps a chart as large as its box.
function fitBox(chart, box) {
  if (window.ResizeObserver) new ResizeObserver(function () { if (box.clientWidth) chart.resize(); }).observe(box);
}
