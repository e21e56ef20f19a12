/** Runs the setting at the chosen speed, and begins again where a visitor changes the past. */
import type { State } from "./address.ts";
import type { Engine } from "./engine.ts";
import type { Setting } from "./model.ts";
import { Scene } from "./scene.ts";

/** Real time between two looks at the numbers, in milliseconds. */
const NUMBERS_EVERY = 250;
/** Real time that one frame makes up for at most: a page in the background does not race when it comes back. */
const LONGEST_FRAME = 100;
/** Length of one step, in milliseconds. */
const STEP = 50;

export interface Heard {
  /** The picture changed and is to be drawn anew. */
  frame(): void;
  /** The setting changed, playing began or ended. */
  state(): void;
  /** An error, in words. */
  wrong(what: string): void;
}

export class Player {
  scene: Scene;
  playing = false;
  #engine: Engine;
  #heard: Heard;
  #state: State;
  #asked = false;
  #run = 0;
  #last = 0;
  #numbers_at = 0;

  constructor(engine: Engine, state: State, heard: Heard) {
    this.#engine = engine;
    this.#state = state;
    this.#heard = heard;
    this.scene = new Scene(state.setting.flow);
    const tick = (at: number): void => {
      this.#tick(at);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  get setting(): Setting {
    return this.#state.setting;
  }

  get speed(): number {
    return this.#state.speed;
  }

  set speed(speed: number) {
    this.#state.speed = speed;
    this.#heard.state();
  }

  /** The state to be kept in the address. */
  get state(): State {
    return { ...this.#state, at_ms: this.scene.now_ms };
  }

  play(on: boolean): void {
    this.playing = on && !this.scene.is_over;
    this.#heard.state();
  }

  /** Runs another setting up to a time; false if it cannot run. */
  async begin(setting: Setting, to_ms: number): Promise<boolean> {
    const run = ++this.#run;
    try {
      const advanced = await this.#engine.begin(setting, to_ms);
      if (run !== this.#run) return false;
      this.scene = new Scene(setting.flow);
      this.scene.add(advanced);
      this.#state.setting = setting;
      this.#asked = false;
      this.#heard.state();
      this.#heard.frame();
      return true;
    } catch (error) {
      if (run === this.#run) {
        this.#asked = false;
        this.#heard.wrong(words(error));
      }
      return false;
    }
  }

  /** Adds a change. One that was there already at the same time, of the same kind, gives way. */
  change(change: string): Promise<boolean> {
    const kind = change.split("=")[0];
    const others = this.setting.changes.filter((one) => !(one.includes("=") && one.split("=")[0] === kind));
    const changes = others.includes(change) ? others : [...others, change];
    return this.begin({ ...this.setting, changes }, this.scene.now_ms);
  }

  /** Changes the network from the present on: `loss=5`, `cut`. */
  now(what: string): Promise<boolean> {
    return this.change(`${Math.ceil(this.scene.now_ms)}:${what}`);
  }

  /** Takes a change back. */
  undo(change: string): Promise<boolean> {
    const changes = this.setting.changes.filter((one) => one !== change);
    return this.begin({ ...this.setting, changes }, this.scene.now_ms);
  }

  /** A short step ahead, for those who look closely. */
  async step(): Promise<void> {
    this.play(false);
    await this.#advance(this.scene.now_ms + STEP, true);
  }

  #tick(at: number): void {
    const passed = Math.min(at - this.#last, LONGEST_FRAME);
    this.#last = at;
    if (!this.playing || this.#asked) return;
    const numbers = at - this.#numbers_at > NUMBERS_EVERY;
    if (numbers) this.#numbers_at = at;
    void this.#advance(this.scene.now_ms + passed * this.speed, numbers);
  }

  async #advance(to_ms: number, numbers: boolean): Promise<void> {
    const run = this.#run;
    this.#asked = true;
    try {
      const advanced = await this.#engine.advance(to_ms, numbers);
      if (run !== this.#run) return;
      this.scene.add(advanced);
      this.#asked = false;
      if (this.scene.is_over && this.playing) this.play(false);
      this.#heard.frame();
    } catch (error) {
      if (run !== this.#run) return;
      this.playing = false;
      this.#asked = false;
      this.#heard.wrong(words(error));
    }
  }
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
