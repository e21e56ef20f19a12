/** The page's side of the worker: questions, and their answers in order. */
import module from "virtual:module";

import type { Advanced, Answer, Choices, Request, Setting, Told } from "./model.ts";
import EngineWorker from "./worker.ts?worker&inline";

/** Bytes of a compressed base64 text. */
async function unpacked(text: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export class Engine {
  #worker = new EngineWorker();
  #waiting: { done(value: unknown): void; fail(error: Error): void }[] = [];
  #broken: Error | undefined;

  private constructor() {
    this.#worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
      const asked = this.#waiting.shift();
      if ("error" in data) asked?.fail(new Error(data.error));
      else asked?.done(data.ok);
    });
    this.#worker.addEventListener("error", ({ message }) => {
      const broken = new Error(message || "this browser does not let it run in a thread of its own");
      this.#broken = broken;
      this.#waiting.splice(0).forEach(({ fail }) => fail(broken));
    });
  }

  /** Starts the engine; what can be chosen. */
  static async start(): Promise<{ engine: Engine; choices: Choices }> {
    const engine = new Engine();
    const bytes = await unpacked(module);
    const choices = (await engine.#ask({ kind: "load", module: bytes }, [bytes])) as Choices;
    return { engine, choices };
  }

  #ask(request: Request, transfer: Transferable[] = []): Promise<unknown> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    return new Promise((done, fail) => {
      this.#waiting.push({ done, fail });
      this.#worker.postMessage(request, transfer);
    });
  }

  /** The run of a setting up to a time. */
  begin(setting: Setting, to_ms: number): Promise<Advanced> {
    return this.#ask({ kind: "begin", setting, to_ms }) as Promise<Advanced>;
  }

  /** Runs on; the numbers are wanted now and then only. */
  advance(to_ms: number, numbers: boolean): Promise<Advanced> {
    return this.#ask({ kind: "advance", to_ms, numbers }) as Promise<Advanced>;
  }

  /** Reads a capture, whose traffic the application `capture` then has. */
  capture(bytes: ArrayBuffer): Promise<Told> {
    return this.#ask({ kind: "capture", bytes }, [bytes]) as Promise<Told>;
  }

  /** The plans of both sides, for the command. */
  plans(): Promise<[string, string]> {
    return this.#ask({ kind: "plans" }) as Promise<[string, string]>;
  }
}
