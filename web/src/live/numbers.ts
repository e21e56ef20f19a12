/** The numbers of both sides, beside each other. */
import { element } from "../dom.ts";
import { short, time } from "../numbers.ts";
import type { Numbers } from "./model.ts";

const ROWS: [string, (numbers: Numbers) => string][] = [
  ["Delivered", ({ delivered }) => short(delivered)],
  ["Mean latency", ({ mean_ms }) => time(mean_ms)],
  ["Half take over", ({ quantiles_ms }) => time(quantiles_ms[0])],
  ["1 in 100 over", ({ quantiles_ms }) => time(quantiles_ms[2])],
  ["Longest", ({ quantiles_ms }) => time(quantiles_ms[3])],
  ["Packets each", ({ packets }) => packets.toFixed(2)],
  ["Bytes each", ({ bytes }) => bytes.toFixed(0)],
  ["Copies in vain", ({ needless }) => needless.toFixed(2)],
  ["Timeouts", ({ timeouts }) => short(timeouts)],
];

/** A table whose cells are filled anew as numbers come. */
export class NumbersTable {
  readonly place: HTMLTableElement;
  #heads = [0, 1].map((side) => element("th", { scope: "col", class: `side-${side}` }));
  #cells = ROWS.map(() => [element("td"), element("td")]);

  constructor() {
    const rows = ROWS.map(([name], row) => element("tr", {}, element("th", { scope: "row" }, name), ...(this.#cells[row] ?? [])));
    this.place = element(
      "table",
      { class: "numbers" },
      element("caption", {}, "All messages so far"),
      element("thead", {}, element("tr", {}, element("td"), ...this.#heads)),
      element("tbody", {}, ...rows),
    );
  }

  show(names: [string, string], numbers: [Numbers, Numbers] | undefined): void {
    this.#heads.forEach((head, side) => set(head, names[side as 0 | 1]));
    ROWS.forEach(([, tell], row) => {
      this.#cells[row]?.forEach((cell, side) => set(cell, numbers === undefined ? "" : tell(numbers[side as 0 | 1])));
    });
  }
}

/** Writes only what differs: the browser lays nothing out anew where it does not. */
function set(place: HTMLElement, text: string): void {
  if (place.textContent !== text) place.textContent = text;
}
