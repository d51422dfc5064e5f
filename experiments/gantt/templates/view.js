// The view: what is shown, in which colours, and drawing it once a frame.

const { jobs, length: LENGTH, nodes: NODES } = Model;
/** @template {keyof PageElements} K
 * @param {K} id
 * @returns {PageElements[K]} */
const $ = (id) => /** @type {any} */ (document.getElementById(id));
const chart = $("chart"), over = $("over"), tip = $("tip"), panel = $("story");
const SHORTEST = Math.min(60, LENGTH), FEWEST = Math.min(8, NODES);
const view = { from: 0, to: LENGTH, bottom: 0, top: NODES };
/** @type {PageState} */
const state = { mode: "type", hidden: new Map(), hits: null, hit: -1, hover: -1, chosen: -1, cross: null, box: null };
const fills = new Uint32Array(jobs.count);
/** @type {Uint8Array | null} */
let marked = null;
let pending = false, printing = false;

// Colours.

const { modes, colorOf } = Colors;

const paint = () => {
  const mode = modes[state.mode], hidden = state.hidden.get(state.mode) || new Set();
  const { faint, idleParts } = Painter.theme;
  const full = mode.classes.map((_, c) => parts(colorOf(mode, c)));
  const pale = full.map((color) => abgr(blend(color, idleParts, 0.82)));
  const solid = full.map(abgr), gone = abgr(faint);
  for (let k = 0; k < jobs.count; k++) {
    const c = mode.of[k];
    fills[k] = hidden.has(c) ? gone : marked !== null && !marked[k] ? pale[c] : solid[c];
  }
};

const buildLegend = () => {
  const mode = modes[state.mode], hidden = state.hidden.get(state.mode) || new Set();
  const numbers = new Uint32Array(mode.classes.length);
  for (const c of mode.of) numbers[c]++;
  /** @type {HTMLElement[]} */
  const items = [];
  mode.classes.forEach((item, c) => {
    if (!numbers[c]) return;
    const swatch = Story.element("i");
    swatch.style.background = colorOf(mode, c);
    const button = Story.element("button", { type: "button", "aria-pressed": String(!hidden.has(c)) }, swatch, item.name, Story.element("span", { class: "number" }, numbers[c].toLocaleString("en")));
    button.addEventListener("click", () => {
      const set = state.hidden.get(state.mode) || new Set();
      if (set.has(c)) set.delete(c); else set.add(c);
      state.hidden.set(state.mode, set);
      button.setAttribute("aria-pressed", String(!set.has(c)));
      paint();
      redraw();
    });
    items.push(button);
  });
  const R = Model.rectangles;
  /** @type {(text: string, style: string) => void} */
  const sign = (text, style) => {
    const swatch = Story.element("i");
    swatch.style.cssText = style;
    items.push(Story.element("span", { class: "sign" }, swatch, text));
  };
  const mark = "var(--mark)";
  if (R.kind.includes(Model.HELD)) sign("held", `background:repeating-linear-gradient(-45deg,${STATE_COLORS.held}88 0 4px,var(--idle) 4px 5px)`);
  if (R.kind.includes(Model.WARNED)) sign("under warning", `background:repeating-linear-gradient(-45deg,${Colors.GREY} 0 3px,${mark} 3px 4.5px)`);
  if (R.preempted.includes(1)) sign("preempted here", `background:linear-gradient(90deg,${Colors.GREY} 70%,${mark} 70%)`);
  if (R.kind.includes(Model.DOWN)) sign("down", `background:repeating-linear-gradient(-45deg,var(--line) 0 3px,var(--soft) 3px 4.5px)`);
  sign("idle", "background:var(--idle);border:1px solid var(--line)");
  $("legend").replaceChildren(...items);
};

// The window.

