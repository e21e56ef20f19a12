/** Both sides as a time sequence: the sender above, the receiver below, time to the right, and which messages wait. */
import type { Theme } from "../theme.ts";
import { type Scene, type SideScene, type Trip, end } from "./scene.ts";
import { GUTTER_PX, Sheet, type View, font } from "./view.ts";

/** Heights in a lane, from its top. */
const SENDER = 52;
const RECEIVER = 142;
const WAITING = 156;
const ROWS = 5;
const ROW = 7;
export const LANE = WAITING + ROWS * ROW + 14;
const AXIS = 22;
export const HEIGHT = 2 * LANE + AXIS;

export interface Picked {
  side: 0 | 1;
  id: number;
}

/** Colours of the two sides, apart from those of packets, also to those who see fewer colours. */
export function sideColor(theme: Theme, side: 0 | 1): string {
  return theme.series[side === 0 ? 5 : 6] ?? theme.text;
}

export function drawLanes(sheet: Sheet, view: View, scene: Scene, names: [string, string], theme: Theme, picked: Picked | undefined): void {
  sheet.clear();
  const { pen } = sheet;
  view.width = sheet.width;
  drawGrid(sheet, view, theme);
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER_PX, 0, sheet.width - GUTTER_PX, sheet.height);
  pen.clip();
  scene.sides.forEach((side, index) => {
    pen.save();
    pen.translate(0, index * LANE);
    drawLife(pen, view, theme, sheet.width);
    drawWaiting(pen, view, scene, side, index as 0 | 1, theme);
    const chosen = picked?.side === index ? picked.id : undefined;
    for (const trip of seen(view, side)) drawTrip(pen, view, scene.now_ms, trip, theme, trip.id === chosen);
    drawTold(pen, view, side, theme);
    pen.restore();
  });
  pen.restore();
  scene.sides.forEach((_, index) => drawNames(pen, names[index as 0 | 1], index as 0 | 1, theme));
}

/** Packets of which a part can be seen. */
function seen(view: View, side: SideScene): Trip[] {
  const [from, to] = [view.from_ms - 2_000, view.to_ms];
  return side.trips.filter(({ sent_ms }) => sent_ms >= from && sent_ms <= to);
}

function drawGrid({ pen, width, height }: Sheet, view: View, theme: Theme): void {
  pen.font = font(11);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const at of view.ticks()) {
    const x = Math.round(view.x(at)) + 0.5;
    if (x < GUTTER_PX) continue;
    line(pen, x, 0, x, height - AXIS, theme.grid, 1);
    pen.fillStyle = theme.faint;
    pen.fillText(`${(at / 1000).toLocaleString("en", { maximumFractionDigits: 2 })} s`, x, height - AXIS / 2);
  }
  line(pen, 0, LANE - 1.5, width, LANE - 1.5, theme.grid, 1);
}

function drawLife(pen: CanvasRenderingContext2D, view: View, theme: Theme, width: number): void {
  const begin = Math.max(GUTTER_PX, view.x(0));
  const now = Math.min(view.x(view.now_ms), width);
  for (const y of [SENDER, RECEIVER]) line(pen, begin, y, now, y, theme.faint, 1.5);
  line(pen, now, SENDER - 8, now, WAITING + ROWS * ROW, theme.grid, 2);
}

/** A bar for each message of the flow shown, from when it was due until the application had it. */
function drawWaiting(pen: CanvasRenderingContext2D, view: View, scene: Scene, side: SideScene, index: 0 | 1, theme: Theme): void {
  const color = sideColor(theme, index);
  for (const [message, due] of scene.due) {
    const until = side.delivered.get(message) ?? scene.now_ms;
    if (until < view.from_ms || due > view.to_ms) continue;
    const [from, to] = [view.x(due), view.x(until)];
    const y = WAITING + (message % ROWS) * ROW;
    pen.globalAlpha = until - due > 400 ? 1 : until - due > 150 ? 0.75 : 0.4;
    pen.fillStyle = color;
    pen.fillRect(from, y, Math.max(to - from, 2), ROW - 2);
    if (!side.delivered.has(message)) {
      pen.globalAlpha = 1;
      line(pen, to, y - 1, to, y + ROW - 1, theme.text, 2);
    }
  }
  pen.globalAlpha = 1;
}

function tripColor(trip: Trip, theme: Theme): string {
  if (trip.fate === null) return theme.bad;
  return { data: theme.link, again: theme.again, along: theme.along, ack: theme.faint, other: theme.faint }[trip.role];
}

