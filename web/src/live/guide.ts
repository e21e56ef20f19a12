/** Three steps for those who see it for the first time, each under a minute. */
import { button, element } from "../dom.ts";
import { time } from "../numbers.ts";
import type { Setting } from "./model.ts";
import type { Player } from "./player.ts";

/** Words from a time of the run on; they may tell what was measured. */
export interface Cue {
  at_ms: number;
  text(player: Player): string;
}

export interface Scenario {
  setting: Setting;
  speed: number;
  /** Pixels for a millisecond. */
  zoom: number;
  cues: Cue[];
  /** Times from and to which it is shown. */
  from_ms: number;
  until_ms: number;
}

export interface Step {
  title: string;
  scenarios: Scenario[];
}

/** The message that is lost: late enough that round trips were measured. It is due at 3.24 s. */
const LOST = 12;
const FROM_MS = 2_300;
const UNTIL_MS = 4_600;
const ONE: Setting = {
  application: "signalling",
  network: "continent",
  policies: ["sctp:rfc", "sctp:latency"],
  flows: 1,
  flow: 0,
  seed: 4,
  changes: ["0:loss=0", `m${LOST}`],
};

/** The standard, with receivers that acknowledge at once, as in the papers' measurements. */
const PROMPT = "sctp:rfc;sack-delay=off";

const says = (at_ms: number, text: string): Cue => ({ at_ms, text: () => text });

/** Latency of the lost message on a side, in words. */
function took(player: Player, side: 0 | 1): string {
  const latency = player.scene.latency(side, LOST);
  return latency === undefined ? "longer than this" : time(Math.round(latency));
}

function mechanism(policy: string, before: string, after: string): Scenario {
  return {
    setting: { ...ONE, policies: [PROMPT, policy] },
    speed: 0.25,
    zoom: 0.3,
    from_ms: FROM_MS,
    until_ms: UNTIL_MS,
    cues: [says(0, before), { at_ms: 3_700, text: (player) => `${after} Message ${LOST} took ${took(player, 1)}; ${took(player, 0)} without.` }],
  };
}

export const STEPS: Step[] = [
  {
    title: "Why a lost packet costs a second",
    scenarios: [
      {
        setting: ONE,
        speed: 0.1,
        zoom: 0.34,
        from_ms: FROM_MS,
        until_ms: UNTIL_MS,
        cues: [
          says(0, "Four times a second a message leaves the sender, the upper line, and reaches the receiver 50 ms later. Answers come back."),
          says(3_180, `Message ${LOST} is lost. The sender does not know: acknowledgements report only data that arrived.`),
          says(3_550, "Later messages arrive, and wait behind the lost one, since they are to be read in order: the bars below grow. A game stutters now."),
          says(3_850, "Above, by the rules of the standard, the sender waits until three later messages are reported, or until its timer of at least a second expires. With four messages a second, both take long."),
          { at_ms: 4_250, text: (player) => `Message ${LOST} took ${took(player, 0)} above. Below, with timers for thin streams, it took ${took(player, 1)}. Click the orange packets to read why they left.` },
        ],
      },
    ],
  },
  {
    title: "What each mechanism does",
    scenarios: [
      mechanism(`${PROMPT};rto-min-thin=200ms`, "The same lost message, with receivers that acknowledge at once. Below, the timer may be as short as 200 ms while the stream is thin (Petlund et al. 2009).", "The timer repaired it, before the next message could reveal the loss."),
      mechanism(`${PROMPT};dup-threshold-thin=1`, "Below, one report of a later message is enough, where the standard wants three.", "The next message revealed the loss."),
      mechanism(`${PROMPT};bundling=paper`, "Below, each packet carries a copy of messages that are not acknowledged yet: the purple ones.", "The next message brought a copy of it."),
      mechanism("sctp:latency", "Below, what all of them come to at the bound that the path sets: a timer of little more than a round trip, and copies where they help.", "It was sent again little more than a round trip after it had left."),
    ],
  },
  {
    title: "What it costs",
    scenarios: [
      {
        setting: { ...ONE, application: "game", flows: 20, seed: 1, changes: ["0:loss=2"] },
        speed: 3,
        zoom: 0.06,
        from_ms: 0,
        until_ms: 90_000,
        cues: [
          says(0, "Twenty players, 2 % lost each way. Each dot is a message: the higher, the later it came."),
          says(20_000, "Copies and short timers send more. The table counts it: packets and bytes for each message, and copies that came in vain."),
          {
            at_ms: 60_000,
            text: (player) => {
              const [left, right] = player.scene.numbers ?? [];
              if (left === undefined || right === undefined) return "";
              return `One message in 100 took longer than ${time(left.quantiles_ms[2])} with the standard's rules, and than ${time(right.quantiles_ms[2])} with those for thin streams. The price: ${right.bytes.toFixed(0)} bytes a message on the wire in place of ${left.bytes.toFixed(0)}, ${right.packets.toFixed(2)} packets in place of ${left.packets.toFixed(2)}.`;
            },
          },
        ],
      },
    ],
  },
];