const clamp = () => {
  let span = Math.min(LENGTH, Math.max(SHORTEST, view.to - view.from));
  view.from = Math.max(0, Math.min(LENGTH - span, view.from));
  view.to = view.from + span;
  span = Math.min(NODES, Math.max(FEWEST, view.top - view.bottom));
  view.bottom = Math.max(0, Math.min(NODES - span, view.bottom));
  view.top = view.bottom + span;
};
/** @type {(from: number, to: number, bottom?: number, top?: number) => void} */
const show = (from, to, bottom = view.bottom, top = view.top) => {
  Object.assign(view, { from, to, bottom, top });
  clamp();
  redraw();
  announceView();
};
/** @type {(factor: number, t?: number) => void} */
const zoomTime = (factor, t = (view.from + view.to) / 2) => show(t - (t - view.from) * factor, t + (view.to - t) * factor);
/** @type {(factor: number, n?: number) => void} */
const zoomNodes = (factor, n = (view.bottom + view.top) / 2) => show(view.from, view.to, n - (n - view.bottom) * factor, n + (view.top - n) * factor);
/** @type {(time: number, nodes?: number) => void} */
const move = (time, nodes = 0) => {
  const dt = time * (view.to - view.from), dn = nodes * (view.top - view.bottom);
  show(view.from + dt, view.to + dt, view.bottom + dn, view.top + dn);
};
/** @param {number} k */
const showJob = (k) => {
  const own = Model.ofJob.get(k) || [];
  let from = Infinity, to = -Infinity, bottom = Infinity, top = -Infinity;
  for (const r of own) {
    from = Math.min(from, Model.rectangles.start[r]);
    to = Math.max(to, Model.rectangles.end[r]);
    bottom = Math.min(bottom, Model.rectangles.low[r]);
    top = Math.max(top, Model.rectangles.high[r]);
  }
  if (!own.length) return;
  const span = Math.max(SHORTEST, (to - from) * 1.6), high = Math.max(FEWEST, (top - bottom) * 2);
  const t = (from + to) / 2, n = (bottom + top) / 2;
  show(t - span / 2, t + span / 2, Math.max(0, n - high / 2), Math.min(NODES, n + high / 2));
};
/** Move the window to the job, at the present scale.
 * @param {number} k */
const reveal = (k) => {
  const R = Model.rectangles;
  const seen = (Model.ofJob.get(k) || []).some((r) => R.high[r] > view.bottom && R.low[r] < view.top);
  if (!seen) Object.assign(view, { bottom: 0, top: NODES });
  if (jobs.end[k] > view.from && jobs.start[k] < view.to) { redraw(); return; }
  const half = (view.to - view.from) / 2, t = (jobs.start[k] + jobs.end[k]) / 2;
  show(t - half, t + half);
};

let announcement = 0;
/** @param {boolean} [atOnce] */
const announceView = (atOnce) => {
  clearTimeout(announcement);
  const announce = () => {
    const part = view.top - view.bottom < NODES ? `, ${Model.hosts ? "nodes" : Model.inUnit("nodes")} ${Model.host(Math.floor(view.bottom))} to ${Model.host(Math.ceil(view.top) - 1)}` : "";
    $("where").textContent = `${Time.stamp(view.from)} to ${Time.stamp(view.to)} (${Time.duration(view.to - view.from)})${part}`;
  };
  // A screen reader hears where a movement ends, not each step of it.
  if (atOnce === true) announce(); else announcement = setTimeout(announce, 150);
};

// Drawing, once a frame.

/** @type {number[]} */
const times = [];
const render = () => {
  pending = false;
  const began = performance.now();
  Painter.draw(view, fills, marked);
  Painter.drawOver(view, outlined(), state.cross, state.box);
  times.push(performance.now() - began);
  if (times.length > 5000) times.shift();
};
const redraw = () => {
  if (pending) return;
  pending = true;
  requestAnimationFrame(render);
};
const outlined = () => [...new Set([state.chosen, state.hover, state.hit < 0 || !state.hits ? -1 : state.hits[state.hit]])].filter((k) => k >= 0);
const redrawOver = () => { if (!pending) requestAnimationFrame(() => Painter.drawOver(view, outlined(), state.cross, state.box)); };
const resize = () => { Painter.measure(printing); clamp(); if (printing) render(); else redraw(); };
const restyle = () => { Painter.readTheme(printing); paint(); buildLegend(); };
