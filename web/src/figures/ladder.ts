/** Packets between two sides over time: two vertical lines with arrows between them, time running downwards. */
import type { Ladder } from "../model.ts";

const SVG = "http://www.w3.org/2000/svg";
/** Between the two sides. */
const BETWEEN = 300;
/** Beside them at least, for the names of packets. */
const BESIDE = 170;
/** A wide character of 13 pixels. */
const CHARACTER = 7.6;
const TOP = 40;

type Attributes = Record<string, string | number>;

function node(name: string, attributes: Attributes, ...children: (Node | string)[]): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** Draws a ladder, with time stretched by this factor. Its colours are the style sheet's. */
export function drawLadder(ladder: Ladder, times = 1): SVGElement {
  const events = ladder.arrows.length + ladder.notes.length;
  const height = times * Math.max(240, Math.min(1400, events * 26));
  const y = (at_ms: number): number => TOP + (at_ms / Math.max(ladder.span_ms, 1e-9)) * height;
  const [left, right] = [beside(ladder, 0), beside(ladder, 1)];
  const x = (side: 0 | 1): number => (side === 0 ? left : left + BETWEEN);
  const sides = ([0, 1] as const).flatMap((side) => [
    node("line", { x1: x(side), x2: x(side), y1: TOP - 8, y2: TOP + height + 8, class: "side" }),
    node("text", { x: x(side), y: 20, "text-anchor": "middle", class: "name" }, ladder.sides[side]),
  ]);
  const arrows = ladder.arrows.map((arrow) => drawArrow(ladder, arrow, x, y));
  const notes = ladder.notes.map(({ side, at_ms, label }) =>
    node("g", { class: "note" },
      node("circle", { cx: x(side), cy: y(at_ms), r: 3.5 }),
      node("text", {
        // Inside, above the arrow that it may have caused: the outside belongs to the arrows' names.
        x: x(side) + (side === 0 ? 10 : -10),
        y: y(at_ms) - 7,
        "text-anchor": side === 0 ? "start" : "end",
      }, label),
    ),
  );
  return node("svg", {
    viewBox: `0 0 ${left + BETWEEN + right} ${TOP + height + 24}`,
    role: "img",
    class: "ladder",
    xmlns: SVG,
    "aria-label": `${ladder.title}. ${ladder.caption}`,
  }, arrowHead(), ...sides, ...arrows, ...notes);
}

/** The name of a packet, which stands beside its sender. */
const named = ({ label, arrived_ms }: Ladder["arrows"][number]): string => `${label}${arrived_ms === undefined ? " (lost)" : ""}`;

/** Room beside a side for the longest name of its packets. */
function beside({ arrows, sides }: Ladder, side: 0 | 1): number {
  const names = arrows.filter(({ from }) => from === side).map(named);
  const longest = Math.max(sides[side].length / 2, ...names.map((name) => name.length));
  return Math.max(BESIDE, Math.ceil(longest * CHARACTER) + 16);
}

function arrowHead(): SVGElement {
  const marker = { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" };
  return node("defs", {}, node("marker", marker, node("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" })));
}

function drawArrow(
  ladder: Ladder,
  arrow: Ladder["arrows"][number],
  x: (side: 0 | 1) => number,
  y: (at_ms: number) => number,
): SVGElement {
  const from = { x: x(arrow.from), y: y(arrow.sent_ms) };
  const lost = arrow.arrived_ms === undefined;
  const far = x(arrow.from === 0 ? 1 : 0);
  // What is lost gets half of the way, at the slope of a short trip.
  const to = lost
    ? { x: (from.x + far) / 2, y: from.y + 14 }
    : { x: far, y: y(arrow.arrived_ms ?? 0) };
  const outside = arrow.from === 0 ? -10 : 10;
  const line = { x1: from.x, y1: from.y, x2: to.x, y2: to.y, "marker-end": lost ? "" : "url(#head)" };
  return node("g", { class: `arrow ${arrow.role}${lost ? " lost" : ""}` },
    node("title", {}, `${moment(arrow.sent_ms)}: ${sentence(ladder, arrow)}`),
    node("line", line),
    ...(lost ? [node("text", { x: to.x, y: to.y + 5, class: "cross", "text-anchor": "middle" }, "✕")] : []),
    node("text", {
      x: from.x + outside,
      y: from.y + 4,
      "text-anchor": arrow.from === 0 ? "end" : "start",
    }, named(arrow)),
  );
}

/** A packet and its fate as a sentence. */
function sentence({ sides }: Ladder, { from, label, arrived_ms }: Ladder["arrows"][number]): string {
  const fate = arrived_ms === undefined ? "is lost" : `arrives at ${moment(arrived_ms)}`;
  return `${sides[from]} sends ${label}, which ${fate}`;
}

const moment = (at_ms: number): string => `${at_ms.toFixed(1)} ms`;

/** The ladder as a list of sentences, in order of time. */
export function tell(ladder: Ladder): [string, string][] {
  const arrows = ladder.arrows.map((arrow): [number, string] => [arrow.sent_ms, sentence(ladder, arrow)]);
  const notes = ladder.notes.map(({ side, at_ms, label }): [number, string] => [
    at_ms,
    `${ladder.sides[side]}: ${label}`,
  ]);
  return [...arrows, ...notes]
    .sort(([a], [b]) => a - b)
    .map(([at, text]) => [moment(at), text]);
}
