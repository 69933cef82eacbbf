// The memory curve. The option comes from the Go side; here it gets what
// depends on the theme, the chosen axis and the width.

function startCurve(device) {
  var box = document.getElementById(device.id + "-curve");
  if (!box || !device.chart) return;
  var chart = echarts.init(box, null, { renderer: "canvas" });
  var axis = device.axis || "event", layers = device.layers || [], marks = device.marks || [], rows = [].concat(device.chart.dataset)[0].source;
  // Categories are drawn as areas over one another: the sum of all of them
  // behind, the first in front. Their tops follow the columns of the data.
  var layer = 4 + layers.length;
  if (layers.length) rows.forEach(function (r) {
    for (var i = 0, sum = 0; i < layers.length; i++) r.push(sum += r[4 + i]);
  });
  var hasRanges = marks.some(isRange);
  var buttons = all("#" + device.id + " [data-axis]");
  buttons.forEach(function (b) {
    b.addEventListener("click", function () {
      axis = b.dataset.axis;
      buttons.forEach(function (o) { o.setAttribute("aria-pressed", o === b); });
      draw();
    });
  });

  function at(point) { return axis === "time" ? point.time : point.event; }
  function label(v) { return axis === "time" ? since(v) : v < 0 ? "start" : count(v); }

  function tooltip(items) {
    var box = el("div"), row = items[0].value;
    box.append(el("div", "t-title", device.axis ? since(row[1]) : (row[0] < 0 ? "before the first event" : "after event " + count(row[0])) + (device.hasTime ? ", " + since(row[1]) : "")));
    for (var c = 2; c < layer; c++) {
      if (c < 4 || row[c]) box.append(tipRow(c < 4 ? device.chart.series[c - 2].name : layers[c - 4].name, bytes(row[c]) + "  (" + exact(row[c]) + ")"));
    }
    marks.filter(function (m) {
      if (axis === "time") return isRange(m) ? m.time <= row[1] && row[1] <= m.till : Math.abs(m.time - row[1]) <= rows[rows.length - 1][1] / 400;
      return isRange(m) ? m.event <= row[0] && row[0] <= m.end : Math.abs(m.event - row[0]) <= rows[rows.length - 1][0] / 400;
    }).slice(0, 5).forEach(function (m) { box.append(el("div", "t-soft", m.label)); });
    return box;
  }

  function draw() {
    var soft = css("--soft"), red = css("--vermilion");
    var o = dressed(device.chart, box, { x: label, y: tick, tooltip: tooltip });
    o.color = [css("--blue"), css("--orange")];
    if (axis === "event") o.xAxis[0].minInterval = 1;
    o.series.forEach(function (s, i) {
      s.encode.x = axis === "time" ? 1 : 0;
      s.lineStyle = { width: 1.6, type: i ? [6, 3] : "solid" };
      s.emphasis = { disabled: true };
    });
    if (!layers.length) o.series[0].areaStyle = { opacity: .13 };
    o.series[0].z = 3;
    layers.forEach(function (l, i) {
      var colour = css("--" + l.colour);
      o.color.push(colour);
      o.series.push({
        type: "line", name: l.name, id: "layer " + i, step: "end", symbol: "none", silent: true, z: 2, zlevel: 0, encode: { x: axis === "time" ? 1 : 0, y: layer + i },
        lineStyle: { width: 0 }, areaStyle: { color: colour, opacity: 1, origin: 0 }, emphasis: { disabled: true },
      });
    });
    // Later series cover earlier ones: the tallest layer must be drawn first.
    o.series.splice(2, layers.length, ...o.series.slice(2).reverse());
    if (layers.length) { o.color.splice(2, layers.length, ...o.color.slice(2).reverse()); o.legend.show = false; }
    o.series[0].markPoint = peakMark(device.peak, at(device.peak), extent(0, 100), css("--ink"), red);
    o.series[0].markLine = lineMarks(marks, at, soft, red, css("--teal"));
    o.series[0].markArea = rangeMarks(marks, extent(0, 100), plotWidth(), axis === "time", soft);
    // The legend of layers is part of the page; names of ranges need a line.
    if (hasRanges || layers.length) o.grid[0].top = layers.length ? hasRanges ? "26" : "14" : "50";
    chart.setOption(o, { notMerge: true });
  }

  function plotWidth() { return Math.max(100, box.clientWidth - 100); }

  // extent is the part of the axis that a zoom shows.
  function extent(start, end) {
    var column = axis === "time" ? 1 : 0, first = rows[0][column], last = rows[rows.length - 1][column];
    return [first + (last - first) * start / 100, first + (last - first) * end / 100];
  }

  chart.on("datazoom", function () {
    if (!hasRanges) return;
    var z = chart.getOption().dataZoom[0];
    chart.setOption({ series: [{ id: device.chart.series[0].id, markArea: rangeMarks(marks, extent(z.start, z.end), plotWidth(), axis === "time", css("--soft")) }] });
  });

  draw();
  redraws.push(draw);
  fitBox(chart, box);
}

// isRange tells what has a beginning and an end: named ranges and phases.
function isRange(m) { return m.kind === "range" || m.kind === "phase"; }

// peakMark labels the peak on the side that has room.
function peakMark(peak, x, span, ink, red) {
  var part = (x - span[0]) / (span[1] - span[0]), side = part > .92 ? "left" : part < .06 ? "right" : "top";
  return {
    symbol: "circle", symbolSize: 9, silent: true, itemStyle: { color: red, borderColor: "#fff", borderWidth: 1.5 },
    label: { show: true, position: side, color: ink, fontWeight: 650, formatter: peak.label, distance: 6, backgroundColor: css("--bg"), padding: [1, 4], borderRadius: 3 },
    data: [{ coord: [x, peak.bytes] }],
  };
}

// lineMarks draws OOMs in red and other single moments softly, each kind as in
// the legend below the chart.
function lineMarks(marks, at, soft, red, teal) {
  return {
    symbol: "none", silent: true, animation: false,
    data: marks.filter(function (m) { return !isRange(m); }).map(function (m) {
      var oom = m.kind === "oom", note = m.kind === "annotate";
      return {
        xAxis: at(m), lineStyle: { color: oom ? red : note ? teal : soft, type: oom ? "solid" : note ? [6, 4] : [2, 4], width: oom ? 1.5 : 1, opacity: oom ? 1 : .7 },
        label: { show: oom, formatter: "OOM", color: red, fontWeight: 650, position: "end", distance: 3 },
      };
    }),
  };
}

// rangeMarks shades named ranges. A name is written above its range when it
// has room there and no other range already has the place.
function rangeMarks(marks, span, pixels, time, soft) {
  var taken = -1;
  return {
    silent: true,
    data: marks.filter(isRange).sort(function (a, b) { return a.event - b.event; }).map(function (m, i) {
      var from = Math.max(span[0], time ? m.time : m.event), till = Math.min(span[1], time ? m.till : m.end);
      var x = (from - span[0]) / (span[1] - span[0]) * pixels, w = (till - from) / (span[1] - span[0]) * pixels;
      var show = w > 34 && x >= taken;
      if (show) taken = x + w;
      return [
        { name: m.label, xAxis: time ? m.time : m.event, itemStyle: { color: soft, opacity: i % 2 ? .07 : .12 },
          label: { show: show, position: "top", distance: 4, color: soft, fontSize: 11, width: Math.max(0, w - 4), overflow: "truncate" } },
        { xAxis: time ? m.till : m.end },
      ];
    }),
  };
}
