// Colours: the ways to distinguish jobs, and the class of each job in each.

const Colors = (() => {
  const { jobs } = Model;
  const OTHERS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#882255", "#999933", "#332288", "#B8860B"];
  const RAMP = { light: ["#cfe1f2", "#93c3df", "#4b97c9", "#1763a6", "#08306b", "#2b0a3d"], dark: ["#27435f", "#2f6394", "#4790cc", "#8cc0ea", "#cfe6fa", "#fff3c9"] };
  const GREY = "#8a8f96";
  /** @type {(title: string, values: Float64Array, bounds: number[], names: string[]) => Mode} */
  const binned = (title, values, bounds, names) => ({
    title, classes: names.map((name) => ({ name })), of: Int32Array.from(values, (v) => bounds.findIndex((b) => v <= b)), ramp: true,
  });
  /** @type {(title: string, texts: string[], column: Float64Array) => Mode} */
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
  const REASONS = [["in order", "in order"], ["backfilled", "backfilled"], ["tenant", "tenant"], ["arrival", "on arrival"], ["returned by #", Model.inUnit("returned nodes")]];
  // Starts for which plug-ins or outages have reasons of their own.
  const known = REASONS.map(([cause]) => cause);
  const reasonOf = Array.from(Model.why, (c) => (c < 0 ? "never started" : Model.log.causes[c] || "in order"));
  const more = [...new Set(reasonOf)].filter((cause) => !known.includes(cause)).sort();
  const causes = [...known, ...more];
  /** @type {Record<string, Mode>} */
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
      of: Int32Array.from(reasonOf, (cause) => causes.indexOf(cause)),
      classes: [
        ...REASONS.map(([, name], k) => ({ name, color: OTHERS[[0, 5, 1, 3, 2][k]] })),
        ...more.map((name, k) => ({ name, color: OTHERS[[4, 6, 7, 8, 9][k]] || GREY })),
      ],
    },
  };
  if (jobs.projects.length < 2) delete modes.project;
  if (jobs.users.length < 2) delete modes.user;
  /** @type {(mode: Mode, c: number) => string} */
  const colorOf = (mode, c) => (mode.ramp ? RAMP[Painter.theme.dark ? "dark" : "light"][c] : mode.classes[c].color || GREY);
  return { modes, colorOf, GREY };
})();
