// Choosing a job, and searching for jobs.

/** @param {number} k */
const choose = (k) => {
  state.chosen = k;
  panel.hidden = k < 0;
  if (k >= 0) {
    const c = modes[state.mode].of[k];
    panel.replaceChildren(...Story.panel(k, colorOf(modes[state.mode], c), act));
  }
  try { history.replaceState(null, "", k < 0 ? location.pathname + location.search : `#job=${jobs.id[k]}`); } catch { /* a page in a frame */ }
  resize();
};
const byStart = Int32Array.from(jobs.start.keys()).sort((a, b) => jobs.start[a] - jobs.start[b] || a - b);
const rank = new Int32Array(jobs.count);
byStart.forEach((k, place) => { rank[k] = place; });
/** @param {number} by */
const step = (by) => {
  if (state.hits?.length) { goTo(state.hit + by); return; }
  const middle = (view.from + view.to) / 2;
  const place = state.chosen >= 0 ? rank[state.chosen] + by : Math.max(0, byStart.findIndex((k) => jobs.end[k] > middle));
  const k = byStart[Math.max(0, Math.min(jobs.count - 1, place))];
  choose(k);
  reveal(k);
};
/** @param {number} place */
const goTo = (place) => {
  const hits = state.hits || [], many = hits.length;
  state.hit = ((place % many) + many) % many;
  const k = hits[state.hit];
  choose(k);
  if (many === 1) showJob(k); else reveal(k);
  $("found").textContent = `${state.hit + 1} of ${many.toLocaleString("en")}`;
};
/** @type {(what: string, k?: number) => void} */
const act = (what, k = -1) => {
  if (what === "close") { choose(-1); chart.focus(); }
  else if (what === "job") showJob(state.chosen);
  else if (what === "choose") { choose(k); reveal(k); }
  else step(what === "after" ? 1 : -1);
};
const look = () => {
  state.hits = Model.search($("query").value);
  state.hit = -1;
  marked = null;
  if (state.hits) {
    state.hits.sort((a, b) => jobs.start[a] - jobs.start[b] || a - b);
    marked = new Uint8Array(jobs.count);
    for (const k of state.hits) marked[k] = 1;
  }
  const none = !state.hits?.length;
  $("before").disabled = $("after").disabled = none;
  $("found").textContent = !state.hits ? "" : none ? "no job" : state.hits.length === 1 ? "1 job" : `${state.hits.length.toLocaleString("en")} jobs`;
  paint();
  redraw();
};
$("query").addEventListener("input", look);
$("query").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey && state.hits?.length) { event.preventDefault(); goTo(state.hit < 0 ? -1 : state.hit - 1); }
  if (event.key === "Escape") { $("query").value = ""; look(); chart.focus(); }
});
$("search").addEventListener("submit", (event) => { event.preventDefault(); if (state.hits?.length) goTo(state.hit + 1); });
$("before").addEventListener("click", () => goTo(state.hit < 0 ? -1 : state.hit - 1));
