// Start everything. What lies in a hidden panel is drawn when it is shown. If
// anything fails, the page falls back to its plain form.

function start() {
  startTheme();
  all(".panel").forEach(function (p) { if (p.querySelector("table.rows")) startTable(p); });
  data.devices.forEach(function (d) { d.hasTime = d.axis === "time" || !!document.querySelector("#" + d.id + " [data-axis]"); });

  var curves = {}, maps = {}, flames = {};
  startTabs(function (panel) { drawPanel(panel); });
  startDevices(function (article) { drawDevice(article); });
  all("article.device").forEach(function (a) { if (!a.hidden) drawDevice(a); });

  function deviceOf(id) { return data.devices.filter(function (d) { return d.id === id; })[0]; }

  function drawDevice(article) {
    var id = article.id, d = deviceOf(id);
    if (d) {
      drawCurve(d);
      if (!maps[id]) {
        maps[id] = startMap(d) || function () {};
        redraws.push(maps[id]);
      }
      maps[id]();
    }
    all(".panel", article).forEach(drawPanel);
  }

  function drawCurve(d) {
    if (curves[d.id]) return;
    curves[d.id] = true;
    (d.growth ? startGrowth : startCurve)(d);
  }

  // A panel names what it shows: a moment of its device, a curve, or a flame
  // graph of the whole file.
  function drawPanel(panel) {
    var article = panel.closest("article"), d = deviceOf(panel.dataset.curve || article.id);
    if (panel.hidden || article.hidden) return;
    if (panel.dataset.curve) drawCurve(d);
    var flame = d && panel.dataset.moment ? d.flames[panel.dataset.moment] : data.flames && data.flames[panel.dataset.flame];
    if (flame && !flames[panel.id]) flames[panel.id] = startFlame(panel, flame) || function () {};
  }

  // On paper everything is open, drawn and in light colours.
  var closed = [], theme;
  addEventListener("beforeprint", function () {
    var root = document.documentElement;
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    closed = all("article.device, .panel").filter(function (e) { return e.hidden; });
    closed.forEach(function (e) { e.hidden = false; });
    redraw();
    all("article.device").forEach(drawDevice);
  });
  addEventListener("afterprint", function () {
    closed.forEach(function (e) { e.hidden = true; });
    if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
    redraw();
  });

  if (data.ranks) startRanks(data.ranks);

  var wait;
  addEventListener("resize", function () {
    clearTimeout(wait);
    wait = setTimeout(function () { Object.keys(maps).forEach(function (id) { maps[id](); }); }, 120);
  });
  document.documentElement.dataset.ready = "yes";
}

try {
  start();
} catch (e) {
  document.documentElement.classList.remove("js");
  throw e;
}
