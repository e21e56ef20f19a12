/** Modules that the build provides: the engine's WebAssembly, compressed and as base64, and the JavaScript that loads it. */
declare module "virtual:module" {
  const module: string;
  export default module;
}

declare module "virtual:engine" {
  export class Engine {
    constructor(setting: string);
    static of_capture(setting: string, capture: Capture): Engine;
    advance(to_ms: number): string;
    numbers(): string;
    plans(): string;
    free(): void;
  }
  export class Capture {
    constructor(bytes: Uint8Array);
    told(): string;
    free(): void;
  }
  export function choices(): string;
  export default function load(module: { module_or_path: BufferSource }): Promise<unknown>;
}

declare module "*?worker&inline" {
  const made: new () => Worker;
  export default made;
}
