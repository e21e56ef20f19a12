/** State in the address, so that a link shows a colleague the same thing. */
import type { Setting } from "./model.ts";

export interface State {
  setting: Setting;
  /** Virtual time of the run, in milliseconds. */
  at_ms: number;
  /** Virtual seconds for each real second, `SLOWEST` to `FASTEST`. */
  speed: number;
}

export const FIRST: State = {
  setting: {
    application: "game",
    network: "continent",
    policies: ["sctp:rfc", "sctp:latency"],
    flows: 5,
    flow: 0,
    seed: 1,
    changes: [],
  },
  at_ms: 0,
  speed: 0.5,
};

export const SLOWEST = 0.02;
export const FASTEST = 50;

/** The state as the part of an address behind its `#`. */
export function write({ setting, at_ms, speed }: State): string {
  const { application, network, policies, flows, flow, seed, changes } = setting;
  const parts: [string, string][] = [
    ["app", application],
    ["net", network],
    ["a", policies[0]],
    ["b", policies[1]],
    ["flows", String(flows)],
    ["flow", String(flow)],
    ["seed", String(seed)],
    ["do", changes.join(",")],
    ["at", String(Math.round(at_ms))],
    ["speed", String(speed)],
  ];
  const told = parts.filter(([, value]) => value !== "");
  // Of what policies and changes have, only these are kept apart.
  const plain = (text: string): string => encodeURIComponent(text).replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%3D/g, "=").replace(/%3B/g, ";");
  return told.map(([key, value]) => `${key}=${plain(value)}`).join("&");
}

/** Reads that part; a missing or invalid value is that of `FIRST`. */
export function read(text: string): State {
  const parts = new Map<string, string>();
  for (const part of text.replace(/^#/, "").split("&")) {
    const end = part.indexOf("=");
    if (end > 0) parts.set(part.slice(0, end), decoded(part.slice(end + 1)));
  }
  const { setting } = FIRST;
  const number = (key: string, first: number, least: number, most: number): number => {
    const value = Number(parts.get(key) ?? first);
    return Number.isFinite(value) ? Math.min(Math.max(value, least), most) : first;
  };
  const whole = (key: string, first: number, least: number, most: number): number => Math.round(number(key, first, least, most));
  const flows = whole("flows", setting.flows, 1, 100);
  return {
    setting: {
      application: parts.get("app") ?? setting.application,
      network: parts.get("net") ?? setting.network,
      policies: [parts.get("a") ?? setting.policies[0], parts.get("b") ?? setting.policies[1]],
      flows,
      flow: whole("flow", setting.flow, 0, flows - 1),
      seed: whole("seed", setting.seed, 0, 4_294_967_295),
      changes: (parts.get("do") ?? "").split(",").filter((change) => change !== ""),
    },
    at_ms: number("at", 0, 0, 600_000),
    speed: number("speed", FIRST.speed, SLOWEST, FASTEST),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
