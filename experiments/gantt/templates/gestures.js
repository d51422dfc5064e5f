// Gestures: pointer, wheel and fingers over the chart.

/** @type {(event: MouseEvent) => Place} */
const placeOf = (event) => {
  const box = over.getBoundingClientRect(), L = Painter.layout;
  const x = event.clientX - box.left, y = event.clientY - box.top;
  const time = view.from + ((x - L.left) / L.w) * (view.to - view.from);
  const node = view.top - (y / L.nodes) * (view.top - view.bottom);
  const zone = y < L.nodes ? (x < L.left ? "numbers" : "nodes") : y >= L.overview - 4 ? "overview" : y >= L.use && x >= L.left ? "strips" : "axis";
  return { x, y, time, node, zone };
};
/** The rectangle and the job at a place, -1 if there is none.
 * @type {(at: Place) => [number, number]} */
const jobAt = ({ zone, time, node }) => {
  if (zone !== "nodes") return [-1, -1];
  const r = Model.at(time, node);
  return [r, r < 0 ? -1 : Model.rectangles.job[r]];
};

const hideTip = () => { tip.hidden = true; state.cross = null; if (state.hover >= 0) state.hover = -1; redrawOver(); };
/** @type {(children: HTMLElement[], at: Place) => void} */
const showTip = (children, { x, y }) => {
  tip.replaceChildren(...children);
  tip.hidden = false;
  const L = Painter.layout, w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = `${Math.max(0, x + 16 + w > L.width ? (x - 16 - w < 0 ? (L.width - w) / 2 : x - 16 - w) : x + 16)}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 14, L.height - h - 4))}px`;
};
/** @param {Place} at */
const hover = (at) => {
  const [r, k] = jobAt(at);
  /** @param {number} c */
  const css = (c) => `rgb(${c & 255},${(c >> 8) & 255},${(c >> 16) & 255})`;
  state.cross = at.zone === "strips" || at.zone === "nodes" ? at.x : null;
  state.hover = k;
  if (k >= 0) {
    const kind = Model.rectangles.kind[r];
    const now = Story.sizeAt(k, at.time);
    /** @type {[string, string] | null} */
    const extra = kind === Model.HELD ? ["here", Model.inUnit("nodes held for it")] : kind === Model.WARNED ? ["here", "under warning"] : now !== jobs.nodes[k] ? ["here", `on ${now} of ${jobs.nodes[k]} ${Model.inUnit("nodes")}`] : null;
    // The panel tells the chosen job's story already.
    if (k === state.chosen) tip.hidden = true;
    else showTip(Story.tip(k, css(fills[k]), extra), at);
  } else if (at.zone === "strips") {
    const { use, queue } = Model;
    const u = use.place(at.time), q = queue.place(at.time);
    /** @type {[string, string][]} */
    const rows = use.names.map((name, n) => ({ name, n: use.levels[n][u] })).filter(({ n }) => n).map(({ name, n }) => [name, `${n.toLocaleString("en")} ${Model.inUnit("nodes")} (${((100 * n) / NODES).toFixed(1)} %)`]);
    showTip([Story.element("h2", null, Time.stamp(at.time)), Story.table([...rows, ["waiting", `${Story.count(queue.levels[0][q], "job", "jobs")}, for ${Story.count(queue.levels[1][q], "node", "nodes")}`]])], at);
  } else if (r >= 0) showTip(Story.place(r), at);
  else tip.hidden = true;
  redrawOver();
};

