/** A report with every kind of figure, for tests. */
import type { Report } from "../src/model.ts";

const wave = (shift: number): [number, number, number, number][] =>
  Array.from({ length: 8 }, (_, index) => {
    const value = 100 + 40 * index + shift;
    return [index * 50, value, value - 12, value + 12];
  });

const tail: [number, number][] = Array.from({ length: 40 }, (_, index) => [60 + index * 20, 1 - Math.exp(-index / 4)]);

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const sample: Report = {
  title: "A sample <b>report</b> & its parts",
  about: "Every kind of figure once. Nothing here was measured.",
  provenance: [
    { name: "Version", value: "0.0.0" },
    { name: "Seeds", value: "1 to 10" },
  ],
  sections: [
    {
      id: "latency",
      group: "sctp-thin",
      title: "Latency by mechanism",
      about: "What does each mechanism do? Which are worth it?",
      figures: [
        {
          kind: "plot",
          name: "latency",
          title: "Mean latency by round-trip time",
          caption: "All grow with the round-trip time; the thin policy stays below.",
          x: { label: "Round-trip time", unit: "ms" },
          y: { label: "Latency", unit: "ms" },
          series: [
            { name: "lksctp", shape: "line", points: wave(60) },
            { name: "thin", shape: "line", points: wave(0) },
            { name: "lksctp (paper)", shape: "points", paper: true, points: [[100, 250], [200, 330]] },
          ],
          marks: [{ axis: "y", value: 400, label: "ITU limit" }],
        },
        {
          kind: "plot",
          name: "tail",
          title: "Distribution of latency",
          caption: "The tail, with a nine more at each step.",
          x: { label: "Latency", unit: "ms", scale: "log" },
          y: { label: "Share of messages", scale: "tail" },
          series: [{ name: "thin", shape: "step", points: tail }],
        },
        {
          kind: "plot",
          name: "causes",
          title: "Retransmissions by cause",
          caption: "Stacked: the sum is all of them.",
          x: { label: "Policy", categories: ["lksctp", "thin"] },
          y: { label: "Share", unit: "%" },
          series: [
            { name: "timeout", shape: "stack", points: [[0, 40], [1, 20]] },
            { name: "fast", shape: "stack", points: [[0, 60], [1, 80]] },
          ],
        },
      ],
      comparisons: [
        { measure: "mean of first", where: "thin", paper: "300 ms", source: "Fig. 8a", here: "257 ms", interval: "250 to 264 ms", verdict: "same" },
        { measure: "maximum", where: "thin", here: "760 ms", verdict: "not-reported" },
        { measure: "maximum", where: "lksctp", paper: "67 s", here: "4.2 s", verdict: "differs", note: "Fewer losses in a row." },
        { measure: "payload", where: "game", paper: "98 B", source: "Table 1", here: "97.9 B", interval: "96.2 to 99.6 B", verdict: "fitted", kind: "fitted", agreement: "same" },
        { measure: "goodput, ratio", where: "thin over lksctp", paper: "1", source: "Fig. 11", here: "1", interval: "8 seeds alike", verdict: "same", claim: "no-effect" },
      ],
      parameters: [{ name: "network.rtt", value: "0 to 400 ms" }],
      open: [{ name: "network.queue", value: "not reported; 100 packets" }],
      commands: ["thinstream lab reproduce 8a"],
    },
    {
      id: "pairs",
      group: "rto-wlan",
      title: "All pairs of alpha and beta",
      about: "Which is best? Is the default good?",
      figures: [
        {
          kind: "heat-map",
          name: "pairs",
          title: "Distance by alpha and beta",
          caption: "The best pair is marked.",
          x: { label: "alpha", categories: ["0", "0.1", "0.2"] },
          y: { label: "beta", categories: ["0", "0.1", "0.2"] },
          value: { label: "Distance", unit: "s" },
          cells: [0, 1, 2].flatMap((x) => [0, 1, 2].map((y): [number, number, number] => [x, y, 40 + 10 * x + 3 * y])),
          marks: [{ x: 0, y: 0, label: "best" }],
        },
        {
          kind: "ladder",
          name: "loss",
          title: "A loss at the end",
          caption: "Nothing follows, so that only the timer helps.",
          sides: ["client", "server"],
          span_ms: 1300,
          arrows: [
            { from: 0, sent_ms: 0, label: "TSN 1", role: "data" },
            { from: 0, sent_ms: 1000, arrived_ms: 1050, label: "TSN 1", role: "again" },
            { from: 1, sent_ms: 1050, arrived_ms: 1100, label: "ACK 1030 SACK 1150-1179, 1060-1119", role: "ack" },
          ],
          notes: [{ side: 0, at_ms: 1000, label: "timeout" }],
        },
        {
          kind: "gallery",
          name: "pictures",
          title: "Pictures after a while",
          caption: "What has arrived by then.",
          columns: ["25 s", "50 s"],
          rows: [{ name: "ordered", images: [{ source: pixel, alt: "a pixel" }, { source: pixel, alt: "a pixel" }] }],
        },
      ],
      comparisons: [],
      parameters: [],
      open: [],
      commands: [],
    },
  ],
};

/** The built page with a report in it. */
export function fill(page: string, report: unknown): string {
  const json = JSON.stringify(report).replaceAll("<", "\\u003c");
  return page.replace('"REPORT"', () => json);
}
