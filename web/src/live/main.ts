import { element } from "../dom.ts";
import "../style.css";
import { paint } from "../theme.ts";
import { read } from "./address.ts";
import { Engine } from "./engine.ts";
import "./live.css";
import { Page } from "./page.ts";

paint();
const place = document.getElementById("page") ?? document.body;

async function begin(): Promise<void> {
  const { engine, choices } = await Engine.start();
  const state = read(location.hash);
  const page = new Page(engine, choices, state);
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const begun = await page.player.begin(state.setting, state.at_ms);
  place.replaceChildren(...page.parts);
  page.show();
  // Where it did not begin, the page says why, and goes on saying so.
  if (begun) page.player.play(state.at_ms === 0 && !calm);
  // A link that is pasted into the page's own tab.
  window.addEventListener("hashchange", () => {
    const { setting, at_ms } = read(location.hash);
    page.player.play(false);
    void page.player.begin(setting, at_ms);
  });
}

begin().catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error);
  place.replaceChildren(element("p", { role: "alert" }, `The engine did not start: ${reason}. It needs WebAssembly and workers, which all browsers have had since 2023.`));
});
