import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

import { type Plugin, defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** Folder into which `ci/live` puts the engine: the module and the JavaScript that loads it. */
const ENGINE = process.env["LIVE_ENGINE"] ?? resolve(import.meta.dirname, "../target/live");

/** The engine's module inside the page: compressed, as text. */
function embedded(): Plugin {
  const name = "virtual:module";
  return {
    name: "embedded-module",
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined;
      const module = gzipSync(readFileSync(join(ENGINE, "engine_bg.wasm")), { level: 9 });
      return `export default ${JSON.stringify(module.toString("base64"))};`;
    },
  };
}

// One file, which needs no network.
export default defineConfig({
  plugins: [embedded(), viteSingleFile({ removeViteModuleLoader: true })],
  resolve: { alias: { "virtual:engine": join(ENGINE, "engine.js") } },
  // A module cannot be loaded from a blob by a page that was opened from a disk.
  worker: { format: "iife" },
  build: {
    target: "es2022",
    outDir: "dist/live",
    chunkSizeWarningLimit: 6_000,
    rolldownOptions: { input: "live.html" },
  },
});
