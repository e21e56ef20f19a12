/** Controls during a run: loss, round trip, a cut, and the speed of time. */
import { button, element } from "../dom.ts";
import { short } from "../numbers.ts";
import { FASTEST, SLOWEST } from "./address.ts";
import type { Choices, Setting } from "./model.ts";
import type { Player } from "./player.ts";

/** A slider whose places are numbers on a scale of factors. */
function slider(name: string, least: number, most: number): { place: HTMLInputElement; get(): number; set(value: number): void } {
  const place = element("input", { type: "range", name, min: "0", max: "1000", step: "1" });
  const width = Math.log(most / least);
  return {
    place,
    get: () => Number((least * Math.exp((Number(place.value) / 1000) * width)).toPrecision(2)),
    set: (value) => (place.value = String(Math.round((Math.log(Math.max(value, least) / least) / width) * 1000))),
  };
}

/** Loss, round trip and cut of the network at a time: as chosen, and as changed since. */
export function present(setting: Setting, choices: Choices, now_ms: number): { loss: number; rtt_ms: number; cut: boolean } {
  const network = choices.networks.find(({ name }) => name === setting.network);
  const told = { loss: network?.loss ?? 0, rtt_ms: network?.rtt_ms ?? 100, cut: false };
  const timed = setting.changes.flatMap((change) => {
    const parts = /^(\d+):(\w+)=?([\d.]*)$/.exec(change);
    return parts === null ? [] : [{ at: Number(parts[1]), what: parts[2] ?? "", value: Number(parts[3]) }];
  });
  for (const { at, what, value } of timed.sort((one, other) => one.at - other.at)) {
    if (at > now_ms) break;
    if (what === "loss") told.loss = value;
    if (what === "rtt") told.rtt_ms = value;
    if (what === "cut" || what === "mend") told.cut = what === "cut";
  }
  return told;
}

export class Knobs {
  readonly place: HTMLElement;
  readonly transport: HTMLElement;
  #player: () => Player;
  #choices: Choices;
  #play: HTMLButtonElement;
  #cut: HTMLButtonElement;
  #clock = element("output", { class: "clock", "aria-label": "Time of the run" });
  #speed = slider("speed", SLOWEST, FASTEST);
  #loss = element("input", { type: "range", name: "loss", min: "0", max: "30", step: "0.5" });
  #rtt = slider("rtt", 2, 2_000);
  #told = { speed: element("output"), loss: element("output"), rtt: element("output") };

  constructor(choices: Choices, player: () => Player, again: () => void, share: () => void) {
    this.#choices = choices;
    this.#player = player;
    this.#play = button("Play", () => player().play(!player().playing));
    this.#play.classList.add("main");
    this.#cut = button("Cut the path", () => void player().now(this.#state().cut ? "mend" : "cut"));
    const field = (text: string, input: HTMLElement, told: HTMLElement): HTMLElement =>
      element("label", { class: "knob" }, element("span", {}, text, " ", told), input);
    this.#speed.place.addEventListener("input", () => (player().speed = this.#speed.get()));
    this.#loss.addEventListener("input", () => (this.#told.loss.textContent = `${this.#loss.value} %`));
    this.#rtt.place.addEventListener("input", () => (this.#told.rtt.textContent = `${short(this.#rtt.get())} ms`));
    this.#loss.addEventListener("change", () => void player().now(`loss=${this.#loss.value}`));
    this.#rtt.place.addEventListener("change", () => void player().now(`rtt=${Math.round(this.#rtt.get())}`));
    this.transport = element(
      "div",
      { class: "transport", role: "group", "aria-label": "Time" },
      this.#play,
      button("Step", () => void player().step()),
      button("Start again", again),
      field("Speed", this.#speed.place, this.#told.speed),
      this.#clock,
      button("Copy link", share),
    );
    this.place = element(
      "div",
      { class: "knobs", role: "group", "aria-label": "The network from now on" },
      field("Lost each way", this.#loss, this.#told.loss),
      field("Round trip", this.#rtt.place, this.#told.rtt),
      this.#cut,
    );
  }

  #state(): { loss: number; rtt_ms: number; cut: boolean } {
    const player = this.#player();
    return present(player.setting, this.#choices, player.scene.now_ms);
  }

  /** Shows how things are, once something was changed. */
  show(): void {
    const player = this.#player();
    const { loss, rtt_ms, cut } = this.#state();
    this.#play.textContent = player.playing ? "Pause" : "Play";
    this.#speed.set(player.speed);
    this.#told.speed.textContent = player.speed === 1 ? "as in reality" : player.speed < 1 ? `1/${short(1 / player.speed)}` : `${short(player.speed)} times`;
    this.#loss.value = String(loss);
    this.#told.loss.textContent = `${short(loss)} %`;
    this.#rtt.set(rtt_ms);
    this.#told.rtt.textContent = `${short(rtt_ms)} ms`;
    const two = this.#choices.networks.find(({ name }) => name === player.setting.network)?.two_paths === true;
    this.#cut.textContent = cut ? "Mend the path" : two ? "Cut the first path" : "Cut the path";
    this.#cut.setAttribute("aria-pressed", String(cut));
    this.tick();
  }

  /** Shows the time. */
  tick(): void {
    this.#clock.textContent = `${(this.#player().scene.now_ms / 1000).toFixed(2)} s`;
  }
}
