// Segment map: the bytes of each group, in address order, wrapped into lines
// like text. Every pixel stands for the same number of bytes in all groups.

var lineHeight = 15, lineGap = 3;
var stateNames = ["allocated", "pending free", "free, inactive split", "free, releasable", "free, expandable"];

// startMap draws the map of the dump, and those of past moments once opened.
function startMap(device) {
  var draws = [mapOf(device, device.map, "")];
  (device.maps || []).forEach(function (m) {
    var draw = mapOf(device, m, "-" + m.name), box = document.getElementById(device.id + "-map-" + m.name);
    if (!draw) return;
    box.closest("details").addEventListener("toggle", draw);
    draws.push(draw);
  });
  return function () { draws.forEach(function (draw) { if (draw) draw(); }); };
}

function mapOf(device, map, suffix) {
  var box = document.getElementById(device.id + "-map" + suffix);
  if (!box || !map) return null;
  var total = 0;
  map.groups.forEach(function (g) { g.bytes = g.segments.reduce(function (n, s) { return n + s.bytes; }, 0); total += g.bytes; });
  var mapColour = { by: "state" }, section = box.closest("section");
  var maps = map.groups.map(function (g) { return groupMap(box, g, document.getElementById(device.id + "-block" + suffix), mapColour); });
  all("[data-colour]", section).forEach(function (b) {
    b.addEventListener("click", function () {
      mapColour.by = b.dataset.colour;
      all("[data-colour]", section).forEach(function (o) { o.setAttribute("aria-pressed", o === b); });
      all("[data-colours]", section).forEach(function (o) { o.hidden = o.dataset.colours !== mapColour.by; });
      maps.forEach(function (m) { m.draw(); });
    });
  });
  return function () {
    var width = box.clientWidth;
    if (!width) return;
    var perLine = 512;
    while (total / perLine > (width < 500 ? 40 : 24)) perLine *= 2;
    maps.forEach(function (m) { m.draw(width, perLine); });
  };
}

var freeColour = 3;

