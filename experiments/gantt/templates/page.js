// The page: the window that is shown, colours, search, and everything that a user can do.

(() => {
  const { jobs, length: LENGTH, nodes: NODES } = Model;
  const $ = (id) => document.getElementById(id);
  const chart = $("chart"), over = $("over"), tip = $("tip"), panel = $("story");
  const SHORTEST = Math.min(60, LENGTH), FEWEST = Math.min(8, NODES);
  const view = { from: 0, to: LENGTH, bottom: 0, top: NODES };
  const state = { mode: "type", hidden: new Map(), hits: null, hit: -1, hover: -1, chosen: -1, cross: null, box: null };
  let fills = new Uint32Array(jobs.count), marked = null, legendOf = [], pending = false, printing = false;

  // Colours.

  const OTHERS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#882255", "#999933", "#332288", "#B8860B"];
  const RAMP = { light: ["#cfe1f2", "#93c3df", "#4b97c9", "#1763a6", "#08306b", "#2b0a3d"], dark: ["#27435f", "#2f6394", "#4790cc", "#8cc0ea", "#cfe6fa", "#fff3c9"] };
  const GREY = "#8a8f96";
  const binned = (title, values, bounds, names) => ({
    title, classes: names.map((name) => ({ name })), of: Int32Array.from(values, (v) => bounds.findIndex((b) => v <= b)), ramp: true,
  });
  const named = (title, texts, column) => {
    const work = new Float64Array(texts.length);
    for (let k = 0; k < jobs.count; k++) work[column[k]] += jobs.nodes[k] * jobs.runtime[k];
    const order = [...texts.keys()].sort((a, b) => work[b] - work[a] || a - b);
    const shown = order.slice(0, order.length > OTHERS.length ? OTHERS.length - 1 : OTHERS.length);
    const place = new Int32Array(texts.length).fill(shown.length);
    shown.forEach((name, k) => { place[name] = k; });
    const classes = shown.map((name, k) => ({ name: texts[name] || "(none)", color: OTHERS[k] }));
    if (order.length > shown.length) classes.push({ name: `${order.length - shown.length} others`, color: GREY });
    return { title, classes, of: Int32Array.from(column, (c) => place[c]) };
  };
  const REASONS = [["in order", "in order"], ["backfilled", "backfilled"], ["tenant", "tenant"], ["arrival", "on arrival"], ["returned by #", "returned nodes"]];
  const modes = {
    type: {
      title: "type", of: Int32Array.from(jobs.type),
      classes: jobs.types.map((name) => ({ name, color: TYPE_COLORS[name] || GREY })),
    },
    project: named("project", jobs.projects, jobs.project),
    user: named("user", jobs.users, jobs.user),
    wait: binned("wait", Model.wait, [60, 3600, 6 * 3600, 86400, 3 * 86400, Infinity], ["to 1 min", "to 1 h", "to 6 h", "to 1 d", "to 3 d", "longer"]),
    slowdown: binned("bounded slowdown", jobs.slowdown, [110, 200, 500, 1000, 10000, Infinity], ["to 1.1", "to 2", "to 5", "to 10", "to 100", "more"]),
    start: {
      title: "reason of the start",
      of: Int32Array.from(Model.why, (c) => { const k = REASONS.findIndex(([cause]) => cause === (Model.log.causes[c] || "in order")); return k < 0 ? REASONS.length : k; }),
      classes: [...REASONS.map(([, name], k) => ({ name, color: OTHERS[[0, 5, 1, 3, 2][k]] })), { name: "other", color: GREY }],
    },
  };
  if (jobs.projects.length < 2) delete modes.project;
  if (jobs.users.length < 2) delete modes.user;
  const colorOf = (mode, c) => (mode.ramp ? RAMP[Painter.theme.dark ? "dark" : "light"][c] : mode.classes[c].color);

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
    const sign = (text, style) => {
      const swatch = Story.element("i");
      swatch.style.cssText = style;
      items.push(Story.element("span", { class: "sign" }, swatch, text));
    };
    const mark = "var(--mark)";
    if (R.kind.includes(Model.HELD)) sign("held for an on-demand job", `background:repeating-linear-gradient(-45deg,${STATE_COLORS.held}88 0 4px,var(--idle) 4px 5px)`);
    if (R.kind.includes(Model.WARNED)) sign("under warning", `background:repeating-linear-gradient(-45deg,${GREY} 0 3px,${mark} 3px 4.5px)`);
    if (R.preempted.includes(1)) sign("preempted here", `background:linear-gradient(90deg,${GREY} 70%,${mark} 70%)`);
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
  const show = (from, to, bottom = view.bottom, top = view.top) => {
    Object.assign(view, { from, to, bottom, top });
    clamp();
    redraw();
    tell();
  };
  const zoomTime = (factor, t = (view.from + view.to) / 2) => show(t - (t - view.from) * factor, t + (view.to - t) * factor);
  const zoomNodes = (factor, n = (view.bottom + view.top) / 2) => show(view.from, view.to, n - (n - view.bottom) * factor, n + (view.top - n) * factor);
  const move = (time, nodes = 0) => {
    const dt = time * (view.to - view.from), dn = nodes * (view.top - view.bottom);
    show(view.from + dt, view.to + dt, view.bottom + dn, view.top + dn);
  };
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
  // A window that has the job in it, at the scale that there is.
  const reveal = (k) => {
    if (jobs.end[k] > view.from && jobs.start[k] < view.to) return redraw();
    const half = (view.to - view.from) / 2, t = (jobs.start[k] + jobs.end[k]) / 2;
    show(t - half, t + half);
  };

  let telling = 0;
  const tell = (atOnce) => {
    clearTimeout(telling);
    const say = () => {
      const part = view.top - view.bottom < NODES ? `, nodes ${Math.floor(view.bottom)} to ${Math.ceil(view.top) - 1}` : "";
      $("where").textContent = `${Time.stamp(view.from)} to ${Time.stamp(view.to)} (${Time.duration(view.to - view.from)})${part}`;
    };
    // Whoever listens is told where a movement ends.
    if (atOnce === true) say(); else telling = setTimeout(say, 150);
  };

  // Drawing, once a frame.

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
  const outlined = () => [...new Set([state.chosen, state.hover, state.hit < 0 ? -1 : state.hits[state.hit]])].filter((k) => k >= 0);
  const redrawOver = () => { if (!pending) requestAnimationFrame(() => Painter.drawOver(view, outlined(), state.cross, state.box)); };
  const resize = () => { Painter.measure(printing); clamp(); if (printing) render(); else redraw(); };
  const restyle = () => { Painter.readTheme(printing); paint(); buildLegend(); };

  // Pointer.

  const placeOf = (event) => {
    const box = over.getBoundingClientRect(), L = Painter.layout;
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const time = view.from + ((x - L.left) / L.w) * (view.to - view.from);
    const node = view.top - (y / L.nodes) * (view.top - view.bottom);
    const zone = y < L.nodes ? (x < L.left ? "numbers" : "nodes") : y >= L.overview - 4 ? "overview" : y >= L.use && x >= L.left ? "strips" : "axis";
    return { x, y, time, node, zone };
  };
  const jobAt = ({ zone, time, node }) => {
    if (zone !== "nodes") return [-1, -1];
    const r = Model.at(time, node);
    return [r, r < 0 ? -1 : Model.rectangles.job[r]];
  };

  const hideTip = () => { tip.hidden = true; state.cross = null; if (state.hover >= 0) state.hover = -1; redrawOver(); };
  const showTip = (children, { x, y }) => {
    tip.replaceChildren(...children);
    tip.hidden = false;
    const L = Painter.layout, w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = `${Math.max(0, x + 16 + w > L.width ? (x - 16 - w < 0 ? (L.width - w) / 2 : x - 16 - w) : x + 16)}px`;
    tip.style.top = `${Math.max(0, Math.min(y + 14, L.height - h - 4))}px`;
  };
  const hover = (at) => {
    const [r, k] = jobAt(at);
    const css = (c) => `rgb(${c & 255},${(c >> 8) & 255},${(c >> 16) & 255})`;
    state.cross = at.zone === "strips" || at.zone === "nodes" ? at.x : null;
    state.hover = k;
    if (k >= 0) {
      const kind = Model.rectangles.kind[r];
      const now = Story.sizeAt(k, at.time);
      const extra = kind === Model.HELD ? ["here", "nodes held for it"] : kind === Model.WARNED ? ["here", "under warning"] : now !== jobs.nodes[k] ? ["here", `on ${now} of ${jobs.nodes[k]} nodes`] : null;
      showTip(Story.tip(k, css(fills[k]), extra), at);
    } else if (at.zone === "strips") {
      const { use, queue } = Model;
      const u = use.place(at.time), q = queue.place(at.time);
      const rows = use.names.map((name, n) => [name, use.levels[n][u]]).filter(([, n]) => n).map(([name, n]) => [name, `${n.toLocaleString("en")} nodes (${((100 * n) / NODES).toFixed(1)} %)`]);
      showTip([Story.element("h2", null, Time.stamp(at.time)), Story.table([...rows, ["waiting", `${queue.levels[0][q].toLocaleString("en")} jobs, for ${queue.levels[1][q].toLocaleString("en")} nodes`]])], at);
    } else if (r >= 0) showTip([Story.element("h2", null, Model.rectangles.kinds[Model.rectangles.kind[r]])], at);
    else tip.hidden = true;
    redrawOver();
  };

  const pointers = new Map();
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
  const release = (event) => {
    pointers.delete(event.pointerId);
    over.classList.remove("grabbed");
    if (!drag) return;
    const { kind, moved } = drag, at = placeOf(event), L = Painter.layout, box = state.box;
    if (kind === "pinch" && pointers.size) return;
    drag = null;
    state.box = null;
    if (kind === "box" && moved && box) {
      const t = (x) => view.from + ((x - L.left) / L.w) * (view.to - view.from), n = (y) => view.top - (y / L.nodes) * (view.top - view.bottom);
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

  // Choosing and searching.

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
  const step = (by) => {
    const list = state.hits && state.hits.length ? state.hits : null;
    if (list) return goTo(state.hit + by);
    const middle = (view.from + view.to) / 2;
    const place = state.chosen >= 0 ? rank[state.chosen] + by : Math.max(0, byStart.findIndex((k) => jobs.end[k] > middle));
    const k = byStart[Math.max(0, Math.min(jobs.count - 1, place))];
    choose(k);
    return reveal(k);
  };
  const goTo = (place) => {
    const many = state.hits.length;
    state.hit = ((place % many) + many) % many;
    const k = state.hits[state.hit];
    choose(k);
    if (many === 1) showJob(k); else reveal(k);
    $("found").textContent = `${state.hit + 1} of ${many.toLocaleString("en")}`;
  };
  const act = (what, k) => {
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
    const none = !state.hits || !state.hits.length;
    $("before").disabled = $("after").disabled = none;
    $("found").textContent = !state.hits ? "" : none ? "no job" : state.hits.length === 1 ? "1 job" : `${state.hits.length.toLocaleString("en")} jobs`;
    paint();
    redraw();
  };
  $("query").addEventListener("input", look);
  $("query").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey && state.hits && state.hits.length) { event.preventDefault(); goTo(state.hit < 0 ? -1 : state.hit - 1); }
    if (event.key === "Escape") { $("query").value = ""; look(); chart.focus(); }
  });
  $("search").addEventListener("submit", (event) => { event.preventDefault(); if (state.hits && state.hits.length) goTo(state.hit + 1); });
  $("before").addEventListener("click", () => goTo(state.hit < 0 ? -1 : state.hit - 1));

  // Buttons and keys.

  const whole = () => show(0, LENGTH, 0, NODES);
  const tasks = { in: () => zoomTime(0.6), out: () => zoomTime(1 / 0.6), back: () => move(-0.25), on: () => move(0.25), all: whole };
  for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", () => tasks[button.dataset.do]());
  chart.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    const far = event.shiftKey ? 0.9 : 0.15;
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
  // Browsers print what they know of a canvas, not its pixels: a picture of it stands in.
  let printed = null;
  const print = (now) => {
    if (printed) printed.remove();
    printed = null;
    printing = now;
    restyle();
    resize();
    tell(now);
    if (now) {
      printed = Story.element("img", { src: $("plot").toDataURL("image/png"), alt: chart.getAttribute("aria-label") });
      chart.append(printed);
    }
    $("plot").hidden = over.hidden = now;
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  restyle();
  resize();
  tell(true);
  const asked = /^#job=(\d+)$/.exec(location.hash);
  if (asked && Model.byId.has(Number(asked[1]))) { const k = Model.byId.get(Number(asked[1])); choose(k); showJob(k); }
  // For scripts and tests.
  window.holdfast = { view, show, state, times, model: Model, layout: () => Painter.layout, hits: () => (state.hits || []).map((k) => jobs.id[k]) };
})();
