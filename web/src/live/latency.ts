/** Latency of each message, as it comes, and beside it how often that was so far. */
import { time } from "../numbers.ts";
import type { Theme } from "../theme.ts";
import { sideColor } from "./lanes.ts";
import type { Numbers } from "./model.ts";
import type { Scene } from "./scene.ts";
import { GUTTER_PX, type Sheet, type View, font } from "./view.ts";

const LEAST_MS = 1;
const MOST_MS = 20_000;
const TOP = 8;
const BOTTOM = 8;
const GUIDES = [1, 10, 100, 1_000, 10_000];
/** Bins of the histogram for each factor of ten. */
const BINS = 6;

function y(height: number, latency_ms: number): number {
  const share = Math.log(Math.max(latency_ms, LEAST_MS) / LEAST_MS) / Math.log(MOST_MS / LEAST_MS);
  return height - BOTTOM - Math.min(share, 1) * (height - TOP - BOTTOM);
}

export function drawLatency(sheet: Sheet, view: View, scene: Scene, flow: number, theme: Theme): void {
  sheet.clear();
  const { pen, width, height } = sheet;
  guides(sheet, theme, GUTTER_PX);
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER_PX, 0, width - GUTTER_PX, height);
  pen.clip();
  scene.sides.forEach((side, index) => {
    pen.fillStyle = sideColor(theme, index as 0 | 1);
    for (const mark of side.marks) {
      if (mark.due_ms < view.from_ms || mark.due_ms > view.to_ms) continue;
      const own = mark.flow === flow;
      pen.globalAlpha = own ? 1 : 0.35;
      shape(pen, index, view.x(mark.due_ms), y(height, mark.latency_ms), own ? 4 : 2.5);
    }
    pen.globalAlpha = 1;
    // Messages that are not there yet: they rise as they wait.
    pen.strokeStyle = sideColor(theme, index as 0 | 1);
    pen.lineWidth = 1.5;
    for (const [message, due] of scene.due) {
      if (due < view.from_ms || side.delivered.has(message)) continue;
      pen.beginPath();
      pen.arc(view.x(due), y(height, scene.now_ms - due), 4, 0, 2 * Math.PI);
      pen.stroke();
    }
  });
  pen.restore();
}

/** Round for the first side, square for the second. */
function shape(pen: CanvasRenderingContext2D, side: number, x: number, y: number, size: number): void {
  pen.beginPath();
  if (side === 0) pen.arc(x, y, size, 0, 2 * Math.PI);
  else pen.rect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
  pen.fill();
}

function guides({ pen, width, height }: Sheet, theme: Theme, from: number): void {
  pen.font = font(11);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const guide of GUIDES) {
    const at = Math.round(y(height, guide)) + 0.5;
    pen.strokeStyle = theme.grid;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(from, at);
    pen.lineTo(width, at);
    pen.stroke();
    if (from === 0) continue;
    pen.fillStyle = theme.faint;
    pen.fillText(time(guide), 10, at);
  }
}

/** Number of messages in each bin of equal width on the scale. */
export function binned(bins: [number, number][]): number[] {
  const count = Math.ceil(Math.log10(MOST_MS / LEAST_MS) * BINS);
  const sums = new Array<number>(count).fill(0);
  for (const [latency, number] of bins) {
    const bin = Math.floor(Math.log10(Math.max(latency, LEAST_MS) / LEAST_MS) * BINS);
    const place = Math.min(Math.max(bin, 0), count - 1);
    sums[place] = (sums[place] ?? 0) + number;
  }
  return sums;
}

/** Both distributions on the scale of the marks, as lines whose length grows by as much for each factor of ten. */
export function drawDistribution(sheet: Sheet, numbers: [Numbers, Numbers] | undefined, theme: Theme): void {
  sheet.clear();
  guides(sheet, theme, 0);
  const { pen, width, height } = sheet;
  if (numbers === undefined) return;
  const sums = numbers.map(({ bins }) => binned(bins));
  const most = Math.max(1, ...sums.flat());
  const length = (count: number): number => (count === 0 ? 0 : ((1 + Math.log10(count)) / (1 + Math.log10(most))) * (width - 6));
  const step = y(height, 1) - y(height, 10 ** (1 / BINS));
  sums.forEach((counts, side) => {
    pen.fillStyle = sideColor(theme, side as 0 | 1);
    counts.forEach((count, bin) => {
      const low = y(height, LEAST_MS * 10 ** (bin / BINS));
      const half = step / 2;
      pen.fillRect(0, low - (side === 0 ? step : half) + 0.5, length(count), half - 1);
    });
  });
}
