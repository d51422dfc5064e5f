// What the parts of the Gantt page's script share: the data that experiments/gantt/columns.py writes, and the page's state.
// Times are seconds since the first event; a job or rectangle is its place in the columns.

declare const TYPE_COLORS: Record<string, string>;
declare const STATE_COLORS: Record<string, string>;

interface Steps {
  time: Float64Array;
  levels: Float64Array[];
  areas: Float64Array[];
  names: string[];
  place: (when: number) => number;
}

// The same as written: times as differences.
interface RawSteps {
  d_time: number[];
  levels: number[][];
  names: string[];
}

// Where the page's clock begins: seconds since 1970, or since the first submit where there are no dates.
interface Base {
  base: number;
  dates: boolean;
}

// A time of an axis and its text; the ticks of an axis, finer than a day, or whole months.
interface Mark {
  t: number;
  text: string;
}

interface Ticks {
  ticks: Mark[];
  fine: boolean;
  months?: boolean;
}

interface Jobs {
  count: number;
  id: (number | string)[];
  types: string[];
  projects: string[];
  users: string[];
  statuses: string[];
  type: Float64Array;
  project: Float64Array;
  user: Float64Array;
  status: Float64Array;
  submit: Float64Array;
  /** Where any job became eligible after its submit. */
  eligible?: Float64Array;
  start: Float64Array;
  end: Float64Array;
  nodes: Float64Array;
  runtime: Float64Array;
  walltime: Float64Array;
  slowdown: Float64Array;
  preemptions: Float64Array;
  shrinks: Float64Array;
  lost: Float64Array;
}

// The event log, ordered by job: that of job k stands from first[k] to before first[k + 1].
interface Log {
  events: string[];
  causes: string[];
  first: Uint32Array;
  time: Float64Array;
  event: number[];
  before: number[];
  after: number[];
  cause: number[];
  other: (number | string)[];
}

// Nodes with names: node h has the rows from first[h] to before first[h + 1].
interface Hosts {
  names: string[];
  first: Float64Array;
}

interface View {
  from: number;
  to: number;
  bottom: number;
  top: number;
}

interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

interface PageState {
  mode: string;
  hidden: Map<string, Set<number>>;
  hits: number[] | null;
  hit: number;
  hover: number;
  chosen: number;
  cross: number | null;
  box: Box | null;
}

// A way to colour jobs: its classes, and the class of each job.
interface Mode {
  title: string;
  classes: { name: string; color?: string }[];
  of: Int32Array;
  ramp?: boolean;
}

type RGB = number[];

interface Theme {
  dark: boolean;
  paper: string;
  ink: string;
  soft: string;
  line: string;
  idle: string;
  mark: string;
  chosen: string;
  idleParts: RGB;
  faint: RGB;
  held: number;
  heldLine: number;
  down: number;
  downLine: number;
}

interface Layout {
  width: number;
  height: number;
  dpr: number;
  left: number;
  w: number;
  narrow: boolean;
  nodes: number;
  axis: number;
  use: number;
  strips: number;
  queue: number;
  queueHeight: number;
  overview: number;
  overviewHeight: number;
}

interface Pixels {
  made: ImageData;
  buffer: Uint32Array;
  w: number;
  h: number;
}

// A place under the pointer: pixels, what they stand for, and the part of the chart.
interface Place {
  x: number;
  y: number;
  time: number;
  node: number;
  zone: "numbers" | "nodes" | "overview" | "strips" | "axis";
}

type Drag =
  | { kind: "pinch"; view: View; dx: number; dy: number; time: number; node: number; moved?: undefined }
  | { kind: "overview"; moved: boolean }
  | { kind: "box" | "pan"; x: number; y: number; at: Place; view: View; moved: boolean };

interface PageElements {
  plot: HTMLCanvasElement;
  over: HTMLCanvasElement;
  chart: HTMLElement;
  tip: HTMLElement;
  story: HTMLElement;
  legend: HTMLElement;
  where: HTMLElement;
  found: HTMLElement;
  colors: HTMLSelectElement;
  search: HTMLFormElement;
  query: HTMLInputElement;
  before: HTMLButtonElement;
  after: HTMLButtonElement;
}

interface Window {
  // For scripts and tests.
  holdfast: object;
}
