// The page around the chart: buttons, keys, light and dark, paper.

// Buttons and keys.

const whole = () => show(0, LENGTH, 0, NODES);
/** @type {Record<string, () => void>} */
const tasks = { in: () => zoomTime(0.6), out: () => zoomTime(1 / 0.6), back: () => move(-0.25), on: () => move(0.25), all: whole };
for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-do]"))) button.addEventListener("click", () => tasks[button.dataset.do || ""]());
chart.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey) return;
  const far = event.shiftKey ? 0.9 : 0.15;
  /** @type {Record<string, () => unknown>} */
  const keys = {
    ArrowLeft: () => move(-far), ArrowRight: () => move(far), ArrowUp: () => move(0, far), ArrowDown: () => move(0, -far),
    "+": () => (event.altKey ? zoomNodes(0.7) : zoomTime(0.7)), "=": () => (event.altKey ? zoomNodes(0.7) : zoomTime(0.7)),
    "-": () => (event.altKey ? zoomNodes(1 / 0.7) : zoomTime(1 / 0.7)), 0: whole, Home: () => show(0, view.to - view.from), End: () => show(LENGTH - (view.to - view.from), LENGTH),
    PageUp: () => move(-0.9), PageDown: () => move(0.9), n: () => step(1), p: () => step(-1), Enter: () => state.chosen >= 0 && showJob(state.chosen),
    Escape: () => { choose(-1); hideTip(); }, "/": () => $("query").focus(),
  };
  const task = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (task) { event.preventDefault(); task(); }
});
$("colors").append(...Object.entries(modes).map(([key, mode]) => Story.element("option", { value: key }, mode.title)));
$("colors").addEventListener("change", () => { state.mode = $("colors").value; paint(); buildLegend(); redraw(); });

// Light and dark, sizes, print.

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { restyle(); redraw(); });
new ResizeObserver(() => { if (!printing) resize(); }).observe(chart);
// Browsers do not print the pixels of a canvas: a picture of it takes its place.
/** @type {HTMLElement | null} */
let printed = null;
/** @param {boolean} now */
const stage = (now) => {
  if (printed) printed.remove();
  printed = null;
  printing = now;
  restyle();
  resize();
  announceView(now);
  if (now) {
    printed = Story.element("img", { src: $("plot").toDataURL("image/png"), alt: chart.getAttribute("aria-label") || "" });
    chart.append(printed);
  }
  $("plot").hidden = over.hidden = now;
};
addEventListener("beforeprint", () => stage(true));
addEventListener("afterprint", () => stage(false));

restyle();
resize();
announceView(true);
const asked = /^#job=([\d_+]+)$/.exec(location.hash);
const first = asked ? Model.find(asked[1]) : undefined;
if (first !== undefined) { choose(first); showJob(first); }
// For scripts and tests.
window.holdfast = { view, show, state, times, model: Model, layout: () => Painter.layout, hits: () => (state.hits || []).map((k) => jobs.id[k]) };
