/** Messages between the engine and the page, as `crates/live` defines them. Times are in milliseconds. */

export interface Application {
  name: string;
  title: string;
  about: string;
}

export interface Network extends Application {
  rtt_ms: number;
  loss: number;
  two_paths: boolean;
}

export interface Policy {
  transport: "sctp" | "tcp";
  preset: string;
  about: string;
}

export interface Choices {
  applications: Application[];
  networks: Network[];
  policies: Policy[];
}

/** All inputs of a run: an equal setting gives an equal run everywhere. */
export interface Setting {
  application: string;
  network: string;
  policies: [string, string];
  flows: number;
  flow: number;
  seed: number;
  /** Changes that were made to it, such as `3250:loss=5` or `m17`. */
  changes: string[];
}

export interface Decided {
  name: string;
  value: string;
  meaning: string;
  source: string;
}

export interface Line {
  id: number;
  from: 0 | 1;
  sent_ms: number;
  expected_ms: number;
  role: "data" | "again" | "along" | "ack" | "other";
  /** Number of a message, and which sending of it this is. */
  messages: [number, number][];
  label: string;
  /** The change that drops it; empty where none can. */
  drop: string;
  why: { text: string; fields: Decided[] };
}

export interface Mark {
  flow: number;
  message: number;
  due_ms: number;
  latency_ms: number;
  again: number;
}

export interface SideFrame {
  lines: Line[];
  fates: [number, number | null][];
  marks: Mark[];
  told: { at_ms: number; text: string }[];
}

/** Changes since the last frame. */
export interface Frame {
  now_ms: number;
  is_over: boolean;
  due: [number, number][];
  sides: [SideFrame, SideFrame];
}

export interface Numbers {
  due: number;
  delivered: number;
  mean_ms: number;
  quantiles_ms: [number, number, number, number];
  packets: number;
  bytes: number;
  needless: number;
  timeouts: number;
  bins: [number, number][];
}

/** Summary of a capture's traffic and path. */
export interface Told {
  streams: { id: string; from: string; to: string; packets: number }[];
  left_out: number;
  messages: number;
  seconds: number;
  transport: "sctp" | "tcp";
  rtt_ms: number | null;
  loss: number | null;
}

/** Requests of the page to the worker. */
export type Request =
  | { kind: "load"; module: ArrayBuffer }
  | { kind: "begin"; setting: Setting; to_ms: number }
  | { kind: "advance"; to_ms: number; numbers: boolean }
  | { kind: "capture"; bytes: ArrayBuffer }
  | { kind: "plans" };

export interface Advanced {
  frame: Frame;
  numbers?: [Numbers, Numbers];
}

export type Answer = { ok: unknown } | { error: string };