/** Shows the steps, and leads through them. */
export class Guide {
  readonly place: HTMLElement;
  #words = element("p", { class: "words", role: "status" });
  #player: () => Player;
  #begin: (scenario: Scenario) => Promise<void>;
  #step: Step | undefined;
  #scenario = 0;
  #next: HTMLButtonElement;
  #steps: HTMLButtonElement[];

  constructor(player: () => Player, begin: (scenario: Scenario) => Promise<void>) {
    this.#player = player;
    this.#begin = begin;
    this.#steps = STEPS.map((step, index) => {
      const made = button("", () => void this.#enter(step, 0));
      made.append(element("span", { class: "number" }, String(index + 1)), step.title);
      made.setAttribute("aria-pressed", "false");
      return made;
    });
    this.#next = button("Next", () => this.#go());
    this.#next.hidden = true;
    this.place = element(
      "section",
      { class: "guide", "aria-label": "Three steps, each under a minute" },
      element("div", { class: "steps" }, ...this.#steps),
      element("div", { class: "said" }, this.#words, this.#next),
    );
    this.#words.textContent = "New here? Each step takes less than a minute. Or just play: click a packet and drop it.";
  }

  async #enter(step: Step, scenario: number): Promise<void> {
    this.#step = step;
    this.#scenario = scenario;
    this.#steps.forEach((made, index) => made.setAttribute("aria-pressed", String(STEPS[index] === step)));
    this.#next.hidden = true;
    const one = step.scenarios[scenario];
    if (one !== undefined) await this.#begin(one);
    this.tick();
  }

  #go(): void {
    if (this.#step === undefined) return;
    if (this.#scenario + 1 < this.#step.scenarios.length) void this.#enter(this.#step, this.#scenario + 1);
    else {
      const next = STEPS[STEPS.indexOf(this.#step) + 1];
      if (next === undefined) this.leave();
      else void this.#enter(next, 0);
    }
  }

  /** The visitor does something else. */
  leave(): void {
    this.#step = undefined;
    this.#next.hidden = true;
    this.#steps.forEach((made) => made.setAttribute("aria-pressed", "false"));
    this.#say("");
  }

  #say(text: string): void {
    if (this.#words.textContent !== text) this.#words.textContent = text;
  }

  /** Time has passed. */
  tick(): void {
    const scenario = this.#step?.scenarios[this.#scenario];
    if (scenario === undefined) return;
    const player = this.#player();
    const now = player.scene.now_ms;
    const cue = scenario.cues.filter(({ at_ms }) => at_ms <= now).at(-1);
    // What is told of numbers stays as it was told when its time came.
    if (cue !== undefined && (this.#cue !== cue || now < scenario.until_ms)) this.#say(cue.text(player));
    this.#cue = cue;
    if (now >= scenario.until_ms && this.#next.hidden) {
      player.play(false);
      this.#next.hidden = false;
      const isLast = this.#step === STEPS.at(-1);
      this.#next.textContent = isLast ? "Play on" : "Next";
    }
  }

  #cue: Cue | undefined;
}
