// The charts of ranks: bars by category with what is reserved, and the map of
// differences. The options come from the Go side.

function startRanks(ranks) {
  if (ranks.bars) rankChart("ranks-bars", ranks.bars, dressBars);
  if (ranks.heat) rankChart("ranks-heat", ranks.heat.chart, function (o, box) { dressHeat(o, box, ranks.heat); });
}

var fewRanks = 40; // so many need no zoom, and a mark each for what is reserved

function rankChart(id, option, dress) {
  var box = document.getElementById(id);
  if (!box) return;
  if (box.dataset.height) box.style.height = box.dataset.height + "px";
  var chart = echarts.init(box, null, { renderer: "canvas" }), wait;
  function draw() {
    var o = dressed(option, box, { y: tick }), x = o.xAxis[0];
    o.legend = { show: false }; // the page has one
    Object.assign(x.axisLabel, { alignMinLabel: null, alignMaxLabel: null, showMinLabel: null, showMaxLabel: null });
    o.tooltip.axisPointer = { type: "shadow", shadowStyle: { opacity: .12 } };
    if (x.data.length <= fewRanks) {
      o.dataZoom = [];
      o.grid[0].bottom = 8;
    }
    dress(o, box);
    chart.setOption(o, true);
  }
  draw();
  fitBox(chart, box);
  redraws.push(draw);
  addEventListener("resize", function () {
    clearTimeout(wait);
    wait = setTimeout(draw, 120);
  });
}

function dressBars(o, box) {
  var names = o.series.map(function (s) { return s.name; }), columns = o.xAxis[0].data.length;
  o.tooltip.trigger = "axis";
  o.tooltip.formatter = function (items) {
    var out = el("div"), row = items[0].value, sum = 0;
    out.append(el("div", "t-title", "rank " + row[0]));
    for (var i = row.length - 1; i > 0; i--) if (row[i]) out.append(tipRow(names[i - 1], bytes(row[i]) + "  (" + exact(row[i]) + ")"));
    for (i = 1; i < row.length - 1; i++) sum += row[i];
    out.append(tipRow("requested in all", bytes(sum) + "  (" + exact(sum) + ")"));
    return out;
  };
  o.series.forEach(function (s) {
    var colour = css("--" + (s.id === "reserved" ? "ink" : s.id));
    s.emphasis = { disabled: true };
    s.itemStyle = { color: colour };
    if (s.id !== "reserved") s.barCategoryGap = "14%";
    else if (columns > fewRanks) s.lineStyle = { color: colour, width: 1.4 };
    else Object.assign(s, { type: "scatter", symbol: "rect", symbolSize: [.86 * (box.clientWidth - 100) / columns, 2] });
  });
}

function dressHeat(o, box, heat) {
  var names = o.yAxis[0].data, narrow = box.clientWidth < 520, room = narrow ? 100 : 180;
  Object.assign(o.grid[0], { left: room + 10, containLabel: false });
  o.grid[0].bottom = o.dataZoom.length ? 66 : 26;
  o.yAxis[0].axisLabel = { color: css("--soft"), width: room, overflow: "truncate", interval: 0, fontSize: narrow ? 10.5 : 12 };
  o.yAxis[0].splitLine = { show: false };
  o.tooltip.trigger = "item";
  o.tooltip.formatter = function (item) {
    var out = el("div"), v = item.value, d = v[2];
    out.append(el("div", "t-title", "rank " + o.xAxis[0].data[v[0]] + ": " + names[v[1]]));
    out.append(tipRow("bytes", bytes(v[3]) + "  (" + exact(v[3]) + ")"));
    out.append(tipRow("against the median", (d > 0 ? "+" : "") + bytes(d) + "  (" + exact(d) + ")"));
    return out;
  };
  o.visualMap = [{
    type: "continuous", show: false, dimension: 2, min: -heat.scale, max: heat.scale,
    inRange: { color: [css("--h-low"), css("--line-soft"), css("--h-high")] },
  }];
  Object.assign(o.series[0], { encode: { x: 0, y: 1, value: 2 }, progressive: 0 });
  o.series[0].itemStyle = { borderWidth: o.xAxis[0].data.length > 200 ? 0 : 1, borderColor: css("--bg") };
  o.series[0].emphasis = { itemStyle: { borderColor: css("--ink"), borderWidth: 1 } };
}
