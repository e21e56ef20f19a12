/** Contents of the picture: the packets, marks and steps of the last minutes of both sides. */
import type { Advanced, Line, Mark, Numbers } from "./model.ts";

/** Lines and marks that are kept of each side: more than fit a screen. */
const MOST_LINES = 6_000;
const MOST_MARKS = 20_000;

/** A packet with its fate: when it arrived, `null` if it was lost, `undefined` while it is on its way. */
export type Trip = Line & { fate?: number | null };

export interface SideScene {
  trips: Trip[];
  marks: Mark[];
  told: { at_ms: number; text: string }[];
  /** Times at which messages of the flow shown were delivered. */
  delivered: Map<number, number>;
}

export class Scene {
  now_ms = 0;
  is_over = false;
  /** Messages of the flow shown: number and when they were due. */
  due: [number, number][] = [];
  sides: [SideScene, SideScene] = [emptySide(), emptySide()];
  numbers: [Numbers, Numbers] | undefined;

  constructor(readonly flow: number) {}

  /** Takes in what is new. */
  add({ frame, numbers }: Advanced): void {
    this.now_ms = frame.now_ms;
    this.is_over = frame.is_over;
    this.due = last([...this.due, ...frame.due], MOST_LINES);
    this.numbers = numbers ?? this.numbers;
    frame.sides.forEach((news, index) => {
      const side = this.sides[index as 0 | 1];
      side.trips = last(side.trips.concat(news.lines), MOST_LINES);
      const first = side.trips[0]?.id ?? 0;
      for (const [id, fate] of news.fates) {
        const trip = side.trips[id - first];
        if (trip !== undefined) trip.fate = fate;
      }
      side.marks = last(side.marks.concat(news.marks), MOST_MARKS);
      side.told = last(side.told.concat(news.told), MOST_LINES);
      for (const mark of news.marks) {
        if (mark.flow === this.flow) side.delivered.set(mark.message, mark.due_ms + mark.latency_ms);
      }
    });
  }

  /** Latency on a side of a message of the flow shown, as far as it is known. */
  latency(side: 0 | 1, message: number): number | undefined {
    const due = this.due.find(([number]) => number === message);
    const at = this.sides[side].delivered.get(message);
    return due === undefined || at === undefined ? undefined : at - due[1];
  }
}

function emptySide(): SideScene {
  return { trips: [], marks: [], told: [], delivered: new Map() };
}

/** End of a list, at most `most` long; the list itself if it is no longer. */
function last<T>(list: T[], most: number): T[] {
  return list.length > most ? list.slice(list.length - most) : list;
}

/** Time and place at which a packet that was lost is shown to vanish: half way. */
export function end(trip: Trip, now_ms: number): { at_ms: number; share: number } {
  const expected = typeof trip.fate === "number" ? trip.fate : trip.expected_ms;
  const whole = trip.fate === null ? 0.5 : 1;
  const way = Math.max(expected - trip.sent_ms, 1e-6);
  // Late by a queue or by jitter: it waits just before the end.
  const share = Math.min((now_ms - trip.sent_ms) / way, trip.fate === undefined ? 0.98 : whole);
  return { at_ms: trip.sent_ms + share * way, share };
}

/** A packet in words. */
export function told(trip: Trip): string {
  const messages = trip.messages.map(([message, copy]) => (copy === 1 ? `message ${message}` : `message ${message}, ${ordinal(copy)} sending`));
  const what =
    trip.role === "ack" ? "Acknowledgement" : messages.length === 0 ? "Packet" : messages.length <= 3 ? `Packet with ${messages.join(" and ")}` : `Packet with ${messages.length} messages, ${messages[0] ?? ""} first`;
  const fate = trip.fate === undefined ? "on its way" : trip.fate === null ? "lost" : `arrived after ${(trip.fate - trip.sent_ms).toFixed(0)} ms`;
  return `${what}: left at ${seconds(trip.sent_ms)}, ${fate}`;
}

function ordinal(count: number): string {
  return count === 2 ? "second" : count === 3 ? "third" : `${count}th`;
}

/** A time of the run. */
export function seconds(at_ms: number): string {
  return `${(at_ms / 1000).toFixed(2)} s`;
}
