/**
 * The JSON of a report, which the command puts into the page, as `crates/lab` writes it.
 *
 * Numbers are already what is shown: nothing is computed here that a table could not be checked against.
 */

/** A whole report. */
export interface Report {
  title: string;
  /** One or two sentences. */
  about: string;
  /** Origin of the report: version, commit, plan, seeds, duration; in the order to show. */
  provenance: Entry[];
  sections: Section[];
}

/** A name and its value, as text. */
export interface Entry {
  name: string;
  value: string;
}

/** One experiment: usually a figure or a table of a paper. */
export interface Section {
  /** Anchor: lower case letters, digits and hyphens. */
  id: string;
  /** The paper it belongs to, to group the table of contents; none for a plan of one's own. */
  group?: string;
  title: string;
  /** The question, in two sentences. */
  about: string;
  figures: Figure[];
  comparisons: Comparison[];
  /** Settings of the experiment, from its plan. */
  parameters: Entry[];
  /** Parameters that the paper leaves open, with the reasons for their values. */
  open: Entry[];
  /** Command lines that produce these numbers again. */
  commands: string[];
}

/** Relation of a number to the paper's. */
export type Agreement = "same" | "same-direction" | "differs" | "not-decided" | "not-reported" | "not-measured";

/** Kind of a row; predictions alone count in the headline. */
export type Kind = "prediction" | "input" | "fitted" | "bound" | "measured";

/** Claim of a paper: a number, a direction alone, or that nothing changes. */
export type Claim = "number" | "direction" | "no-effect";

export type Verdict = Agreement | Exclude<Kind, "prediction">;

/** A row of the table paper/here. */
export interface Comparison {
  /** The measured quantity, such as "mean latency of first retransmissions". */
  measure: string;
  /** Case of the number, such as "thin, RTT 100 ms, loss 5 %". */
  where: string;
  /** The paper's number as it is printed; none where the paper reports none. */
  paper?: string;
  /** Place of that number in the paper: a figure, table or section. */
  source?: string;
  here: string;
  /** The 95 % confidence interval of what is here. */
  interval?: string;
  /** The agreement of a prediction; of any other row, what it is. */
  verdict: Verdict;
  /** A prediction unless given. */
  kind?: Kind;
  /** A number unless given. */
  claim?: Claim;
  /** Relation of the number to the paper's where the row is no prediction. */
  agreement?: Agreement;
  /** A sentence where it differs. */
  note?: string;
}

export type Figure = Plot | HeatMap | Ladder | Gallery;

interface Common {
  /** File name of its data and pictures. */
  name: string;
  title: string;
  /** Description of the figure, which screen readers speak, too. */
  caption: string;
}

/** An axis. A `tail` axis shows cumulative shares up to 0.9, 0.99, 0.999, ... at equal steps. */
export interface Axis {
  label: string;
  unit?: string;
  scale?: "linear" | "log" | "tail";
  /** Names of the places 0, 1, 2, ... */
  categories?: string[];
  min?: number;
  max?: number;
}

/** Points over two axes. */
export interface Plot extends Common {
  kind: "plot";
  x: Axis;
  y: Axis;
  series: Series[];
  /** Values to mark with a line across, such as a limit of what people accept. */
  marks?: { axis: "x" | "y"; value: number; label: string }[];
}

export interface Series {
  name: string;
  shape: "line" | "step" | "points" | "bars" | "stack";
  /** Whether its points come from the paper, not from our runs. */
  paper?: boolean;
  /** Places x and y, and the bounds of the confidence interval of y where there is one. */
  points: [number, number, number?, number?][];
  /** Whether it is hidden at first. */
  hidden?: boolean;
}

/** A value for each pair of places. */
export interface HeatMap extends Common {
  kind: "heat-map";
  x: Axis;
  y: Axis;
  value: { label: string; unit?: string };
  /** Places on the x and the y axis, and the value. */
  cells: [number, number, number][];
  marks?: { x: number; y: number; label: string }[];
}

/** Packets between two sides over time, which runs downwards. */
export interface Ladder extends Common {
  kind: "ladder";
  /** Names of the sender's side and the receiver's. */
  sides: [string, string];
  /** Milliseconds that it lasts. */
  span_ms: number;
  arrows: {
    from: 0 | 1;
    sent_ms: number;
    /** Time of arrival; none where the packet was lost. */
    arrived_ms?: number;
    label: string;
    /** Colours it: new data, a retransmission, a copy that rides along, an acknowledgement. */
    role: "data" | "again" | "along" | "ack" | "other";
  }[];
  notes: { side: 0 | 1; at_ms: number; label: string }[];
}

/** Pictures in rows and columns. */
export interface Gallery extends Common {
  kind: "gallery";
  columns: string[];
  rows: { name: string; images: { source: string; alt: string }[] }[];
}
