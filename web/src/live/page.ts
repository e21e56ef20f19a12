/** The whole page: what is chosen, the picture, why, what was done, the numbers. */
import { button, element, save, table } from "../dom.ts";
import { onTheme, theme, toggleTheme } from "../theme.ts";
import { type State, write } from "./address.ts";
import { Controls, sideNames } from "./controls.ts";
import type { Engine } from "./engine.ts";
import { Guide, type Scenario } from "./guide.ts";
import { type Picked, sideColor } from "./lanes.ts";
import type { Choices, Setting } from "./model.ts";
import { Knobs } from "./network.ts";
import { NumbersTable } from "./numbers.ts";
import { Player } from "./player.ts";
import { type Trip, told, seconds } from "./scene.ts";
import { KEYS, Stage } from "./stage.ts";
import { describe, showWhy } from "./why.ts";

/** Real time between two looks at what changes slowly, in milliseconds. */
const SLOWLY = 200;
/** Packets of each side in the list. */
const LISTED = 40;
/** Flows of a capture that run at first. */
const FLOWS_OF_CAPTURE = 20;

export class Page {
  readonly parts: HTMLElement[];
  readonly player: Player;
  #engine: Engine;
  #controls: Controls;
  #knobs: Knobs;
  #guide: Guide;
  #stage: Stage;
  #numbers = new NumbersTable();
  #why = element("div", { class: "why" });
  #changes = element("ul", { class: "changes", "aria-label": "What you did" });
  #live = element("p", { class: "skip", role: "status" });
  #wrong = element("p", { class: "wrong", role: "alert" });
  #list = element("details", { class: "data" }, element("summary", {}, "The last packets as a list"));
  #slow_at = 0;

