/** The engine in a thread of its own, so that the page stays smooth however fast time runs. */
import load, { Capture, Engine, choices } from "virtual:engine";

import type { Advanced, Answer, Frame, Numbers, Request } from "./model.ts";

let engine: Engine | undefined;
let capture: Capture | undefined;

function advance(to_ms: number, numbers: boolean): Advanced {
  if (engine === undefined) throw new Error("nothing has begun");
  const frame = JSON.parse(engine.advance(to_ms)) as Frame;
  return numbers ? { frame, numbers: JSON.parse(engine.numbers()) as [Numbers, Numbers] } : { frame };
}

async function answer(request: Request): Promise<unknown> {
  switch (request.kind) {
    case "load":
      await load({ module_or_path: request.module });
      return JSON.parse(choices());
    case "begin": {
      const text = JSON.stringify(request.setting);
      const of_capture = request.setting.application === "capture" && capture !== undefined;
      const begun = of_capture && capture !== undefined ? Engine.of_capture(text, capture) : new Engine(text);
      engine?.free();
      engine = begun;
      return advance(request.to_ms, true);
    }
    case "advance":
      return advance(request.to_ms, request.numbers);
    case "capture": {
      const read = new Capture(new Uint8Array(request.bytes));
      capture?.free();
      capture = read;
      return JSON.parse(read.told());
    }
    case "plans":
      return JSON.parse(engine?.plans() ?? "[]");
  }
}

// Requests are answered one after the other.
let last: Promise<unknown> = Promise.resolve();
self.addEventListener("message", ({ data }: MessageEvent<Request>) => {
  last = last.then(async () => {
    let told: Answer;
    try {
      told = { ok: await answer(data) };
    } catch (error) {
      told = { error: error instanceof Error ? error.message : String(error) };
    }
    self.postMessage(told);
  });
});