function groupMap(box, g, info, mapColour) {
  var blocks = groupBlocks(g), head = el("h3", g.mark ? "marked" : "", g.label), canvas = el("canvas");
  head.append(el("span", "", bytes(g.bytes) + " in " + plural(g.segments.reduce(function (n, s) { return n + s.count; }, 0), "segment")));
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", "Segment map, " + g.label + ". Arrow keys move between blocks, Enter shows the stack.");
  box.append(head, canvas);
  var width = 0, perLine = 1, at = -1;

  function draw(w, per) {
    if (w) { width = w; perLine = per; }
    if (!width) return;
    var lines = Math.max(1, Math.ceil(g.bytes / perLine)), height = lines * (lineHeight + lineGap);
    var ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + "px";
    var ctx = canvas.getContext("2d"), colours = [0, 1, 2, 3, 4].map(function (i) { return css("--s" + i); });
    var kinds = mapColour.by === "category" ? [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(function (i) { return css("--c" + i); }) : null;
    var panel = css("--bg"), ink = css("--ink"), hit = css("--hit");
    ctx.scale(ratio, ratio);
    blocks.forEach(function (b, i) {
      var same = at >= 0 && blocks[at].line >= 0 && b.line === blocks[at].line && b.state < 2;
      ctx.fillStyle = !kinds ? colours[b.state] : b.category >= 0 ? kinds[b.category] : colours[b.state < 2 ? b.state : freeColour];
      pieces(b, function (x, y, w) { ctx.fillRect(x, y, w, lineHeight); });
      if (b.state === 2 && !kinds) hatch(ctx, b);
      if (same) {
        ctx.fillStyle = hit;
        pieces(b, function (x, y, w) { ctx.fillRect(x, y, w, lineHeight); });
      }
    });
    // Edges last: a hair between blocks, a wider gap between segments.
    ctx.fillStyle = panel;
    blocks.forEach(function (b) {
      var x = (b.start % perLine) / perLine * width, y = Math.floor(b.start / perLine) * (lineHeight + lineGap);
      var w = b.size / perLine * width;
      if (b.first) ctx.fillRect(x - .75, y, 1.5, lineHeight);
      else if (w > 3) ctx.fillRect(x, y, .5, lineHeight);
    });
    if (at < 0) return;
    ctx.strokeStyle = ink;
    ctx.lineWidth = 2;
    pieces(blocks[at], function (x, y, w) { ctx.strokeRect(x + 1, y + 1, Math.max(1, w - 2), lineHeight - 2); });
  }

  // pieces calls f for each line that a block touches.
  function pieces(b, f) {
    var from = b.start, end = b.start + b.size;
    while (from < end) {
      var line = Math.floor(from / perLine), stop = Math.min(end, (line + 1) * perLine);
      f((from - line * perLine) / perLine * width, line * (lineHeight + lineGap), (stop - from) / perLine * width);
      from = stop;
    }
  }

  function hatch(ctx, b) {
    ctx.strokeStyle = "rgba(255,255,255,.45)";
    ctx.lineWidth = 1;
    pieces(b, function (x, y, w) {
      if (w < 4) return;
      ctx.save();
      ctx.beginPath();
      ctx.rect(x, y, w, lineHeight);
      ctx.clip();
      ctx.beginPath();
      for (var d = x - lineHeight; d < x + w; d += 5) { ctx.moveTo(d, y + lineHeight); ctx.lineTo(d + lineHeight, y); }
      ctx.stroke();
      ctx.restore();
    });
  }

  function blockAt(e) {
    var r = canvas.getBoundingClientRect();
    var byte = Math.floor((e.clientY - r.top) / (lineHeight + lineGap)) * perLine + (e.clientX - r.left) / width * perLine;
    var lo = 0, hi = blocks.length - 1;
    while (lo < hi) {
      var mid = (lo + hi + 1) >> 1;
      if (blocks[mid].start <= byte) lo = mid; else hi = mid - 1;
    }
    return blocks.length && byte < blocks[lo].start + blocks[lo].size ? lo : -1;
  }

  function choose(i) {
    at = i;
    draw();
    if (i >= 0) say(stateNames[blocks[i].state] + ", " + bytes(blocks[i].size));
  }

  function pin() {
    info.hidden = at < 0;
    if (at < 0) return;
    var b = blocks[at];
    info.replaceChildren(blockText(b));
    if (b.stack) info.append(stackList(b.stack));
  }

  canvas.addEventListener("mousemove", function (e) {
    var i = blockAt(e);
    if (i !== at) choose(i);
    tip(i >= 0 ? blockText(blocks[i]) : null, e.clientX, e.clientY);
  });
  canvas.addEventListener("mouseleave", function () { tip(null); if (at >= 0) choose(-1); });
  canvas.addEventListener("click", function (e) { choose(blockAt(e)); pin(); });
  canvas.addEventListener("keydown", function (e) {
    var last = blocks.length - 1, to = { ArrowRight: Math.min(last, at + 1), ArrowLeft: Math.max(0, at - 1), Home: 0, End: last }[e.key];
    if (e.key === "Enter") pin();
    else if (e.key === "Escape") { choose(-1); pin(); }
    else if (to !== undefined) choose(to);
    else return;
    e.preventDefault();
  });
  return { draw: draw };
}

// groupBlocks turns the columns into blocks with their place in the group.
function groupBlocks(g) {
  var out = [], i = 0, start = 0;
  g.segments.forEach(function (s) {
    var base = start, inside = 0;
    for (var k = 0; k < s.blocks; k++, i++) {
      out.push({ start: base + inside, size: g.size[i], requested: g.requested[i], state: g.state[i], count: g.count[i], line: g.line[i], stack: g.stack[i], category: g.category ? g.category[i] : -1, first: k === 0, segment: s, offset: inside });
      inside += g.size[i];
    }
    start += s.bytes;
  });
  return out;
}

function blockText(b) {
  var box = el("div"), many = b.count > 1;
  box.append(el("div", "t-title", stateNames[b.state] + (many ? ", " + count(b.count) + " blocks drawn together" : "")));
  if (b.line >= 0) {
    var f = frameOf(b.line);
    box.append(el("div", "", (many ? "largest: " : "") + f.fn), el("div", "t-soft", place(f)));
  }
  if (b.category >= 0) box.append(tipRow("for", data.categories[b.category]));
  box.append(tipRow("size", bytes(b.size) + "  (" + exact(b.size) + ")"));
  if (b.state < 2) box.append(tipRow("requested", bytes(b.requested) + "  (" + exact(b.requested) + ")"));
  var s = b.segment;
  if (s.count > 1) box.append(tipRow("in", count(s.count) + " segments, " + bytes(s.bytes)));
  else {
    if (!many) box.append(tipRow("address", "0x" + (BigInt(s.addr) + BigInt(b.offset)).toString(16)));
    box.append(tipRow("segment", bytes(s.bytes) + " at " + s.addr));
  }
  return box;
}