  constructor(engine: Engine, choices: Choices, state: State) {
    this.#engine = engine;
    const player = (): Player => this.player;
    this.player = new Player(engine, state, { frame: () => this.#frame(), state: () => this.#changed(), wrong: (what) => this.#refuse(what) });
    this.#controls = new Controls(choices, (setting) => void this.#choose(setting));
    this.#knobs = new Knobs(choices, player, () => void this.#again(), () => void this.#share());
    this.#guide = new Guide(player, (scenario) => this.#scenario(scenario));
    this.#stage = new Stage(player, { choose: (picked) => this.#pick(picked), drop: () => this.#drop() });
    this.parts = this.#build();
    this.#list.addEventListener("toggle", () => this.#tell());
    this.#paint();
    onTheme(() => {
      this.#paint();
      this.#frame();
    });
    window.addEventListener("resize", () => this.#stage.draw());
    this.#takeFiles();
  }

  #build(): HTMLElement[] {
    const zoom = [button("Nearer", () => this.#stage.zoom(1.5)), button("Farther", () => this.#stage.zoom(1 / 1.5))];
    const file = element("input", { type: "file", accept: ".pcap,.pcapng,.cap", class: "file" });
    file.addEventListener("change", () => void this.#capture(file.files?.[0]));
    const own = element("label", { class: "own" }, "Your own traffic: drop a packet capture (pcap, pcapng) anywhere on the page, or choose one. It stays on this machine.", file);
    const header = element(
      "header",
      {},
      element("div", { class: "bar" }, element("h1", {}, "One lost packet, two ways to recover"), button("Light / dark", toggleTheme)),
      element("p", { class: "lead" }, "A program sends small messages over a network that loses some. Above one recovery policy, below another, on the same losses. All of it runs in this page: the protocols are thinstream's own, the network is simulated."),
    );
    const stage = element(
      "section",
      { class: "show", "aria-label": "The run" },
      this.#knobs.transport,
      this.#knobs.place,
      element(
        "div",
        { class: "pictures" },
        this.#stage.lanes,
        element("div", { class: "beside" }, this.#numbers.place),
        element("div", { class: "legend-row" }, ...legend(), element("span", { class: "grow" }), ...zoom),
        ...this.#stage.below,
      ),
      element("p", { class: "how" }, KEYS),
    );
    const why = element("section", { class: "card", "aria-label": "Why" }, element("h2", {}, "Why this packet"), this.#why);
    const done = element("section", { class: "card", "aria-label": "What you did" }, element("h2", {}, "What you did"), this.#changes);
    const plans = button("Plans for the command", () => void this.#plans());
    return [
      element("a", { class: "skip", href: "#main" }, "To the run"),
      header,
      element(
        "main",
        { id: "main" },
        this.#guide.place,
        this.#controls.place,
        this.#wrong,
        stage,
        element("div", { class: "cards" }, why, done),
        this.#list,
        own,
        element("p", { class: "how" }, "The same seed and the same changes give the same run on any machine. ", plans, " writes both sides as plans for thinstream lab run."),
        this.#live,
      ),
    ];
  }

  /** The colours of the sides, for the style sheet. */
  #paint(): void {
    for (const side of [0, 1] as const) document.documentElement.style.setProperty(`--side-${side}`, sideColor(theme(), side));
  }

  /** Draws it for the first time, once it has its place on the screen. */
  show(): void {
    this.#stage.draw();
  }

  #frame(): void {
    this.#stage.draw();
    this.#knobs.tick();
    this.#guide.tick();
    const now = performance.now();
    if (this.player.playing && now - this.#slow_at < SLOWLY) return;
    this.#slow_at = now;
    this.#numbers.show(sideNames(this.player.setting), this.player.scene.numbers);
    this.#showChanges();
    const trip = this.#stage.trip;
    if (trip?.fate !== this.#shown?.fate || trip?.id !== this.#shown?.id) this.#showWhy();
  }

  #shown: { id: number; fate: number | null | undefined } | undefined;

  #changed(): void {
    this.#controls.show(this.#wanted ?? this.player.setting);
    this.#knobs.show();
    this.#wrong.textContent = "";
    this.#showChanges();
    this.#showWhy();
    if (!this.player.playing) this.#tell();
    this.#keep();
  }

  /** Keeps the state in the address. */
  #keep(): void {
    if (this.player.setting.application !== "capture") history.replaceState(null, "", `#${write(this.player.state)}`);
  }

  #refuse(what: string): void {
    this.player.playing = false;
    this.#changed();
    this.#wrong.textContent = what;
  }

  #say(text: string): void {
    this.#live.textContent = text;
  }

  /** The last choice until its run begins: choices may come faster than runs begin. */
  #wanted: Setting | undefined;

  async #choose(chosen: Partial<Setting>): Promise<void> {
    this.#guide.leave();
    const setting = { ...(this.#wanted ?? this.player.setting), ...chosen };
    this.#wanted = setting;
    setting.flow = Math.min(setting.flow, setting.flows - 1);
    // Changes of another network, and packets of other messages, are those of the past.
    if (chosen.network !== undefined || chosen.application !== undefined) setting.changes = [];
    this.#stage.picked = undefined;
    const begun = await this.player.begin(setting, 0);
    if (this.#wanted === setting) {
      this.#wanted = undefined;
      this.#controls.show(this.player.setting);
    }
    if (begun) this.player.play(true);
  }

  async #again(): Promise<void> {
    this.#stage.picked = undefined;
    if (await this.player.begin(this.player.setting, 0)) this.player.play(true);
  }

  async #scenario({ setting, speed, zoom, from_ms }: Scenario): Promise<void> {
    this.#wanted = undefined;
    this.#stage.picked = undefined;
    this.#stage.view.px_per_ms = zoom * Math.min(1, Math.max(0.45, this.#stage.view.width / 900));
    this.player.speed = speed;
    if (await this.player.begin(setting, from_ms)) this.player.play(true);
  }

  #pick(picked: Picked | undefined): void {
    this.#stage.picked = picked;
    this.#stage.draw();
    this.#showWhy();
    const trip = this.#stage.trip;
    if (picked !== undefined && trip !== undefined) this.#say(`${sideNames(this.player.setting)[picked.side]}. ${told(trip)}. ${trip.why.text}`);
  }

  #drop(): void {
    const trip = this.#stage.trip;
    if (trip !== undefined && trip.drop !== "" && trip.fate !== null) void this.#act(trip.drop, false);
  }

  /** Drops a packet, or lets it pass again. */
  async #act(change: string, back: boolean): Promise<void> {
    this.#guide.leave();
    const done = back ? await this.player.undo(change) : await this.player.change(change);
    if (done) this.#say(back ? "It passes again." : `Dropped. ${describe(change, this.player, sideNames(this.player.setting))}`);
  }

  #showWhy(): void {
    const trip = this.#stage.trip;
    const side = this.#stage.picked?.side ?? 0;
    this.#shown = trip && { id: trip.id, fate: trip.fate };
    showWhy(this.#why, this.player, sideNames(this.player.setting)[side], trip, (change, back) => void this.#act(change, back));
  }

  #showChanges(): void {
    const { changes } = this.player.setting;
    const names = sideNames(this.player.setting);
    const texts = changes.map((change) => describe(change, this.player, names));
    const key = JSON.stringify([changes, texts]);
    if (this.#changes.dataset["key"] === key) return;
    this.#changes.dataset["key"] = key;
    const rows = changes.map((change, index) => {
      const undo = button("Undo", () => void this.#act(change, true));
      undo.setAttribute("aria-label", `Undo: ${texts[index] ?? change}`);
      return element("li", {}, element("span", {}, texts[index]), undo);
    });
    this.#changes.replaceChildren(...(rows.length > 0 ? rows : [element("li", { class: "faint" }, "Nothing yet. Drop a packet, or pull loss and round trip while it runs.")]));
  }

  /** The last packets for those who read or hear them. */
  #tell(): void {
    if (!this.#list.open) return;
    const names = sideNames(this.player.setting);
    const all = this.player.scene.sides.flatMap((side, index) => side.trips.slice(-LISTED).map((trip) => ({ trip, side: index as 0 | 1 })));
    all.sort((one, other) => other.trip.sent_ms - one.trip.sent_ms);
    const row = ({ trip, side }: { trip: Trip; side: 0 | 1 }): (string | Node)[] => {
      const choose = button("Why", () => {
        this.#pick({ side, id: trip.id });
        this.#why.scrollIntoView({ block: "center" });
      });
      choose.setAttribute("aria-label", `Why: ${told(trip)}, ${names[side]}`);
      return [seconds(trip.sent_ms), names[side], told(trip), choose];
    };
    const shown = table("The last packets, the newest first; as of the last pause", ["Left at", "Side", "Packet", "Why"], all.map(row));
    this.#list.replaceChildren(this.#list.firstElementChild ?? "", element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The last packets" }, shown));
  }

  async #share(): Promise<void> {
    this.player.play(false);
    this.#keep();
    if (this.player.setting.application === "capture") return this.#say("A capture stays on this machine, so there is no link to it.");
    try {
      await navigator.clipboard.writeText(location.href);
      this.#toast("The link is copied: it shows the same run, up to this moment.");
    } catch {
      this.#toast("The address of this page is the link: it shows the same run, up to this moment.");
    }
  }

  #toast(text: string): void {
    this.#say(text);
    const shown = element("p", { class: "toast" }, text);
    document.body.append(shown);
    setTimeout(() => shown.remove(), 4_000);
  }

