// Curves over steps with their trend. The option comes from the Go side: a band
// is an invisible series and an area stacked on it, then come the lines and the
// trend. Looks have the names of the style sheet.

var looks = {
  allocated: { colour: "--blue", width: 2 }, reserved: { colour: "--orange", dash: [6, 3] }, peak: { colour: "--p1", dash: [2, 3] },
  used: { colour: "--soft", width: 1.2 }, outside: { colour: "--soft" }, fit: { colour: "--vermilion" }, calm: { colour: "--blue" },
  before: { colour: "--vermilion", width: 1.8, dash: [6, 3] }, after: { colour: "--teal", width: 2 },
  other0: { colour: "--blue" }, other1: { colour: "--orange", dash: [6, 3] }, other2: { colour: "--teal" }, other3: { colour: "--vermilion", dash: [2, 3] },
};

function startGrowth(device) {
  var box = document.getElementById(device.id + "-curve"), g = device.growth;
  if (!box || !device.chart) return;
  var chart = echarts.init(box, null, { renderer: "canvas" }), near = !!g.is_near;
  var buttons = all("#" + device.id + " [data-range]"), note = document.querySelector("#" + device.id + " .near-note");
  buttons.forEach(function (b) {
    b.addEventListener("click", function () {
      near = b.dataset.range === "near";
      buttons.forEach(function (o) { o.setAttribute("aria-pressed", o === b); });
      draw();
    });
  });

  function label(v) { return g.unit === "second" ? v === 0 ? "0 s" : since(v * 1e6).slice(1) : Number.isInteger(v) ? count(v) : String(Number(v.toPrecision(4))); }
  function axisLabel(v) {
    var a = near ? g.near : g.zero;
    return (Math.abs(v) < a.step / 2 ? 0 : v / a.unit).toFixed(a.decimals) + " " + a.name;
  }

  function tooltip(items) {
    var out = el("div"), at = items.length ? items[0].axisValue : 0;
    out.append(el("div", "t-title", g.unit === "second" ? label(at) : g.unit + " " + label(Math.round(at * 1e4) / 1e4)));
    items.forEach(function (i) {
      if (i.seriesId.indexOf("line")) return;
      var r = g.resolutions[Number(i.seriesId.slice(4))], v = i.value[0];
      var name = i.seriesName + (i.value[1] === at ? "" : " (" + g.unit + " " + label(i.value[1]) + ")");
      out.append(tipRow(name, bytes(v) + (r ? "  (± " + bytes(Math.round(r)) + ")" : "  (" + exact(v) + ")")));
    });
    return out;
  }

  function draw() {
    var o = dressed(device.chart, box, { x: label, y: axisLabel, tooltip: tooltip }), soft = css("--soft"), axis = near ? g.near : g.zero;
    Object.assign(o.yAxis[0], { min: axis.low, max: axis.high, interval: axis.step, minInterval: axis.step, maxInterval: axis.step });
    o.grid[0].top = (g.marks || []).length ? "22" : "10";
    if (g.unit !== "second") o.xAxis[0].minInterval = 1;
    o.color = o.series.map(function () { return soft; });
    o.series.forEach(function (s) {
      var kind = s.id.replace(/\d.*/, ""), look = looks[{ fit: g.fits, band: g.bands, line: g.lines }[kind][parseInt(s.id.slice(kind.length), 10)]];
      var colour = css(look.colour);
      Object.assign(s, { emphasis: { disabled: true }, itemStyle: { color: colour }, symbolSize: 4, z: 3, lineStyle: { color: colour, width: look.width || 1.6, type: look.dash || "solid" } });
      if (kind === "line") return;
      Object.assign(s, { silent: true, symbol: "none", z: 2, lineStyle: { color: colour, width: 8, opacity: .3, cap: "round" } });
      if (kind === "fit") return;
      Object.assign(s, { stackStrategy: "all", z: 1, lineStyle: { width: 0, opacity: 0 } });
      if (s.id.indexOf(" ") < 0) s.areaStyle = { color: colour, opacity: .16 };
    });
    var first = o.series.filter(function (s) { return !s.id.indexOf("line"); })[0];
    first.markLine = lineMarks(g.marks || [], function (m) { return m.step; }, soft, css("--vermilion"), css("--teal"));
    if (g.warm_up) first.markArea = { silent: true, itemStyle: { color: soft, opacity: .12 }, data: [[{ xAxis: g.warm_up[0] }, { xAxis: g.warm_up[1] }]] };
    chart.setOption(o, { notMerge: true });
    if (note) note.hidden = !near;
  }

  draw();
  redraws.push(draw);
  fitBox(chart, box);
}