/** @type {Map<number, Place>} */
const pointers = new Map();
/** @type {Drag | null} */
let drag = null;
over.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  chart.focus({ preventScroll: true });
  over.setPointerCapture(event.pointerId);
  const at = placeOf(event);
  pointers.set(event.pointerId, at);
  if (pointers.size === 2) {
    const [a, b] = pointers.values();
    drag = { kind: "pinch", view: { ...view }, dx: Math.abs(a.x - b.x), dy: Math.abs(a.y - b.y), time: (a.time + b.time) / 2, node: (a.node + b.node) / 2 };
  } else if (at.zone === "overview") {
    drag = { kind: "overview", moved: true };
    scrub(at);
  } else drag = { kind: event.shiftKey ? "box" : "pan", x: at.x, y: at.y, at, view: { ...view }, moved: false };
  tip.hidden = true;
});
/** @param {Place} at */
const scrub = ({ x }) => {
  const L = Painter.layout, t = ((x - L.left) / L.w) * LENGTH, half = (view.to - view.from) / 2;
  show(t - half, t + half);
};
over.addEventListener("pointermove", (event) => {
  const at = placeOf(event), L = Painter.layout;
  if (!drag) return hover(at);
  if (pointers.has(event.pointerId)) pointers.set(event.pointerId, at);
  if (drag.kind === "pinch") {
    if (pointers.size < 2) return undefined;
    const [a, b] = pointers.values();
    const dx = Math.abs(a.x - b.x), dy = Math.abs(a.y - b.y), old = drag.view;
    const sideways = drag.dx >= drag.dy;
    const fx = sideways ? Math.max(20, drag.dx) / Math.max(20, dx) : 1, fy = sideways ? 1 : Math.max(20, drag.dy) / Math.max(20, dy);
    const span = (old.to - old.from) * fx, high = (old.top - old.bottom) * fy;
    const from = drag.time - (((a.x + b.x) / 2 - L.left) / L.w) * span, top = drag.node + ((a.y + b.y) / 2 / L.nodes) * high;
    return show(from, from + span, top - high, top);
  }
  if (drag.kind === "overview") return scrub(at);
  const dx = at.x - drag.x, dy = at.y - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return undefined;
  drag.moved = true;
  if (drag.kind === "box") {
    state.box = { x0: Math.max(L.left, Math.min(drag.x, at.x)), x1: Math.max(drag.x, at.x), y0: Math.min(drag.y, at.y), y1: Math.min(L.nodes, Math.max(drag.y, at.y)) };
    return redrawOver();
  }
  over.classList.add("grabbed");
  const old = drag.view, dt = (-dx / L.w) * (old.to - old.from), dn = (dy / L.nodes) * (old.top - old.bottom);
  return show(old.from + dt, old.to + dt, old.bottom + dn, old.top + dn);
});
/** @param {PointerEvent} event */
const release = (event) => {
  pointers.delete(event.pointerId);
  over.classList.remove("grabbed");
  if (!drag) return;
  const { kind, moved } = drag, at = placeOf(event), L = Painter.layout, box = state.box;
  if (kind === "pinch" && pointers.size) return;
  drag = null;
  state.box = null;
  if (kind === "box" && moved && box) {
    /** @param {number} x */
    const t = (x) => view.from + ((x - L.left) / L.w) * (view.to - view.from);
    /** @param {number} y */
    const n = (y) => view.top - (y / L.nodes) * (view.top - view.bottom);
    show(t(box.x0), t(box.x1), n(box.y1), n(box.y0));
  } else if (!moved && event.type === "pointerup") {
    const k = jobAt(at)[1];
    if (k >= 0) choose(k); else if (at.zone === "nodes") choose(-1);
    if (event.pointerType === "mouse") hover(at);
  }
};
over.addEventListener("pointerup", release);
over.addEventListener("pointercancel", release);
over.addEventListener("pointerleave", () => { if (!drag) hideTip(); });
over.addEventListener("dblclick", (event) => { const k = jobAt(placeOf(event))[1]; if (k >= 0) showJob(k); });
over.addEventListener("wheel", (event) => {
  event.preventDefault();
  const at = placeOf(event), unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
  const dx = event.deltaX * unit, dy = event.deltaY * unit;
  if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) return move((dx || dy) / Painter.layout.w);
  const factor = Math.exp(Math.max(-240, Math.min(240, dy)) * (event.ctrlKey ? 0.008 : 0.0022));
  if (event.altKey || at.zone === "numbers") zoomNodes(factor, at.node);
  else zoomTime(factor, at.time);
  return hover(placeOf(event));
}, { passive: false });
