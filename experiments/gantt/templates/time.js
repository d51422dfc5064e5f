// Time in words: seconds of the page as dates and clocks (or days since the first submit), durations, ticks of an axis.

const Time = (() => {
  /** @type {Base} */
  const { base, dates } = Model.data;
  const DAY = 86400;
  /** @param {number} n */
  const two = (n) => String(n).padStart(2, "0");
  const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  /** @param {number} t */
  const date = (t) => new Date((base + t) * 1000);
  /** @param {number} t */
  const inDay = (t) => ((((base + t) % DAY) + DAY) % DAY);
  /** @type {(t: number, seconds: boolean) => string} */
  const clock = (t, seconds) => {
    const s = Math.floor(inDay(t));
    return `${two(Math.floor(s / 3600))}:${two(Math.floor(s / 60) % 60)}${seconds ? `:${two(s % 60)}` : ""}`;
  };
  /** @type {(t: number, year: boolean) => string} */
  const day = (t, year) => {
    if (!dates) return `day ${Math.floor((base + t) / DAY)}`;
    const d = date(t);
    return `${days[d.getUTCDay()]} ${d.getUTCDate()} ${months[d.getUTCMonth()]}${year ? ` ${d.getUTCFullYear()}` : ""}`;
  };
  /** @param {number} t */
  const stamp = (t) => `${day(t, true)} ${clock(t, true)}`;
  /** @param {number} seconds */
  const duration = (seconds) => {
    const s = Math.round(seconds);
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${s % 60} s` : ""}`;
    const m = Math.round(s / 60);
    if (s < 2 * DAY) return `${Math.floor(m / 60)} h${m % 60 ? ` ${m % 60} min` : ""}`;
    const h = Math.round(s / 3600);
    return `${Math.floor(h / 24)} d${h % 24 ? ` ${h % 24} h` : ""}`;
  };
  // Steps of an axis: seconds, and whole days or months above.
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY];
  const MONTHS = [1, 2, 3, 6, 12, 24, 60];
  /** @type {(from: number, to: number, width: number) => Ticks} */
  const ticks = (from, to, width) => {
    const span = to - from;
    /** @type {Mark[]} */
    const out = [];
    // Room for 23:59:59, and for a day or month.
    const most = Math.max(2, width / 40);
    const step = STEPS.find((s) => span / s <= (s < DAY ? Math.max(2, width / 62) : most));
    if (step) {
      // Weeks begin on Mondays; 1 January 1970 was a Thursday.
      const shift = step === 7 * DAY && dates ? 4 * DAY : 0;
      let t = Math.ceil((base + from - shift) / step) * step + shift - base;
      for (; t <= to; t += step) {
        const text = step < DAY ? clock(t, step < 60) : dates ? String(date(t).getUTCDate()) : String(Math.floor((base + t) / DAY));
        out.push({ t, text });
      }
      return { ticks: out, fine: step < DAY };
    }
    const count = dates ? MONTHS.find((n) => span / (n * 30.4 * DAY) <= most) || 120 : 0;
    if (!dates) {
      const wide = [30, 60, 100, 200, 500, 1000, 5000].find((n) => span / (n * DAY) <= most) ?? 10000;
      for (let t = Math.ceil((base + from) / (wide * DAY)) * wide * DAY - base; t <= to; t += wide * DAY) out.push({ t, text: String((base + t) / DAY) });
      return { ticks: out, fine: false };
    }
    const d = date(from);
    for (let m = Math.floor(d.getUTCMonth() / count) * count, y = d.getUTCFullYear(); ; m += count) {
      const t = Date.UTC(y, m, 1) / 1000 - base;
      if (t > to) break;
      if (t >= from) out.push({ t, text: months[((m % 12) + 12) % 12] });
    }
    return { ticks: out, fine: false, months: true };
  };
  // The larger unit that ticks stand in: days of hours, months of days, years of months.
  /** @type {(from: number, to: number, how: Ticks) => Mark[]} */
  const spans = (from, to, how) => {
    const out = [];
    if (how.fine) {
      for (let t = Math.floor((base + from) / DAY) * DAY - base; t < to; t += DAY) out.push({ t, text: day(t, true) });
    } else if (dates) {
      const d = date(from);
      for (let m = d.getUTCMonth(), y = d.getUTCFullYear(); ; m += how.months ? 12 : 1) {
        if (how.months) m = 0 + (m - (m % 12));
        const t = Date.UTC(y, m, 1) / 1000 - base;
        if (t >= to) break;
        const at = new Date(Date.UTC(y, m, 1));
        out.push({ t, text: how.months ? String(at.getUTCFullYear()) : `${months[at.getUTCMonth()]} ${at.getUTCFullYear()}` });
      }
    } else out.push({ t: from, text: "day" });
    return out;
  };
  return { stamp, day, clock, duration, ticks, spans };
})();
