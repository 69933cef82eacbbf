// Flame graph: bytes or time by call stack, the outermost frame on top. Boxes are
// elements, so text clips, themes and prints like the rest of the page. Only
// boxes of at least a pixel are made.

var flameRow = 19;

function startFlame(panel, flame) {
  var box = panel.querySelector(".flame");
  if (!box || !flame) return null;
  var inner = el("div"), path = panel.querySelector(".flame-path"), search = panel.querySelector(".flame-box input");
  box.append(inner);
  var amount = flame.unit === "ns" ? duration : bytes, noun = flame.noun || "block";
  var full = flameTree(flame), kinds = panel.querySelector(".kinds"), words = "", built = 0, root, zoom, at;
  startKinds();

  // startKinds lets the reader leave out frames that are not Python or not
  // their own; a tree without such a choice shows everything.
  function startKinds() {
    var has = [false, false, false, false];
    (function look(n) { has[n.frame.kind] = true; n.children.forEach(look); })(full);
    var buttons = all("button", kinds).filter(function (b) {
      var ok = b.dataset.kinds === "all" || b.dataset.kinds === "python" && has[2] && (has[0] || has[1]) || b.dataset.kinds === "user" && has[0] && (has[1] || has[2]);
      b.hidden = !ok;
      return ok;
    });
    kinds.hidden = buttons.length < 2;
    function choose(b) {
      buttons.forEach(function (o) { o.setAttribute("aria-pressed", o === b); });
      root = zoom = at = condense(full, { all: 3, python: 1, user: 0 }[b.dataset.kinds]);
      draw();
    }
    buttons.forEach(function (b) { b.addEventListener("click", function () { choose(b); }); });
    choose(buttons.filter(function (b) { return b.dataset.kinds === "python"; })[0] || buttons[0]);
  }

  function draw() {
    var width = box.clientWidth;
    if (!width) return;
    built = width;
    var parts = document.createDocumentFragment(), depth = 0;
    var scale = width / zoom.bytes, line = ancestors(zoom);
    line.forEach(function (n) { put(parts, n, 0, width, "above"); });
    (function walk(n, x) {
      var w = n.bytes * scale;
      if (w < 1) return;
      depth = Math.max(depth, n.depth);
      put(parts, n, x, w, "");
      n.children.forEach(function (c) { walk(c, x); x += c.bytes * scale; });
    })(zoom, 0);
    inner.replaceChildren(parts);
    inner.style.height = (depth + 1) * flameRow + "px";
    tell();
  }

  function put(parts, n, x, w, extra) {
    var e = el("i", "k" + n.frame.kind + (n.index % 2 ? " odd" : " even") + (extra ? " " + extra : "") + (w < 26 ? " slim" : ""), w < 26 ? undefined : n.name);
    if (words && matches(n)) e.classList.add("hit");
    if (n === at && at !== root) e.classList.add("at");
    e.style.left = x + "px";
    e.style.top = n.depth * flameRow + "px";
    e.style.width = Math.max(1, w - 1) + "px";
    e.node = n;
    parts.append(e);
  }

  function matches(n) { return n.text.indexOf(words) >= 0; }

  // tell writes where we are, or how much a search found: the bytes of the
  // outermost matching frames, so nothing counts twice.
  function tell() {
    path.replaceChildren();
    if (words) {
      var sum = 0;
      (function walk(n) { if (matches(n)) sum += n.bytes; else n.children.forEach(walk); })(root);
      path.append(flame.unit ? "Matching stacks take " : "Matching stacks hold ", el("b", "", amount(sum)), " (" + percent(sum, root.bytes) + ").");
      return;
    }
    var n = at;
    path.append(el("b", "", n === root ? "All stacks" : n.name), "  " + amount(n.bytes) + ", " + percent(n.bytes, root.bytes) + (n.count ? ", " + plural(n.count, noun) : "") + (n.frame.file ? "  " + place(n.frame) : ""));
  }

  function zoomTo(n) {
    zoom = at = n;
    draw();
    box.scrollTop = Math.max(0, (n.depth - 2) * flameRow);
    say((n === root ? "all stacks" : n.name) + ", " + amount(n.bytes));
  }

  box.addEventListener("click", function (e) { if (e.target.node) zoomTo(e.target.node === zoom && zoom.parent ? zoom.parent : e.target.node); });
  box.addEventListener("mousemove", function (e) { tip(e.target.node && flameTip(e.target.node, root, flame), e.clientX, e.clientY); });
  box.addEventListener("mouseleave", function () { tip(null); });
  box.addEventListener("keydown", function (e) {
    var sibs = at.parent ? at.parent.children : [at], i = sibs.indexOf(at);
    var to = { ArrowDown: at.children[0], ArrowUp: at.parent, ArrowRight: sibs[i + 1], ArrowLeft: sibs[i - 1] }[e.key];
    if (e.key === "Enter") zoomTo(at);
    else if (e.key === "Escape") zoomTo(root);
    else if (to) {
      at = to;
      if (!inside(at, zoom)) zoom = at;
      draw();
      say(at.name + ", " + amount(at.bytes) + ", " + percent(at.bytes, root.bytes));
      var y = at.depth * flameRow;
      if (y < box.scrollTop || y > box.scrollTop + box.clientHeight - flameRow) box.scrollTop = y - box.clientHeight / 2;
    } else return;
    e.preventDefault();
  });
  search.addEventListener("input", function () { words = search.value.trim().toLowerCase(); draw(); });
  if (window.ResizeObserver) new ResizeObserver(function () { if (box.clientWidth !== built) draw(); }).observe(box);
  draw();
  return draw;
}

