// Stories: what happened to a job, in a few facts for the pointer and event by event for the panel.

const Story = (() => {
  const { jobs, log, wait } = Model;
  /** @type {Record<string, string>} */
  const REASONS = {
    "in order": "in its turn", backfilled: "backfilled", tenant: "tenant on idle reserved nodes", arrival: "on arrival",
    "runs already": "before the replay began", "returned by #": "on nodes that came back from job #", "": "in its turn",
  };
  /** @type {(n: number, one: string, many: string) => string} */
  const count = (n, one, many) => `${n.toLocaleString("en")} ${Model.inUnit(n === 1 ? one : many)}`;
  /** @type {(cause: number, other: number | string) => string} */
  const reason = (cause, other) => {
    const text = log.causes[cause] ?? "";
    return Model.inUnit(REASONS[text] ?? text).replace("#", other ? String(other) : "#");
  };
  /** @param {number} s */
  const nodeHours = (s) => `${(s / 3600).toLocaleString("en", { maximumFractionDigits: s < 36000 ? 1 : 0 })} ${Model.inUnit("node-hours")}`;

  // The first start of a job tells why.
  /** @param {number} k */
  const firstStart = (k) => {
    for (let p = log.first[k]; p < log.first[k + 1]; p++) if (log.events[log.event[p]] === "start") return p;
    return -1;
  };
  /** @type {(k: number, time: number) => number} */
  const sizeAt = (k, time) => {
    let nodes = 0;
    for (let p = log.first[k]; p < log.first[k + 1] && log.time[p] <= time; p++) {
      const event = log.events[log.event[p]];
      if (!["notice", "reserve", "time-out", "wait", "gather", "submit", "hold", "requeue", "withdraw"].includes(event)) nodes = log.after[p];
    }
    return nodes;
  };

  /** @param {number} k */
  const facts = (k) => {
    /** @type {[string, string][]} */
    const out = [];
    /** @type {(name: string, text: string) => unknown} */
    const say = (name, text) => text && out.push([name, text]);
    say("project", jobs.projects[jobs.project[k]]);
    say("user", jobs.users[jobs.user[k]]);
    say("submitted", Time.stamp(jobs.submit[k]));
    say("eligible", jobs.eligible && jobs.eligible[k] > jobs.submit[k] ? Time.stamp(jobs.eligible[k]) : "");
    say("waited", Time.duration(wait[k]));
    const p = firstStart(k), status = jobs.statuses[jobs.status[k]];
    if (status === "withdrawn") say("withdrawn", `${Time.stamp(jobs.end[k])}, before it started`);
    else {
      say("started", `${Time.stamp(jobs.start[k])}${p >= 0 ? `, ${reason(log.cause[p], log.other[p])}` : ""}`);
      const how = status === "killed" ? ", at its walltime" : status === "cancelled" ? ", withdrawn" : "";
      say("ended", `${Time.stamp(jobs.end[k])}${how}`);
    }
    say("nodes", p >= 0 && log.after[p] !== jobs.nodes[k] ? `${jobs.nodes[k]}, started with ${log.after[p]}` : String(jobs.nodes[k]));
    for (const [name, text] of Object.entries(Model.data.places?.[k] ?? {})) say(name, text);
    say("runtime", `${Time.duration(jobs.runtime[k])} of ${Time.duration(jobs.walltime[k])} asked for`);
    if (status !== "withdrawn") say("slowdown", `${(jobs.slowdown[k] / 100).toLocaleString("en", { maximumFractionDigits: jobs.slowdown[k] < 1000 ? 2 : 0 })} (bounded)`);
    const troubles = [];
    if (jobs.preemptions[k]) troubles.push(`preempted ${count(jobs.preemptions[k], "time", "times")}`);
    if (jobs.shrinks[k]) troubles.push(`shrunk ${count(jobs.shrinks[k], "time", "times")}`);
    say("disturbed", troubles.join(", "));
    say("lost", jobs.lost[k] ? nodeHours(jobs.lost[k]) : "");
    return out;
  };

  // One line of the log in words.
  /** @param {number} p */
  const line = (p) => {
    const event = log.events[log.event[p]], before = log.before[p], after = log.after[p];
    const cause = (log.causes[log.cause[p]] || "").replace("#", `job ${log.other[p]}`);
    const why = cause ? `: ${cause}` : "";
    switch (event) {
      case "submit": return cause === "eligible" ? "is eligible" : `submitted${why}`;
      case "hold": return `submitted, and held${why}`;
      case "notice": return "gave notice";
      case "reserve": return `${count(after, "node is", "nodes are")} reserved for it`;
      case "time-out": return "reservation timed out";
      case "wait": return `must wait${why}`;
      case "gather": return `has ${count(after, "node", "nodes")}, waits for nodes under warning`;
      case "start": return `starts on ${count(after, "node", "nodes")}: ${reason(log.cause[p], log.other[p])}`;
      case "shrink": return `shrinks from ${before} to ${count(after, "node", "nodes")}${why}`;
      case "expand": return `expands from ${before} to ${count(after, "node", "nodes")}${why}`;
      case "warn": return `is warned${why}`;
      case "preempt": return `is preempted, gives up ${count(before, "node", "nodes")}${why}`;
      case "requeue": return "waits again";
      case "expire": return "reservation over, job not done";
      case "cancel": return `is withdrawn${why}`;
      case "withdraw": return "its notice is withdrawn";
      case "complete": return "is complete";
      case "kill": return "reaches its walltime";
      default: return `${event}${why}`;
    }
  };

  /** @type {(name: string, attributes?: Record<string, string> | null, ...children: (Node | string)[]) => HTMLElement} */
  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  /** @param {[string, string][]} rows */
  const table = (rows) => {
    const list = element("dl", { class: "facts" });
    for (const [name, text] of rows) list.append(element("dt", null, Model.inUnit(name)), element("dd", null, text));
    return list;
  };
  /** @type {(k: number, color: string) => HTMLElement} */
  const head = (k, color) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = color;
    return element("h2", null, swatch, `Job ${jobs.id[k]}, ${jobs.types[jobs.type[k]]}`);
  };

  // Why a job waited, as `holdfast explain` explains it.
  /** @type {(k: number) => HTMLElement[]} */
  const reasons = (k) => {
    const sentences = Model.data.reasons[String(k)];
    if (!sentences) {
      if (wait[k] < 60) return [];
      return [element("p", { class: "hint" }, "Why it waited: ", element("code", null, `holdfast explain DIR ${jobs.id[k]}`))];
    }
    /** @type {HTMLElement[]} */
    const out = [];
    for (const [spent, text] of sentences) {
      if (!spent && text.endsWith(":")) out.push(element("h3", null, text.slice(0, -1)), element("dl", { class: "reasons" }));
      else out[out.length - 1].append(element("dt", null, spent), element("dd", null, text));
    }
    return out;
  };

  /** @type {(k: number, color: string, extra: [string, string] | null) => HTMLElement[]} */
  const tip = (k, color, extra) => [head(k, color), table([...(extra ? [extra] : []), ...facts(k)])];

  /** @type {(k: number, color: string, act: (what: string, k?: number) => void) => HTMLElement[]} */
  const panel = (k, color, act) => {
    const close = element("button", { type: "button", "aria-label": "Let this job go", title: "Escape" }, "\u00d7");
    close.addEventListener("click", () => act("close"));
    const top = element("header", null, head(k, color), close);
    const actions = element("div", { class: "actions" });
    for (const [what, text] of [["job", "Zoom to it"], ["before", "Before"], ["after", "Next"]]) {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => act(what));
      actions.append(button);
    }
    const events = element("ol");
    let day = "";
    for (let p = log.first[k]; p < log.first[k + 1]; p++) {
      const today = Time.day(log.time[p], false);
      const when = element("time", null, `${today === day ? "" : `${today} `}${Time.clock(log.time[p], true)}`);
      day = today;
      const text = element("span");
      const words = line(p);
      const other = log.other[p];
      if (other && Model.byId.has(other)) {
        const [left, right] = words.split(new RegExp(`job ${String(other).replace("+", "\\+")}\\b`));
        const link = element("a", { href: `#job=${other}` }, `job ${other}`);
        link.addEventListener("click", (event) => { event.preventDefault(); act("choose", Model.byId.get(other)); });
        text.append(left, link, right ?? "");
      } else text.append(words);
      events.append(element("li", null, when, text));
    }
    return [top, table(facts(k)), actions, ...reasons(k), element("h3", null, "What happened"), events];
  };

  /** A rectangle without a job: nodes that are down, or kept by an advance reservation.
   * @param {number} r */
  const place = (r) => {
    const R = Model.rectangles, nodes = R.high[r] - R.low[r];
    const numbers = nodes > 1 ? `${R.low[r]} to ${R.high[r] - 1}` : String(R.low[r]);
    return [
      element("h2", null, R.kinds[R.kind[r]]),
      table([["from", Time.stamp(R.start[r])], ["to", Time.stamp(R.end[r])], ["nodes", `${count(nodes, "node", "nodes")}: ${numbers}`]]),
    ];
  };

  return { tip, panel, place, table, element, count, sizeAt };
})();
