// Tabs (ARIA pattern: arrows move, the panel follows) and the device switch.

function startTabs(shown) {
  all("[role=tablist]").forEach(function (list) {
    var tabs = all("[role=tab]", list);
    function select(tab, focus) {
      tabs.forEach(function (t) {
        var on = t === tab;
        t.setAttribute("aria-selected", on);
        t.tabIndex = on ? 0 : -1;
        document.getElementById(t.getAttribute("aria-controls")).hidden = !on;
      });
      if (focus) tab.focus();
      shown(document.getElementById(tab.getAttribute("aria-controls")));
    }
    tabs.forEach(function (tab, i) {
      tab.addEventListener("click", function () { select(tab); });
      tab.addEventListener("keydown", function (e) {
        var to = { ArrowRight: i + 1, ArrowLeft: i - 1 + tabs.length, Home: 0, End: tabs.length - 1 }[e.key];
        if (to === undefined) return;
        e.preventDefault();
        select(tabs[to % tabs.length], true);
      });
    });
    select(tabs[0]);
  });
}

function startDevices(shown) {
  var links = all(".devices a"), articles = all("article.device");
  function select(id) {
    articles.forEach(function (a) { a.hidden = a.id !== id; });
    links.forEach(function (l) { l.setAttribute("aria-current", l.dataset.device === id); });
    shown(document.getElementById(id));
  }
  if (!links.length) return;
  links.forEach(function (l) {
    l.addEventListener("click", function (e) {
      e.preventDefault();
      history.replaceState(null, "", "#" + l.dataset.device);
      select(l.dataset.device);
      say("showing " + l.textContent);
    });
  });
  var wanted = location.hash.slice(1), first = articles.filter(function (a) { return a.dataset.first; })[0] || articles[0];
  select(articles.some(function (a) { return a.id === wanted; }) ? wanted : first.id);
}
