import { defineConfig } from "vitest/config";
import { viteSingleFile } from "vite-plugin-singlefile";

// One file, which needs no network: `make report-page` copies it to where the command embeds it.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: { target: "es2022", chunkSizeWarningLimit: 2_000 },
  // A loaded machine takes long to read the plotting library.
  test: { environment: "jsdom", hookTimeout: 120_000, testTimeout: 120_000 },
});
