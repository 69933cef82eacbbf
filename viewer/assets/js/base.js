// What every part uses: the data, formatting, elements, the tooltip.

var data = JSON.parse(document.getElementById("data").textContent);

function all(selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); }

// el makes an element. Text always goes through textContent: names in the
// data are a stranger's and must stay text.
function el(tag, className, text) {
  var e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function count(n) { return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ","); }
function exact(n) { return count(n) + " B"; }

// bytes prints three significant digits in binary units, as the Go side does.
function bytes(n) {
  if (n < 0) return "-" + bytes(-n);
  if (n < 1024) return n + " B";
  var unit = 0, names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  while (n >= 1024) { n /= 1024; unit++; }
  if (n >= 1023.5 && unit + 1 < names.length) { n = 1; unit++; }
  return n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0) + " " + names[unit];
}

// tick is bytes without needless zeros, for axis labels.
function tick(n) { return bytes(n).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " "); }

function percent(part, whole) {
  if (!whole) return "n/a";
  var p = 100 * part / whole;
  return part && p < 0.05 ? "<0.1%" : part !== whole && p >= 99.95 && p <= 100 ? ">99.9%" : p.toFixed(1) + "%";
}

function since(us) {
  if (us >= 6e7) return "+" + Math.floor(us / 6e7) + "m " + ("0" + Math.floor(us / 1e6) % 60).slice(-2) + "s";
  if (us >= 1e6) return "+" + (us / 1e6).toPrecision(3) + " s";
  if (us >= 1e3) return "+" + (us / 1e3).toPrecision(3) + " ms";
  return "+" + Math.round(us) + " µs";
}

// duration prints nanoseconds with three significant digits.
function duration(ns) {
  var names = ["ns", "µs", "ms", "s"], unit = 0;
  if (ns < 0) return "-" + duration(-ns);
  while (ns >= 999.5 && unit < 3) { ns /= 1e3; unit++; }
  return (unit ? ns.toFixed(ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0) : Math.round(ns)) + " " + names[unit];
}

function frameOf(index) {
  var f = data.frames[index];
  return { fn: data.strings[f[0]], file: data.strings[f[1]], line: f[2], kind: f[3] };
}

function place(f) { return f.file && f.line ? f.file + ":" + f.line : f.file; }

function baseName(file) { return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1); }

function shortPlace(f) { return f.file && f.line ? baseName(f.file) + ":" + f.line : baseName(f.file); }

function plural(n, noun) { return count(n) + " " + noun + (n === 1 ? "" : "s"); }

// stackList shows a stack, innermost frame first.
function stackList(node) {
  var list = el("ol", "stack");
  for (var n = node; n > 0; n = data.stacks.parent[n]) {
    var f = frameOf(data.stacks.frame[n]), item = el("li", "k" + f.kind);
    if (f.kind === 2) item.title = f.fn; // C++ names are long and cut to a line
    item.append(el("span", "fn", f.fn), " ", el("span", "at", place(f)));
    list.append(item);
  }
  return list;
}

// say tells screen readers what changed.
function say(text) { document.getElementById("said").textContent = text; }

// tip shows or hides the tooltip at a pointer position.
var tipBox = document.getElementById("tip");
function tip(content, x, y) {
  if (!content) { tipBox.hidden = true; return; }
  tipBox.replaceChildren(content);
  tipBox.hidden = false;
  var w = tipBox.offsetWidth, h = tipBox.offsetHeight;
  tipBox.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 4)) + "px";
  tipBox.style.top = (y + 18 + h > innerHeight ? Math.max(4, y - h - 10) : y + 18) + "px";
}

function tipRow(name, value) {
  var row = el("div", "t-row");
  row.append(el("span", "t-soft", name), el("span", "", value));
  return row;
}

// Parts that draw with colours register here and are called when the theme
// changes; parts that depend on width when it changes.
var redraws = [];
function redraw() { redraws.forEach(function (f) { f(); }); }