  async #plans(): Promise<void> {
    const plans = await this.#engine.plans();
    plans.forEach((plan, side) => save(`live-${side === 0 ? "first" : "second"}.toml`, "text/plain", plan));
  }

  #takeFiles(): void {
    window.addEventListener("dragover", (event) => {
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    window.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      void this.#capture(event.dataTransfer?.files[0]);
    });
  }

  /** Runs the traffic of a capture over a network as it shows. */
  async #capture(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    this.player.play(false);
    try {
      const told = await this.#engine.capture(await file.arrayBuffer());
      this.#controls.offer(file.name, told);
      const changes = [];
      if (told.rtt_ms !== null) changes.push(`0:rtt=${Math.min(Math.max(1, Math.round(told.rtt_ms)), 10_000)}`);
      if (told.loss !== null) changes.push(`0:loss=${Number(told.loss.toPrecision(2))}`);
      const usual = told.transport === "sctp" ? "sctp:lksctp" : "tcp:linux";
      this.#guide.leave();
      this.#stage.picked = undefined;
      const setting: Setting = {
        ...this.player.setting,
        application: "capture",
        network: "continent",
        policies: [usual, `${told.transport}:latency`],
        flows: Math.min(told.streams.length, FLOWS_OF_CAPTURE),
        flow: 0,
        changes,
      };
      if (await this.player.begin(setting, 0)) {
        this.#toast(`${file.name}: ${told.messages} messages, sent again under both policies.`);
        this.player.play(true);
      }
    } catch (error) {
      this.#refuse(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

function legend(): HTMLElement[] {
  const roles: [string, string][] = [
    ["data", "new"],
    ["again", "sent again"],
    ["along", "new with copies"],
    ["ack", "acknowledgement"],
    ["lost", "lost"],
  ];
  return roles.map(([role, text]) => element("span", { class: `key ${role}` }, text));
}
