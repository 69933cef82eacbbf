// Tables of the report: sort, filter, stacks on demand, copy. What the numbers
// of a row are, says its data-bytes and data-count, or data-v of each cell.

var firstRows = 15; // rows shown before "show all"

function startTable(panel) {
  var table = panel.querySelector("table.rows"), body = table.tBodies[0];
  var rows = all("tr", body), total = Number(table.dataset.total), hint = panel.querySelector(".shown"), input = panel.querySelector(".filter input");
  var expanded = false, words = "";
  var more = el("button", "more");
  more.type = "button";
  hint.after(more);

  function show() {
    var hits = 0, sum = 0;
    rows.forEach(function (r) {
      var match = !words || r.textContent.toLowerCase().indexOf(words) >= 0 || fullPlace(r).toLowerCase().indexOf(words) >= 0;
      if (match) { hits++; sum += Number(r.dataset.bytes); }
      var late = !expanded && !words && hits > firstRows;
      r.hidden = !match || late;
      r.classList.toggle("late", late);
    });
    var amount = table.dataset.unit === "ns" ? duration(sum) : bytes(sum);
    hint.textContent = words ? hits + " of " + rows.length + " rows match" + (total ? " and " + (table.dataset.verb || "hold") + " " + amount + " (" + percent(sum, total) + ")." : ".") : "";
    more.hidden = words !== "" || rows.length <= firstRows;
    more.textContent = expanded ? "Show the first " + firstRows : "Show all " + rows.length + " rows";
  }

  function sortBy(th, key) {
    var down = th.getAttribute("aria-sort") !== "descending";
    if (!th.hasAttribute("aria-sort") && (key === "place" || key === "function")) down = false;
    all("th", table).forEach(function (o) { o.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    function value(r) {
      var cell = r.cells[th.cellIndex];
      if (key === "place") return fullPlace(r);
      if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
      return r.dataset[key] !== undefined ? Number(r.dataset[key]) : cell.textContent;
    }
    rows.sort(function (a, b) {
      var x = value(a), y = value(b);
      var order = typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
      return down ? -order : order;
    });
    rows.forEach(function (r) { body.append(r); });
    show();
  }

  all("th[data-sort]", table).forEach(function (th) {
    var b = el("button", "", th.textContent);
    b.type = "button";
    b.addEventListener("click", function () { sortBy(th, th.dataset.sort); });
    th.replaceChildren(b);
  });
  input.addEventListener("input", function () { words = input.value.trim().toLowerCase(); show(); });
  more.addEventListener("click", function () { expanded = !expanded; show(); });
  rows.forEach(prepareRow);
  show();
}

function fullPlace(row) {
  var holder = row.querySelector(".place [title]:not(.tag)");
  return holder ? holder.title : "";
}

// prepareRow adds the copy button and fills the stack when it is first opened.
function prepareRow(row) {
  var details = row.querySelector("details"), text = fullPlace(row);
  if (details) {
    details.addEventListener("toggle", function () {
      if (details.open && !details.querySelector(".stack")) details.append(stackList(Number(details.dataset.stack)));
    });
  }
  if (!text) return;
  var b = el("button", "copy", "copy");
  b.type = "button";
  b.setAttribute("aria-label", "Copy " + text);
  b.addEventListener("click", function (e) {
    e.preventDefault();
    copy(text, function (ok) {
      b.textContent = ok ? "copied" : "press Ctrl+C";
      setTimeout(function () { b.textContent = "copy"; }, 1500);
    });
  });
  row.querySelector(".place").append(b);
}

// copy works from file:// too, where the clipboard API may be missing.
function copy(text, done) {
  function old() {
    var area = el("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    var ok = document.execCommand("copy");
    area.remove();
    done(ok);
  }
  if (!navigator.clipboard) { old(); return; }
  navigator.clipboard.writeText(text).then(function () { done(true); }, old);
}