function drawTrip(pen: CanvasRenderingContext2D, view: View, now: number, trip: Trip, theme: Theme, chosen: boolean): void {
  const [x1, y1, x2, y2] = place(view, now, trip);
  const isAnswer = trip.from === 1;
  const color = tripColor(trip, theme);
  if (chosen) {
    pen.globalAlpha = 0.25;
    line(pen, x1, y1, x2, y2, theme.text, 9);
    pen.globalAlpha = 1;
  }
  pen.setLineDash(trip.fate === null ? [4, 3] : []);
  line(pen, x1, y1, x2, y2, color, chosen ? 3.5 : isAnswer ? 1 : 2);
  pen.setLineDash([]);
  if (trip.fate === null) cross(pen, x2, y2, theme.bad);
  else if (trip.fate === undefined) dot(pen, x2, y2, color);
  const first = trip.messages[trip.messages.length - 1];
  if (!isAnswer && first !== undefined && view.px_per_ms > 0.12) {
    pen.fillStyle = color;
    pen.font = font(10, trip.role === "again" ? 700 : 400);
    // What is sent again leaves as new messages do: its number stands inside.
    const again = trip.role === "again";
    pen.textAlign = again ? "left" : "center";
    pen.textBaseline = again ? "top" : "bottom";
    pen.fillText(String(again ? trip.messages[0]?.[0] : first[0]), again ? x1 + 6 : x1, again ? SENDER + 4 : SENDER - 3);
  }
}

/** Both ends of a packet's line, as far as it has come. */
function place(view: View, now: number, trip: Trip): [number, number, number, number] {
  const [from, to] = trip.from === 0 ? [SENDER, RECEIVER] : [RECEIVER, SENDER];
  const { at_ms, share } = end(trip, now);
  return [view.x(trip.sent_ms), from, view.x(at_ms), from + (to - from) * share];
}

/** Draws the steps of recovery above the sender: newer texts only where there is room. */
function drawTold(pen: CanvasRenderingContext2D, view: View, side: SideScene, theme: Theme): void {
  pen.font = font(11, 600);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  let free = [-Infinity, -Infinity];
  for (const { at_ms, text } of side.told) {
    if (at_ms < view.from_ms || at_ms > view.to_ms) continue;
    const x = view.x(at_ms);
    dot(pen, x, SENDER, theme.text);
    const row = free.findIndex((until) => x > until);
    if (row < 0) continue;
    pen.fillStyle = theme.text;
    const y = row === 0 ? SENDER - 22 : SENDER - 36;
    pen.fillText(text, x + 3, y);
    line(pen, x, SENDER - 4, x, y + 2, theme.faint, 1);
    free = free.map((until, index) => (index === row ? x + pen.measureText(text).width + 10 : until));
  }
}

function drawNames(pen: CanvasRenderingContext2D, name: string, index: 0 | 1, theme: Theme): void {
  const top = index * LANE;
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.fillStyle = sideColor(theme, index);
  pen.beginPath();
  pen.roundRect(0, top + 6, 4, LANE - 16, 2);
  pen.fill();
  pen.fillStyle = theme.text;
  pen.font = font(13, 700);
  pen.fillText(name, 10, top + 12);
  pen.font = font(11);
  pen.fillStyle = theme.faint;
  pen.fillText("sender", 10, top + SENDER);
  pen.fillText("receiver", 10, top + RECEIVER);
  pen.fillText("waiting", 10, top + WAITING + (ROWS * ROW) / 2);
}

function line(pen: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number, color: string, width: number): void {
  pen.strokeStyle = color;
  pen.lineWidth = width;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

function dot(pen: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  pen.fillStyle = color;
  pen.beginPath();
  pen.arc(x, y, 3.5, 0, 2 * Math.PI);
  pen.fill();
}

function cross(pen: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  line(pen, x - 5, y - 5, x + 5, y + 5, color, 2.5);
  line(pen, x - 5, y + 5, x + 5, y - 5, color, 2.5);
}

/** The packet nearest to a point, within a number of pixels. */
export function pick(view: View, scene: Scene, x: number, y: number, within: number): Picked | undefined {
  let best: (Picked & { distance: number }) | undefined;
  scene.sides.forEach((side, index) => {
    for (const trip of seen(view, side)) {
      const [x1, y1, x2, y2] = place(view, scene.now_ms, trip);
      const distance = toSegment(x, y - index * LANE, x1, y1, x2, y2);
      if (distance <= within && distance < (best?.distance ?? Infinity)) best = { side: index as 0 | 1, id: trip.id, distance };
    }
  });
  return best && { side: best.side, id: best.id };
}

/** Distance of a point from a line between two others. */
export function toSegment(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = dx * dx + dy * dy === 0 ? 0 : ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy);
  const share = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x - x1 - share * dx, y - y1 - share * dy);
}
