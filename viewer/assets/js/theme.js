// Light and dark: the system decides until the button is pressed.

function startTheme() {
  var root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", function () {
    var now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    say(root.dataset.theme + " colours");
    redraw();
  });
  dark.addEventListener("change", redraw);
}