function inside(n, ancestor) {
  for (; n; n = n.parent) if (n === ancestor) return true;
  return false;
}

function ancestors(n) {
  var out = [];
  for (n = n.parent; n; n = n.parent) out.push(n);
  return out;
}

// flameTree turns the preorder columns into a tree.
function flameTree(flame) {
  var next = 0;
  return (function build() {
    var i = next++, frame = frameOf(flame.frame[i]);
    var n = { index: i, id: flame.frame[i], frame: frame, bytes: flame.bytes[i], count: flame.count[i], children: [] };
    n.name = frame.fn + (frame.file ? "  " + shortPlace(frame) : "");
    n.text = (frame.fn + " " + place(frame)).toLowerCase();
    for (var c = flame.children[i]; c > 0; c--) n.children.push(build());
    return n;
  })();
}

// condense copies a tree without the frames of a kind above most: what they
// called moves up to their caller, and equal frames there become one. Bytes
// stay closed: stacks of which nothing is left are drawn as one box. It also
// sets parents and depths.
function condense(root, most) {
  function keeps(n) { return n.frame.kind <= most || n.frame.kind === 3; }
  function gather(list, into) {
    list.forEach(function (n) { if (keeps(n)) into.push(n); else gather(n.children, into); });
    return into;
  }
  var tree = (function copy(group, parent, depth) {
    var first = group[0], n = { index: first.index, id: first.id, frame: first.frame, name: first.name, text: first.text, parent: parent, depth: depth, bytes: 0, count: 0 };
    var below = [], by = new Map();
    group.forEach(function (g) { n.bytes += g.bytes; n.count += g.count; gather(g.children, below); });
    below.forEach(function (b) { if (by.has(b.id)) by.get(b.id).push(b); else by.set(b.id, [b]); });
    n.children = Array.from(by.values(), function (g) { return copy(g, n, depth + 1); });
    n.children.sort(function (a, b) { return b.bytes - a.bytes || a.index - b.index; });
    return n;
  })([root], null, 0);
  var rest = leftOver(root, tree, most ? "(native code)" : "(libraries and native code)");
  if (rest) tree.children.push(rest);
  return tree;
}

// leftOver is what the children of a condensed root lack of those of the whole
// one, null when that is nothing.
function leftOver(root, tree, name) {
  var bytes = 0, count = 0;
  root.children.forEach(function (c) { bytes += c.bytes; count += c.count; });
  tree.children.forEach(function (c) { bytes -= c.bytes; count -= c.count; });
  if (bytes <= 0) return null;
  return { index: 0, id: -1, frame: { fn: name, file: "", line: 0, kind: 2 }, name: name, text: name, parent: tree, depth: 1, bytes: bytes, count: count, children: [] };
}

function flameTip(n, root, flame) {
  var box = el("div");
  box.append(el("div", "t-title", n.frame.fn), el("div", "t-soft", place(n.frame)),
    flame.unit === "ns" ? tipRow("time", duration(n.bytes)) : tipRow("bytes", bytes(n.bytes) + "  (" + exact(n.bytes) + ")"),
    tipRow("share", percent(n.bytes, root.bytes)));
  if (n.count) box.append(tipRow((flame.noun || "block") + "s", count(n.count)));
  return box;
}
