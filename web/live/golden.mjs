/**
 * The engine's numbers as WebAssembly, beside those of `golden/`, which native builds give: the same bytes for each plan of
 * flows whose files are in it.
 *
 * node golden.mjs ENGINE_FOLDER ROOT
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Plans that are compared at least. */
const LEAST = 20;

const [folder, root] = process.argv.slice(2).map((path) => resolve(path));
const { default: load, golden } = await import(pathToFileURL(join(folder, "engine.js")).href);
await load({ module_or_path: readFileSync(join(folder, "engine_bg.wasm")) });

/** Plans below a folder. */
function plans(below) {
  return readdirSync(below, { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? plans(path) : path.endsWith(".toml") ? [path] : [];
  });
}

/** A study is no simulation of flows; a profile is another file, which a page does not read. */
const isOfFlows = (text) => !/^study = /m.test(text) && !/profile = "[^"\s]+"/.test(text);

let same = 0;
const differ = [];
for (const path of plans(join(root, "experiments")).sort()) {
  const text = readFileSync(path, "utf8");
  const expected = join(root, "golden", `${basename(dirname(path))}-${basename(path, ".toml")}.txt`);
  if (!isOfFlows(text) || !existsSync(expected)) continue;
  if (golden(text) === readFileSync(expected, "utf8")) same += 1;
  else differ.push(basename(expected));
}
console.log(`live: ${same} plans give the same bytes as WebAssembly and natively`);
if (differ.length > 0 || same < LEAST) {
  console.error(`live: ${differ.length} plans differ (${differ.join(", ")}), ${same} are the same; expected ${LEAST} or more, and none that differs`);
  process.exit(1);
}
