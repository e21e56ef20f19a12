/** The picture: lanes and latencies, pointer and keys. */
import { element } from "../dom.ts";
import { theme } from "../theme.ts";
import { sideNames } from "./controls.ts";
import { HEIGHT, type Picked, drawLanes, pick } from "./lanes.ts";
import { drawDistribution, drawLatency } from "./latency.ts";
import type { Player } from "./player.ts";
import type { Trip } from "./scene.ts";
import { Sheet, View } from "./view.ts";

/** Largest distance of a pointer from the packet that it means, in pixels: fingers are less exact. */
const NEAR = { mouse: 9, touch: 18 };
/** The factor by which one press brings the picture nearer. */
const NEARER = 1.5;

export const KEYS =
  "Keys in the picture: space plays and pauses, ← and → choose a packet, ↑ and ↓ change sides, D drops the packet, + and − zoom. Dragged, the picture goes back in time.";

export interface Acts {
  choose(picked: Picked | undefined): void;
  drop(): void;
}

export class Stage {
  readonly lanes: HTMLElement;
  /** Latencies of messages, and how often each came. */
  readonly below: HTMLElement[];
  readonly view = new View();
  picked: Picked | undefined;
  #player: () => Player;
  #acts: Acts;
  #sheets: { lanes: Sheet; latency: Sheet; distribution: Sheet };

  constructor(player: () => Player, acts: Acts) {
    this.#player = player;
    this.#acts = acts;
    const canvas = (label: string): HTMLCanvasElement => element("canvas", { role: "img", "aria-label": label });
    const lanes = canvas("Packets of both sides between sender and receiver over time; a list of them is below");
    lanes.style.height = `${HEIGHT}px`;
    const latency = canvas("How long each message took; the table has the numbers");
    const distribution = canvas("How often messages took how long; the table has the numbers");
    this.#sheets = { lanes: new Sheet(lanes), latency: new Sheet(latency), distribution: new Sheet(distribution) };
    this.lanes = element("div", { class: "stage lanes", tabindex: "0", role: "group", "aria-label": `Packets. ${KEYS}` }, lanes);
    this.below = [
      element("figure", { class: "latencies" }, element("figcaption", {}, "How long each message took, from when it was due; bright: the flow shown above"), latency),
      element("figure", { class: "distribution" }, element("figcaption", {}, "How often, on a scale of factors of ten"), distribution),
    ];
    this.#point(lanes);
    this.lanes.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.#key(event.key)) event.preventDefault();
    });
  }

  /** The packet that is chosen. */
  get trip(): Trip | undefined {
    const picked = this.picked;
    return picked && this.#player().scene.sides[picked.side].trips.find(({ id }) => id === picked.id);
  }

  draw(): void {
    const player = this.#player();
    const { scene, setting } = player;
    this.view.now_ms = scene.now_ms;
    if (player.playing) this.view.back_ms = 0;
    const colors = theme();
    drawLanes(this.#sheets.lanes, this.view, scene, sideNames(setting), colors, this.picked);
    drawLatency(this.#sheets.latency, this.view, scene, setting.flow, colors);
    drawDistribution(this.#sheets.distribution, scene.numbers, colors);
  }

  #point(canvas: HTMLCanvasElement): void {
    let down: { x: number; moved: boolean } | undefined;
    canvas.addEventListener("pointerdown", (event) => {
      down = { x: event.clientX, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const near = this.#under(canvas, event);
      canvas.style.cursor = near === undefined ? "grab" : "pointer";
      if (down === undefined || Math.abs(event.clientX - down.x) < (down.moved ? 1 : 6)) return;
      if (this.#player().playing) this.#player().play(false);
      this.view.move(event.clientX - down.x);
      down = { x: event.clientX, moved: true };
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (down?.moved === false) this.#acts.choose(this.#under(canvas, event));
      down = undefined;
    });
    canvas.addEventListener("pointercancel", () => (down = undefined));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.view.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15);
      this.draw();
    }, { passive: false });
  }

  #under(canvas: HTMLCanvasElement, event: PointerEvent): Picked | undefined {
    const box = canvas.getBoundingClientRect();
    const near = event.pointerType === "mouse" ? NEAR.mouse : NEAR.touch;
    return pick(this.view, this.#player().scene, event.clientX - box.left, event.clientY - box.top, near);
  }

  #key(key: string): boolean {
    const player = this.#player();
    switch (key) {
      case " ":
        player.play(!player.playing);
        return true;
      case "+":
      case "=":
        this.zoom(NEARER);
        return true;
      case "-":
        this.zoom(1 / NEARER);
        return true;
      case "ArrowRight":
      case "ArrowLeft":
        this.#walk(key === "ArrowRight" ? 1 : -1);
        return true;
      case "ArrowUp":
      case "ArrowDown":
        this.#change(key === "ArrowUp" ? 0 : 1);
        return true;
      case "d":
      case "D":
      case "Delete":
        this.#acts.drop();
        return true;
      default:
        return false;
    }
  }

  zoom(times: number): void {
    this.view.zoom(times);
    this.draw();
  }

  /** Chooses the packet before or after the chosen one. */
  #walk(by: 1 | -1): void {
    const side = this.picked?.side ?? 0;
    const { trips } = this.#player().scene.sides[side];
    const place = trips.findIndex(({ id }) => id === this.picked?.id);
    const next = place < 0 ? trips.at(-1) : trips[place + by];
    if (next !== undefined) this.#show({ side, id: next.id }, next.sent_ms);
  }

  /** Chooses the packet of this side that left at about the same time. */
  #change(side: 0 | 1): void {
    const at = this.trip?.sent_ms ?? this.#player().scene.now_ms;
    const { trips } = this.#player().scene.sides[side];
    const nearest = trips.reduce<Trip | undefined>((best, one) => (best === undefined || Math.abs(one.sent_ms - at) < Math.abs(best.sent_ms - at) ? one : best), undefined);
    if (nearest !== undefined) this.#show({ side, id: nearest.id }, nearest.sent_ms);
  }

  /** Chooses a packet and brings it into view. */
  #show(picked: Picked, sent_ms: number): void {
    this.#player().play(false);
    if (sent_ms < this.view.from_ms || sent_ms > this.view.to_ms) {
      this.view.back_ms = 0;
      this.view.move((this.view.now_ms - sent_ms) * this.view.px_per_ms - this.view.width / 2);
    }
    this.#acts.choose(picked);
  }
}
