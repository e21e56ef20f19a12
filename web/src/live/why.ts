/** Reason for which a packet was sent, and what can be done to it. */
import { button, element } from "../dom.ts";
import { time } from "../numbers.ts";
import type { Player } from "./player.ts";
import { type Trip, told } from "./scene.ts";

const NOTHING = "Click a packet in the picture, or choose one with the arrow keys, to read why it was sent.";
/** Longer than this a message waited for something, in milliseconds. */
const WAITED = 1;

export function showWhy(place: HTMLElement, player: Player, name: string, trip: Trip | undefined, act: (change: string, back: boolean) => void): void {
  if (trip === undefined) {
    place.replaceChildren(element("p", { class: "faint" }, NOTHING));
    return;
  }
  const fields = trip.why.fields.map(({ name, value, meaning, source }, index) =>
    element(
      "div",
      { class: "field" },
      element("dt", {}, element("code", {}, `${name} = ${value}`), index === 0 ? element("span", { class: "decides" }, "decides") : undefined),
      element("dd", {}, meaning, element("small", {}, `From: ${source}`)),
    ),
  );
  place.replaceChildren(
    element("p", { class: "which" }, element("strong", {}, name), ` ${told(trip)} (${trip.label})`),
    element("p", {}, trip.why.text, waited(player, trip)),
    ...(fields.length > 0 ? [element("dl", { class: "fields" }, ...fields)] : []),
    ...acts(player, trip, act),
  );
}

/** The reason for which a new message waited before it left; none unless it waited for more than `WAITED`. */
function waited(player: Player, trip: Trip): string | undefined {
  const first = trip.messages.find(([, copy]) => copy === 1)?.[0];
  const due = player.scene.due.find(([message]) => message === first)?.[1];
  if (due === undefined || trip.sent_ms - due < WAITED) return undefined;
  return ` Message ${first} was due ${time(trip.sent_ms - due)} before: it waited for room in the congestion window.`;
}

function acts(player: Player, trip: Trip, act: (change: string, back: boolean) => void): HTMLElement[] {
  if (trip.drop === "") return [];
  const isDropped = player.setting.changes.includes(trip.drop);
  if (isDropped) return [button("Let it pass", () => act(trip.drop, true))];
  if (trip.fate === null) return [element("p", { class: "faint" }, "The network lost it.")];
  const both = trip.drop.startsWith("m") ? " on both sides" : "";
  return [button(`Drop this packet${both}`, () => act(trip.drop, false))];
}

/** A change in words, with what came of it. */
export function describe(change: string, player: Player, names: [string, string]): string {
  const timed = /^(\d+):(loss|rtt|cut|mend)=?([\d.]*)$/.exec(change);
  if (timed !== null) {
    const [, at, what, value] = timed;
    const from = at === "0" ? "" : ` from ${(Number(at) / 1000).toFixed(2)} s`;
    const words = { loss: `${value} % lost each way`, rtt: `round trip ${value} ms`, cut: "path cut", mend: "path mended" };
    return `${words[what as keyof typeof words]}${from}`;
  }
  const message = /^m(\d+)$/.exec(change);
  if (message !== null) {
    const number = Number(message[1]);
    const took = ([0, 1] as const).map((side) => {
      const latency = player.scene.latency(side, number);
      return `${names[side]} ${latency === undefined ? "still waits" : time(Math.round(latency))}`;
    });
    const due = player.scene.due.some(([one]) => one === number);
    return `message ${number} dropped${due ? `: ${took.join(", ")}` : ""}`;
  }
  const copy = /^([ab])(\d*)\.(\d+)$/.exec(change);
  if (copy === null) return change;
  const side = names[copy[1] === "a" ? 0 : 1];
  return copy[2] === "" ? `answer ${copy[3]} dropped, ${side}` : `sending ${copy[3]} of message ${copy[2]} dropped, ${side}`;
}
