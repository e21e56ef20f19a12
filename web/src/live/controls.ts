/** Choices before a run: application, network, policies, flows, seed. */
import { element } from "../dom.ts";
import type { Choices, Policy, Setting, Told } from "./model.ts";

/** A policy's name on the page: `SCTP latency`. */
export function policyName(text: string): string {
  const [name = "", ...fields] = text.split(";");
  const [transport = "", preset = ""] = name.split(":");
  const changed = fields.filter((field) => field !== "");
  return [`${transport.toUpperCase()} ${preset}`, ...changed].join(", ");
}

/** The names of both sides, apart where they are equal. */
export function sideNames({ policies: [left, right] }: Setting): [string, string] {
  const [a, b] = [policyName(left), policyName(right)];
  return a === b ? [`${a} (first)`, `${b} (second)`] : [a, b];
}

function labelled(text: string, field: HTMLElement, ...more: HTMLElement[]): HTMLElement {
  return element("label", { class: "chosen" }, element("span", {}, text), field, ...more);
}

function option(value: string, text: string, title: string): HTMLOptionElement {
  return element("option", { value, title }, text);
}

function policyText({ transport, preset }: Policy): string {
  return `${transport}:${preset}`;
}

export class Controls {
  readonly place: HTMLElement;
  #application = element("select", { name: "application" });
  #network = element("select", { name: "network" });
  #policies = [0, 1].map((side) => element("select", { name: `policy-${side}` }));
  #flows = element("input", { type: "number", name: "flows", min: "1", max: "100", inputmode: "numeric" });
  #flow = element("input", { type: "number", name: "flow", min: "0", max: "99", inputmode: "numeric" });
  #seed = element("input", { type: "number", name: "seed", min: "0", max: "4294967295", inputmode: "numeric" });
  #about = element("p", { class: "faint about" });
  #choices: Choices;

  constructor(choices: Choices, choose: (setting: Partial<Setting>) => void) {
    this.#choices = choices;
    this.#application.append(...choices.applications.map(({ name, title, about }) => option(name, title, about)));
    this.#network.append(...choices.networks.map(({ name, title, about }) => option(name, title, about)));
    for (const select of this.#policies) {
      for (const transport of ["sctp", "tcp"] as const) {
        const of = choices.policies.filter((one) => one.transport === transport);
        const options = of.map((one) => option(policyText(one), policyName(policyText(one)), one.about));
        select.append(element("optgroup", { label: transport.toUpperCase() }, ...options));
      }
    }
    const [left, right] = this.#policies as [HTMLSelectElement, HTMLSelectElement];
    const number = (input: HTMLInputElement): number => Math.min(Math.max(Math.round(Number(input.value) || 0), Number(input.min)), Number(input.max));
    this.#application.addEventListener("change", () => choose({ application: this.#application.value }));
    this.#network.addEventListener("change", () => choose({ network: this.#network.value }));
    for (const select of this.#policies) select.addEventListener("change", () => choose({ policies: [left.value, right.value] }));
    this.#flows.addEventListener("change", () => choose({ flows: number(this.#flows) }));
    this.#flow.addEventListener("change", () => choose({ flow: number(this.#flow) }));
    this.#seed.addEventListener("change", () => choose({ seed: number(this.#seed) }));
    this.place = element(
      "form",
      { class: "controls-row", "aria-label": "What runs" },
      labelled("Application", this.#application),
      labelled("Network", this.#network),
      labelled("First policy", left),
      labelled("Second policy", right),
      labelled("Flows", this.#flows),
      labelled("Shown", this.#flow),
      labelled("Seed", this.#seed),
      this.#about,
    );
    this.place.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows what runs. */
  show(setting: Setting): void {
    this.#application.value = setting.application;
    this.#network.value = setting.network;
    this.#policies.forEach((select, side) => {
      const text = setting.policies[side as 0 | 1];
      if (![...select.options].some(({ value }) => value === text)) {
        select.append(option(text, policyName(text), "a preset with fields that differ"));
      }
      select.value = text;
    });
    this.#flows.value = String(setting.flows);
    this.#flow.value = String(setting.flow);
    this.#flow.max = String(setting.flows - 1);
    this.#seed.value = String(setting.seed);
    const { applications, networks } = this.#choices;
    const about = [applications.find(({ name }) => name === setting.application), networks.find(({ name }) => name === setting.network)];
    this.#about.textContent = about.map((one) => one?.about ?? "").join(" ").trim();
  }

  /** Offers the traffic of a capture. */
  offer(name: string, told: Told): void {
    const streams = told.streams.length + told.left_out;
    const about = `${told.messages} messages of ${streams === 1 ? "one stream" : `${streams} streams`} in ${told.seconds.toFixed(1)} s, sent as they were captured.`;
    this.#choices.applications = [...this.#choices.applications.filter((one) => one.name !== "capture"), { name: "capture", title: name, about }];
    this.#application.querySelector("option[value=capture]")?.remove();
    this.#application.append(option("capture", `Your capture: ${name}`, about));
  }
}
