// Painting: nodes, axes and strips on a canvas. Rectangles are filled into a buffer of pixels, which costs the same
// without a graphics card; a pixel shows what its middle shows, so that what is too small to be seen does not mislead.

/** @type {(hex: string) => RGB} */
const parts = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
/** @type {(color: RGB) => number} */
const abgr = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
/** @type {(one: RGB, other: RGB, share: number) => RGB} */
const blend = (one, other, share) => one.map((value, k) => Math.round(value + (other[k] - value) * share));
/** @type {(color: RGB) => boolean} */
const isLight = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b > 150;

const Painter = (() => {
  const plot = /** @type {HTMLCanvasElement} */ (document.getElementById("plot"));
  const over = /** @type {HTMLCanvasElement} */ (document.getElementById("over"));
  const pen = /** @type {CanvasRenderingContext2D} */ (plot.getContext("2d", { alpha: false }));
  const top = /** @type {CanvasRenderingContext2D} */ (over.getContext("2d"));
  const R = Model.rectangles;
  /** @type {Theme} */
  let theme;
  /** @type {Layout} */
  let layout;
  /** @type {Pixels} */
  let nodesImage;
  /** @type {Pixels} */
  let useImage;
  /** @type {Pixels} */
  let queueImage;
  /** @type {Pixels | null} */
  let wholeImage = null;

  /** @param {boolean} printing */
  const readTheme = (printing) => {
    const css = getComputedStyle(document.documentElement);
    /** @param {string} name */
    const get = (name) => css.getPropertyValue(name).trim();
    /** @param {string} hex */
    const long = (hex) => (hex.length === 4 ? `#${[...hex.slice(1)].map((c) => c + c).join("")}` : hex);
    const dark = !printing && matchMedia("(prefers-color-scheme: dark)").matches;
    /** @type {any} */
    const colors = printing
      ? { paper: "#ffffff", ink: "#000000", soft: "#444444", line: "#bbbbbb", idle: "#f1f2f4", mark: "#000000", chosen: "#c2007a" }
      : Object.fromEntries(["paper", "ink", "soft", "line", "idle", "mark", "chosen"].map((name) => [name, long(get(`--${name}`))]));
    theme = { dark, ...colors };
    theme.idleParts = parts(theme.idle);
    const held = blend(theme.idleParts, parts(STATE_COLORS.held), 0.5);
    theme.held = abgr(held);
    theme.heldLine = abgr(blend(held, theme.idleParts, 0.55));
    theme.down = abgr(blend(theme.idleParts, parts(theme.soft), 0.25));
    theme.downLine = abgr(blend(theme.idleParts, parts(theme.soft), 0.75));
    theme.faint = blend(theme.idleParts, parts(theme.soft), 0.14);
    wholeImage = null;
    return theme;
  };

  /** @param {boolean} printing */
  const measure = (printing) => {
    const box = /** @type {HTMLElement} */ (plot.parentElement).getBoundingClientRect();
    const dpr = printing ? 2 : Math.min(2, window.devicePixelRatio || 1);
    const width = Math.max(200, Math.floor(box.width)), height = Math.max(220, Math.floor(box.height));
    const narrow = width < 520;
    let left = narrow ? 36 : 46;
    if (Model.hosts) {
      pen.font = "11px system-ui, sans-serif";
      const widest = Model.hosts.names.reduce((most, name) => Math.max(most, pen.measureText(name).width), 0);
      left = Math.min(narrow ? 70 : 120, Math.max(left, Math.ceil(widest) + 12));
    }
    const w = width - left - 6;
    const overview = 26, title = 17, axis = 34, gap = 6;
    const strips = Math.max(34, Math.min(78, Math.round(height * 0.115)));
    const queue = Math.round(strips * 0.7);
    const nodes = height - axis - 2 * title - strips - queue - overview - 2 * gap - 4;
    const useTop = nodes + axis + title, queueTop = useTop + strips + title;
    layout = {
      width, height, dpr, left, w, narrow, nodes, axis: nodes, use: useTop, strips, queue: queueTop, queueHeight: queue,
      overview: queueTop + queue + 2 * gap, overviewHeight: overview - 4,
    };
    for (const canvas of [plot, over]) {
      canvas.width = Math.round(width * dpr);
      canvas.height = Math.round(height * dpr);
    }
    /** @type {(h: number) => Pixels} */
    const image = (h) => {
      const made = new ImageData(Math.max(1, Math.round(w * dpr)), Math.max(1, Math.round(h * dpr)));
      return { made, buffer: new Uint32Array(made.data.buffer), w: made.width, h: made.height };
    };
    nodesImage = image(nodes);
    useImage = image(strips);
    queueImage = image(queue);
    wholeImage = null;
    return layout;
  };

  // Nodes over time.

  /** @type {(view: View, fills: Uint32Array, marked: Uint8Array | null) => [number, number, number, number, number][]} */
  const drawNodes = (view, fills, marked) => {
    const { buffer, w: W, h: H, made } = nodesImage;
    const { dpr } = layout;
    buffer.fill(abgr(theme.idleParts));
    const kx = W / (view.to - view.from), ky = H / (view.top - view.bottom);
    const gapX = 4 * dpr, gapY = 5 * dpr, edge = Math.max(1, Math.round(1.6 * dpr));
    const hatch = Math.max(3, Math.round(4 * dpr)), line = Math.max(1, Math.round(1.2 * dpr));
    const ink = abgr(parts(theme.mark));
    /** @type {[number, number, number, number, number][]} */
    const names = [];
    const [a, b] = Model.overlapping(view.from, view.to);
    for (let k = a; k < b; k++) {
      if (R.end[k] <= view.from || R.high[k] <= view.bottom || R.low[k] >= view.top) continue;
      let x0 = Math.ceil((R.start[k] - view.from) * kx - 0.5), x1 = Math.ceil((R.end[k] - view.from) * kx - 0.5);
      let y0 = Math.ceil((view.top - R.high[k]) * ky - 0.5), y1 = Math.ceil((view.top - R.low[k]) * ky - 0.5);
      const job = R.job[k];
      const mark = marked !== null && job >= 0 && marked[job] === 1;
      const dim = marked !== null && !mark;
      if (mark) { // what was searched for is always seen
        if (x1 - x0 < 2) x1 = x0 + 2;
        if (y1 - y0 < 2) y1 = y0 + 2;
      } else if (x1 <= x0 || y1 <= y0) continue;
      const endsHere = x1 <= W;
      if (x1 - x0 > gapX && endsHere) x1 -= 1;
      if (y1 - y0 > gapY) y1 -= 1;
      const edgeFrom = R.preempted[k] && endsHere && !dim ? Math.max(x0, x1 - edge) : Infinity;
      if (x0 < 0) x0 = 0;
      if (y0 < 0) y0 = 0;
      if (x1 > W) x1 = W;
      if (y1 > H) y1 = H;
      const wide = x1 - x0;
      if (wide <= 0 || y1 <= y0) continue;
      const kind = R.kind[k];
      let color = theme.held, second = theme.heldLine;
      if (kind === Model.RUN) color = fills[job];
      else if (kind === Model.WARNED) { color = fills[job]; second = dim ? color : ink; }
      else if (kind === Model.DOWN) { color = theme.down; second = theme.downLine; }
      for (let y = y0; y < y1; y++) {
        const row = y * W;
        if (wide > 8) buffer.fill(color, row + x0, row + x1);
        else for (let x = row + x0; x < row + x1; x++) buffer[x] = color;
        if (kind !== Model.RUN) for (let x = x0 + ((hatch - ((x0 + y) % hatch)) % hatch); x < x1; x += hatch) for (let i = 0; i < line && x + i < x1; i++) buffer[row + x + i] = second;
        if (edgeFrom < x1) buffer.fill(ink, row + edgeFrom, row + x1);
      }
      if (!dim && Model.named[k] && wide > 30 * dpr && y1 - y0 > 11 * dpr) names.push([job, x0, x1, y0, y1]);
    }
    pen.putImageData(made, Math.round(layout.left * dpr), 0);
    return names;
  };

  /** @type {(names: [number, number, number, number, number][], fills: Uint32Array) => void} */
  const drawNames = (names, fills) => {
    const { left, dpr } = layout;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [job, x0, x1, y0, y1] of names.slice(0, 600)) {
      const text = String(Model.jobs.id[job]);
      if ((x1 - x0) / dpr < 6.4 * text.length + 6) continue;
      const c = fills[job];
      pen.fillStyle = isLight([c & 255, (c >> 8) & 255, (c >> 16) & 255]) ? "#111" : "#fff";
      pen.fillText(text, left + (x0 + x1) / 2 / dpr, (y0 + y1) / 2 / dpr + 0.5);
    }
  };

  // Strips: means over each column of pixels.

  /** @type {(steps: Steps, level: number, from: number, to: number, columns: number) => Float64Array} */
  const means = (steps, level, from, to, columns) => {
    const { time, levels, areas } = steps;
    const values = levels[level], area = areas[level];
    const out = new Float64Array(columns);
    const width = (to - from) / columns;
    let place = steps.place(from);
    /** @param {number} t */
    const integral = (t) => {
      while (place + 1 < time.length && time[place + 1] <= t) place++;
      return t < time[0] ? 0 : area[place] + values[place] * (Math.min(t, Model.length) - time[place]);
    };
    let before = integral(Math.max(from, 0));
    for (let x = 0; x < columns; x++) {
      const t = Math.max(0, from + (x + 1) * width);
      const now = integral(t);
      out[x] = (now - before) / width;
      before = now;
    }
    return out;
  };

  /** @type {(image: Pixels, from: number, to: number, x: number, y: number) => void} */
  const drawUse = ({ buffer, w: W, h: H, made }, from, to, x, y) => {
    buffer.fill(abgr(theme.idleParts));
    const floor = new Float64Array(W);
    Model.use.names.forEach((name, level) => {
      if (name === "idle") return;
      const color = abgr(parts(STATE_COLORS[name] || theme.soft));
      const share = means(Model.use, level, from, to, W);
      for (let c = 0; c < W; c++) {
        const next = floor[c] + share[c] / Model.nodes;
        for (let r = Math.round(H * (1 - next)), stop = Math.round(H * (1 - floor[c])); r < stop; r++) buffer[Math.max(0, r) * W + c] = color;
        floor[c] = next;
      }
    });
    pen.putImageData(made, x, y);
  };

  const most = Model.queue.levels[0].reduce((best, n) => Math.max(best, n), 1);
  /** @param {View} view */
  const drawQueue = (view) => {
    const { buffer, w: W, h: H, made } = queueImage;
    buffer.fill(abgr(parts(theme.paper)));
    const jobs = means(Model.queue, 0, view.from, view.to, W);
    const color = abgr(blend(parts(theme.paper), parts(theme.ink), 0.45));
    for (let c = 0; c < W; c++) for (let r = Math.round(H * (1 - jobs[c] / most)); r < H; r++) buffer[r * W + c] = color;
    pen.putImageData(made, Math.round(layout.left * layout.dpr), Math.round(layout.queue * layout.dpr));
  };

  // Names of nodes, at least a line of text apart, and lines between nodes where there is room for them.
  /** @type {(view: View, y: (n: number) => number) => void} */
  const drawHosts = (view, y) => {
    const { names, first } = /** @type {Hosts} */ (Model.hosts);
    const { left, w, nodes } = layout;
    let free = Infinity;
    for (let h = 0; h < names.length; h++) {
      if (first[h + 1] <= view.bottom || first[h] >= view.top) continue;
      const low = Math.min(nodes, y(first[h])), high = Math.max(0, y(first[h + 1]));
      const middle = Math.min(nodes - 6, Math.max(7, (low + high) / 2));
      if (low - high >= 4 && low < nodes) {
        pen.fillStyle = theme.line;
        pen.fillRect(left, Math.round(low) - 1, w, 1);
      }
      if (middle > free - 12) continue;
      pen.fillStyle = theme.soft;
      pen.fillText(names[h], left - 6, middle, left - 8);
      free = middle;
    }
  };

  // Axes and words.

  /** @param {View} view */
  const drawAxes = (view) => {
    const { left, w, nodes, axis, narrow } = layout;
    /** @param {number} t */
    const x = (t) => left + ((t - view.from) / (view.to - view.from)) * w;
    /** @param {number} n */
    const y = (n) => ((view.top - n) / (view.top - view.bottom)) * nodes;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    // Node numbers.
    const step = niceStep((view.top - view.bottom) / Math.max(2, nodes / 46));
    pen.textAlign = "right";
    pen.fillStyle = theme.soft;
    for (let n = Math.ceil(view.bottom / step) * step; n <= view.top && !Model.hosts; n += step) {
      const at = Math.min(nodes - 6, Math.max(7, y(n)));
      pen.fillText(String(n), left - 6, at);
      pen.fillRect(left - 4, Math.min(nodes - 1, Math.round(y(n))), 4, 1);
    }
    if (Model.hosts) drawHosts(view, y);
    // Time.
    const how = Time.ticks(view.from, view.to, w);
    pen.textAlign = "center";
    for (const { t, text } of how.ticks) {
      const at = Math.round(x(t));
      pen.fillStyle = theme.line;
      pen.globalAlpha = 0.45;
      pen.fillRect(at, 0, 1, nodes);
      pen.fillRect(at, layout.use, 1, layout.strips);
      pen.fillRect(at, layout.queue, 1, layout.queueHeight);
      pen.globalAlpha = 1;
      pen.fillStyle = theme.soft;
      pen.fillRect(at, axis, 1, 4);
      if (at - left > 12 && left + w - at > 10) pen.fillText(text, at, axis + 11);
    }
    pen.textAlign = "left";
    pen.fillStyle = theme.ink;
    const spans = Time.spans(view.from, view.to, how);
    spans.forEach(({ t, text }, k) => {
      const at = Math.max(left, x(t)), next = k + 1 < spans.length ? x(spans[k + 1].t) : left + w;
      if (t > view.from) pen.fillRect(Math.round(at), axis, 1, 29);
      if (next - at > pen.measureText(text).width + 8) pen.fillText(text, at + 4, axis + 24);
    });
    pen.fillStyle = theme.soft;
    pen.fillRect(left, axis, w, 1);
    // The strips' names and scales.
    pen.fillStyle = theme.ink;
    pen.fillText(Model.inUnit(narrow ? "Use of the nodes" : "Use of the nodes (% of the machine)"), left, layout.use - 8);
    pen.fillText("Waiting jobs", left, layout.queue - 8);
    pen.textAlign = "right";
    pen.fillStyle = theme.soft;
    pen.fillText("100", left - 6, layout.use + 6);
    pen.fillText("0", left - 6, layout.use + layout.strips - 5);
    pen.fillText(String(most), left - 6, layout.queue + 6);
    pen.fillText("0", left - 6, layout.queue + layout.queueHeight - 5);
    pen.fillRect(left, layout.queue + layout.queueHeight, w, 1);
    drawUseLegend();
  };

  const usesThere = Model.use.names.filter((_, level) => Model.use.levels[level].some((n) => n > 0)).reverse();
  const drawUseLegend = () => {
    const { left, w, narrow } = layout;
    if (narrow) return;
    let x = left + w;
    pen.textAlign = "right";
    for (const name of usesThere) {
      pen.fillStyle = theme.soft;
      pen.fillText(name, x, layout.use - 8);
      x -= pen.measureText(name).width + 14;
      pen.fillStyle = name === "idle" ? theme.idle : STATE_COLORS[name] || theme.soft;
      pen.fillRect(x, layout.use - 13, 10, 10);
      x -= 9;
    }
  };

  /** @type {(least: number) => number} */
  const niceStep = (least) => {
    const power = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, least))));
    if (Model.nodes >= 512) return power;
    const ten = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= least) || 10 * ten;
  };

  // All of the time in small, and the window in it.
  /** @param {View} view */
  const drawOverview = (view) => {
    const { left, w, dpr, overview, overviewHeight: h } = layout;
    if (!wholeImage) {
      const made = new ImageData(Math.max(1, Math.round(w * dpr)), Math.max(1, Math.round(h * dpr)));
      wholeImage = { made, buffer: new Uint32Array(made.data.buffer), w: made.width, h: made.height };
      drawUse(wholeImage, 0, Model.length, Math.round(left * dpr), Math.round(overview * dpr));
    } else pen.putImageData(wholeImage.made, Math.round(left * dpr), Math.round(overview * dpr));
    const a = left + (w * view.from) / Model.length, b = left + (w * view.to) / Model.length;
    pen.fillStyle = theme.paper;
    pen.globalAlpha = 0.62;
    pen.fillRect(left, overview, a - left, h);
    pen.fillRect(b, overview, left + w - b, h);
    pen.globalAlpha = 1;
    pen.strokeStyle = theme.mark;
    pen.lineWidth = 1.5;
    pen.strokeRect(Math.max(left, a) + 0.5, overview + 0.5, Math.max(3, b - a - 1), h - 1);
  };

  /** @type {(view: View, fills: Uint32Array, marked: Uint8Array | null) => void} */
  const draw = (view, fills, marked) => {
    const { dpr } = layout;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = theme.paper;
    pen.fillRect(0, 0, plot.width, plot.height);
    const names = drawNodes(view, fills, marked);
    drawUse(useImage, view.from, view.to, Math.round(layout.left * dpr), Math.round(layout.use * dpr));
    drawQueue(view);
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    drawNames(names, fills);
    drawAxes(view);
    drawOverview(view);
  };

  // What lies over the picture: outlines of the jobs under the pointer and chosen, a cross line, a box.
  /** @type {(view: View, outlined: number[], cross: number | null, box: Box | null) => void} */
  const drawOver = (view, outlined, cross, box) => {
    const { dpr, left, w, nodes } = layout;
    top.setTransform(dpr, 0, 0, dpr, 0, 0);
    top.clearRect(0, 0, layout.width, layout.height);
    if (cross !== null) {
      top.fillStyle = theme.soft;
      top.fillRect(Math.round(cross), 0, 1, layout.queue + layout.queueHeight);
    }
    if (box) {
      top.fillStyle = theme.mark;
      top.globalAlpha = 0.15;
      top.fillRect(box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0);
      top.globalAlpha = 1;
      top.strokeStyle = theme.mark;
      top.strokeRect(box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0);
    }
    top.save();
    top.beginPath();
    top.rect(left, 0, w, nodes);
    top.clip();
    const kx = w / (view.to - view.from), ky = nodes / (view.top - view.bottom);
    for (const job of outlined) {
      top.beginPath();
      for (const k of Model.ofJob.get(job) || []) {
        if (R.end[k] < view.from || R.start[k] > view.to) continue;
        const x = left + (R.start[k] - view.from) * kx, y = (view.top - R.high[k]) * ky;
        top.rect(x, y, Math.max(2, (R.end[k] - R.start[k]) * kx), Math.max(2, (R.high[k] - R.low[k]) * ky));
      }
      top.strokeStyle = theme.paper;
      top.lineWidth = 3.5;
      top.stroke();
      // Not the colour of an edge where a run was preempted.
      top.strokeStyle = theme.chosen;
      top.lineWidth = 2;
      top.stroke();
    }
    top.restore();
  };

  return { readTheme, measure, draw, drawOver, get layout() { return layout; }, get theme() { return theme; } };
})();
