// The model: columns of numbers as typed arrays, and questions to them. Nothing here knows of the screen.

const Model = (() => {
  const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent || "");

  // What sizes count: a log may count processors where texts are written for nodes.
  /** @param {string} text */
  const inUnit = (text) => (data.unit === "nodes" ? text : text.replace(/\bnode(?=s?\b)/g, "processor"));

  /** @param {number[]} steps */
  const sums = (steps) => {
    const out = new Float64Array(steps.length);
    let at = 0;
    for (let k = 0; k < steps.length; k++) out[k] = at += steps[k];
    return out;
  };

  /** @type {any} */
  const columns = { count: data.jobs.id.length, types: data.jobs.types, projects: data.jobs.projects, users: data.jobs.users, statuses: data.jobs.statuses };
  for (const [name, column] of Object.entries(data.jobs)) if (!(name in columns)) columns[name] = Float64Array.from(column);
  columns.id = data.jobs.id;
  /** @type {Jobs} */
  const jobs = columns;
  // The id of a task of an array is a text, "287_1": as a number it has more digits than a script keeps.
  const byId = new Map(jobs.id.map((id, k) => [id, k]));
  /** @param {string} word */
  const find = (word) => byId.get(byId.has(word) ? word : Number(word));

  const { events, causes, event, before, after, cause, other } = data.log;
  /** @type {Log} */
  const log = { events, causes, event, before, after, cause, other, time: sums(data.log.d_time), first: new Uint32Array(jobs.count + 1) };
  data.log.count.forEach((/** @type {number} */ n, /** @type {number} */ k) => { log.first[k + 1] = log.first[k] + n; });

  // Rectangles: neighbouring nodes that a job or an outage has for some time, in the order in which they begin.
  const raw = data.rectangles;
  const size = raw.low.length;
  const kinds = raw.kinds.length;
  const start = sums(raw.d_start);
  const end = new Float64Array(size);
  const reach = new Float64Array(size); // the latest end up to here: where a search for what overlaps may begin
  const low = Int32Array.from(raw.low);
  const high = new Int32Array(size);
  const job = Int32Array.from(raw.job);
  const kind = Uint8Array.from(raw.kind, (k) => k % kinds);
  const preempted = Uint8Array.from(raw.kind, (k) => +(k >= kinds));
  for (let k = 0; k < size; k++) {
    end[k] = start[k] + raw.length[k];
    high[k] = low[k] + raw.size[k];
    reach[k] = Math.max(k ? reach[k - 1] : -Infinity, end[k]);
  }
  const rectangles = { size, kinds: raw.kinds, start, end, low, high, job, kind, preempted };
  const [RUN, WARNED, HELD, DOWN] = raw.kinds.keys();

  /** The first place whose value is greater.
   * @type {(values: Float64Array, value: number) => number} */
  const lower = (values, value) => {
    let a = 0, b = values.length;
    while (a < b) { const m = (a + b) >> 1; if (values[m] > value) b = m; else a = m + 1; }
    return a;
  };
  /** @type {(from: number, to: number) => [number, number]} */
  const overlapping = (from, to) => [lower(reach, from), lower(start, to)];

  // Rectangles of each job, and the largest of each, which may carry its name.
  /** @type {Map<number, number[]>} */
  const ofJob = new Map();
  for (let k = 0; k < size; k++) {
    if (job[k] < 0) continue;
    const own = ofJob.get(job[k]);
    if (own) own.push(k); else ofJob.set(job[k], [k]);
  }
  const named = new Uint8Array(size);
  for (const own of ofJob.values()) {
    const best = new Map();
    for (const k of own) {
      if (kind[k] !== RUN) continue;
      const key = start[k];
      const before = best.get(key);
      if (before === undefined || high[k] - low[k] > high[before] - low[before]) best.set(key, k);
    }
    for (const k of best.values()) named[k] = 1;
  }

  // Where is what: rectangles by slices of time, so that a pointer finds its job at once.
  const length = Math.max(1, data.length);
  const slices = Math.max(1, Math.min(4096, size >> 3));
  /** @param {number} time */
  const slice = (time) => Math.max(0, Math.min(slices - 1, Math.floor((time / length) * slices)));
  const counts = new Uint32Array(slices + 1);
  for (let k = 0; k < size; k++) for (let s = slice(start[k]); s <= slice(end[k]); s++) counts[s + 1]++;
  for (let s = 0; s < slices; s++) counts[s + 1] += counts[s];
  const members = new Uint32Array(counts[slices]);
  const fill = counts.slice();
  for (let k = 0; k < size; k++) for (let s = slice(start[k]); s <= slice(end[k]); s++) members[fill[s]++] = k;
  /** The rectangle at a place, -1 if there is none.
   * @type {(time: number, node: number) => number} */
  const at = (time, node) => {
    const s = slice(time);
    for (let place = counts[s]; place < counts[s + 1]; place++) {
      const k = members[place];
      if (start[k] <= time && time < end[k] && low[k] <= node && node < high[k]) return k;
    }
    return -1;
  };

  // Step functions with their integrals, so that the mean over any time is two look-ups.
  /** @type {(part: RawSteps) => Steps} */
  const steps = (part) => {
    const time = sums(part.d_time);
    const levels = part.levels.map((level) => Float64Array.from(level));
    const areas = levels.map((level) => {
      const area = new Float64Array(level.length + 1);
      for (let k = 0; k < level.length; k++) area[k + 1] = area[k] + level[k] * ((k + 1 < time.length ? time[k + 1] : length) - time[k]);
      return area;
    });
    /** @param {number} when */
    const place = (when) => Math.max(0, lower(time, when) - 1);
    return { time, levels, areas, place, names: part.names };
  };
  const use = steps(data.use);
  const queue = steps(data.queue);

  const wait = Float64Array.from(jobs.start, (s, k) => Math.max(0, s - (jobs.eligible ?? jobs.submit)[k]));
  const START = log.events.indexOf("start");
  // Why each job started: the cause of its first start.
  const why = new Int32Array(jobs.count).fill(-1);
  for (let k = 0; k < jobs.count; k++)
    for (let p = log.first[k]; p < log.first[k + 1]; p++)
      if (log.event[p] === START) { why[k] = log.cause[p]; break; }

  // Jobs that a query means: words, all of which must hold.
  /** @type {(text: string) => number[] | null} */
  const search = (text) => {
    const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return null;
    /** @type {Record<string, [string[], Float64Array]>} */
    const names = { project: [jobs.projects, jobs.project], user: [jobs.users, jobs.user], type: [jobs.types, jobs.type] };
    /** @type {(field: string, word: string, exact: boolean) => (k: number) => boolean} */
    const of = (field, word, exact) => {
      const [texts, column] = names[field];
      const hit = texts.map((name) => (exact ? name.toLowerCase() === word : name.toLowerCase().includes(word)));
      return (k) => hit[column[k]];
    };
    /** @type {((k: number) => boolean)[]} */
    const tests = words.map((word) => {
      const [, field, value] = /^(id|job|project|user|type):(.*)$/.exec(word) || [];
      if (field === "id" || field === "job") return (k) => String(jobs.id[k]) === value;
      if (field) {
        const exact = names[field][0].some((name) => name.toLowerCase() === value);
        return of(field, value, exact);
      }
      if (/^\d+([_+]\d+)?$/.test(word)) {
        const found = find(word);
        if (found !== undefined) return (k) => k === found;
        const either = ["project", "user"].map((name) => of(name, word, true));
        return (k) => either.some((test) => test(k));
      }
      const any = ["project", "user", "type"].map((name) => of(name, word, false));
      return (k) => any.some((test) => test(k));
    });
    const hits = [];
    for (let k = 0; k < jobs.count; k++) if (tests.every((test) => test(k))) hits.push(k);
    return hits;
  };

  // Nodes with names: each has the rows from first[h] to before first[h + 1].
  /** @type {Hosts | null} */
  const hosts = data.hosts ? { names: data.hosts.names, first: Float64Array.from(data.hosts.first) } : null;
  /** Name of the node of a row.
   * @param {number} row */
  const host = (row) => (hosts ? hosts.names[Math.max(0, Math.min(hosts.names.length - 1, lower(hosts.first, row) - 1))] : String(row));

  return { data, length, hosts, host, nodes: data.nodes, inUnit, jobs, byId, find, log, rectangles, ofJob, named, overlapping, at, use, queue, wait, why, search, RUN, WARNED, HELD, DOWN };
})();
