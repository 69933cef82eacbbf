// The memory curve. The option comes from the Go side; here it gets what
// depends on the theme, the chosen axis and the width.

function startCurve(device) {
  var box = document.getElementById(device.id + "-curve");
  if (!box || !device.chart) return;
  var chart = echarts.init(box, null, { renderer: "canvas" });
  var axis = "event";
  var buttons = all("#" + device.id + " [data-axis]");
  buttons.forEach(function (b) {
    b.addEventListener("click", function () {
      axis = b.dataset.axis;
      buttons.forEach(function (o) { o.setAttribute("aria-pressed", o === b); });
      draw();
    });
  });

  function at(point) { return axis === "time" ? point.time : point.event; }
  function label(v) { return axis === "time" ? since(v) : count(v); }

  function tooltip(items) {
    var box = el("div"), row = items[0].value;
    box.append(el("div", "t-title", "event " + count(Math.max(0, row[0])) + (device.hasTime ? ", " + since(row[1]) : "")));
    items.forEach(function (i) { box.append(tipRow(i.seriesName, bytes(i.value[2 + i.seriesIndex]) + "  (" + exact(i.value[2 + i.seriesIndex]) + ")")); });
    return box;
  }

  function draw() {
    var ink = css("--ink"), soft = css("--soft"), line = css("--line"), blue = css("--blue"), orange = css("--orange"), red = css("--vermilion");
    var o = JSON.parse(JSON.stringify(device.chart)), text = { color: soft, fontFamily: "inherit" };
    o.textStyle = { fontFamily: getComputedStyle(document.body).fontFamily };
    o.color = [blue, orange];
    o.legend.textStyle = text;
    o.legend.icon = "rect"; o.legend.itemWidth = 14; o.legend.itemHeight = 3; o.legend.padding = 4;
    o.tooltip.formatter = tooltip;
    o.tooltip.confine = true;
    o.tooltip.backgroundColor = css("--panel"); o.tooltip.borderColor = line;
    o.tooltip.textStyle = { color: ink, fontSize: 12.5 };
    o.tooltip.axisPointer = { type: "line", lineStyle: { color: soft, type: "dotted" } };
    var x = o.xAxis[0], y = o.yAxis[0];
    x.axisLabel = Object.assign(x.axisLabel || {}, { color: soft, formatter: label, showMinLabel: true, showMaxLabel: true, alignMinLabel: "left", alignMaxLabel: "right" });
    x.axisLine = { lineStyle: { color: line } }; x.axisTick = { lineStyle: { color: line } }; x.splitLine = { show: false };
    x.splitNumber = box.clientWidth < 500 ? 3 : 8;
    if (axis === "event") x.minInterval = 1;
    y.axisLabel = { color: soft, formatter: tick }; y.splitLine = { lineStyle: { color: line } };
    o.dataZoom[0] = Object.assign(o.dataZoom[0], {
      height: 20, bottom: 6, borderColor: line, textStyle: { color: soft, fontSize: 11 }, labelFormatter: label, brushSelect: false,
      fillerColor: "rgba(90,140,190,.14)", moveHandleSize: 0, handleSize: "90%", handleStyle: { color: css("--panel"), borderColor: soft }, showDataShadow: true,
      dataBackground: { lineStyle: { color: line }, areaStyle: { color: line, opacity: .6 } },
      selectedDataBackground: { lineStyle: { color: blue, opacity: .6 }, areaStyle: { color: blue, opacity: .12 } },
    });
    // The wheel belongs to the page; with Ctrl it zooms.
    Object.assign(o.dataZoom[1], { zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false });
    o.series.forEach(function (s, i) {
      s.encode.x = axis === "time" ? 1 : 0;
      s.lineStyle = { width: 1.6, type: i ? [6, 3] : "solid" };
      s.emphasis = { disabled: true };
    });
    o.series[0].areaStyle = { opacity: .13 };
    o.series[0].z = 3;
    o.series[0].markPoint = peakMark(device.peak, at(device.peak), ink, red);
    o.series[0].markLine = lineMarks(device.marks || [], at, ink, soft, red);
    o.series[0].markArea = rangeMarks(device.marks || [], axis, soft);
    chart.setOption(o, { notMerge: true });
  }

  draw();
  redraws.push(draw);
  if (window.ResizeObserver) new ResizeObserver(function () { if (box.clientWidth) chart.resize(); }).observe(box);
}

function peakMark(peak, x, ink, red) {
  return {
    symbol: "circle", symbolSize: 9, silent: true, itemStyle: { color: red, borderColor: "#fff", borderWidth: 1.5 },
    label: { show: true, position: "top", color: ink, fontWeight: 650, formatter: "peak " + bytes(peak.bytes), distance: 6 },
    data: [{ coord: [x, peak.bytes] }],
  };
}

// lineMarks draws OOMs in red and other single moments softly.
function lineMarks(marks, at, ink, soft, red) {
  var single = marks.filter(function (m) { return m.kind !== "range"; });
  return {
    symbol: "none", silent: true, animation: false,
    data: single.map(function (m) {
      var oom = m.kind === "oom", show = oom || single.length <= 12;
      return {
        xAxis: at(m), lineStyle: { color: oom ? red : soft, type: oom ? "solid" : "dotted", width: oom ? 1.5 : 1 },
        label: { show: show, formatter: function () { return oom ? "OOM" : m.label; }, color: oom ? red : soft, fontWeight: oom ? 650 : 400, position: "insideEndTop", rotate: oom ? 0 : undefined },
      };
    }),
  };
}

// rangeMarks shades named ranges, every other one a little more; the names are
// written while they have room.
function rangeMarks(marks, axis, soft) {
  var ranges = marks.filter(function (m) { return m.kind === "range"; });
  return {
    silent: true,
    data: ranges.map(function (m, i) {
      return [
        { name: m.label, xAxis: axis === "time" ? m.time : m.event, itemStyle: { color: soft, opacity: i % 2 ? .05 : .1 }, label: { show: ranges.length <= 12, position: "insideTop", color: soft, fontSize: 11 } },
        { xAxis: axis === "time" ? m.till : m.end },
      ];
    }),
  };
}
