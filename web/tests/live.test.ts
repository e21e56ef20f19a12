import { describe, expect, it } from "vitest";

import { FIRST, read, write } from "../src/live/address.ts";
import { STEPS } from "../src/live/guide.ts";
import { toSegment } from "../src/live/lanes.ts";
import { binned } from "../src/live/latency.ts";
import type { Advanced, Line } from "../src/live/model.ts";
import { Scene, end, told } from "../src/live/scene.ts";
import { View } from "../src/live/view.ts";

describe("the address", () => {
  it("reads back what was written", () => {
    const state = {
      setting: { ...FIRST.setting, policies: ["sctp:rfc;rto-min-thin=200ms", "tcp:thin"] as [string, string], changes: ["m17", "3250:loss=5", "a17.2"] },
      at_ms: 4_321,
      speed: 0.25,
    };
    expect(write(state)).toContain("do=m17,3250:loss=5,a17.2&at=4321");
    expect(read(`#${write(state)}`)).toEqual(state);
    expect(read(encodeURI(`#${write(state)}`))).toEqual(state);
  });

  it("takes what makes no sense for what it was at first", () => {
    expect(read("")).toEqual(FIRST);
    expect(read("#flows=many&seed=-3&at=x&speed=1000&%=%E0&flow=9&&=")).toEqual({
      ...FIRST,
      setting: { ...FIRST.setting, seed: 0, flow: 4 },
      speed: 50,
    });
  });
});

const line = (id: number, sent_ms: number): Line => ({
  id,
  from: 0,
  sent_ms,
  expected_ms: sent_ms + 50,
  role: "data",
  messages: [[id, 1]],
  label: `TSN ${id}`,
  drop: `m${id}`,
  why: { text: "New data.", fields: [] },
});

function advanced(now_ms: number, lines: Line[], fates: [number, number | null][]): Advanced {
  const marks = fates.flatMap(([message, at]) => (at === null ? [] : [{ flow: 0, message, due_ms: at - 50, latency_ms: 50, again: 0 }]));
  const side = { lines, fates, marks, told: [] };
  return { frame: { now_ms, is_over: false, due: lines.map(({ id, sent_ms }) => [id, sent_ms]), sides: [side, side] } };
}

describe("the scene", () => {
  it("joins fates to packets over frames, and knows how long messages took", () => {
    const scene = new Scene(0);
    scene.add(advanced(120, [line(0, 0), line(1, 100)], [[0, 50]]));
    expect(scene.sides[1].trips.map(({ fate }) => fate)).toEqual([50, undefined]);
    expect(scene.latency(0, 1)).toBeUndefined();
    scene.add(advanced(200, [], [[1, null]]));
    expect(scene.sides[0].trips[1]?.fate).toBeNull();
    expect(scene.latency(0, 0)).toBe(50);
  });

  it("lets go of the oldest packets", () => {
    const scene = new Scene(0);
    const many = Array.from({ length: 7_000 }, (_, id) => line(id, id));
    scene.add(advanced(7_000, many, []));
    scene.add(advanced(7_100, [line(7_000, 7_000)], [[6_999, 7_050]]));
    expect(scene.sides[0].trips).toHaveLength(6_000);
    expect(scene.sides[0].trips.at(-2)?.fate).toBe(7_050);
  });

  it("shows a packet where it is on its way, and a lost one half way", () => {
    expect(end(line(0, 100), 125).share).toBeCloseTo(0.5);
    expect(end(line(0, 100), 900).share).toBeLessThan(1);
    expect(end({ ...line(0, 100), fate: 160 }, 900)).toEqual({ at_ms: 160, share: 1 });
    expect(end({ ...line(0, 100), fate: null }, 900).share).toBe(0.5);
    expect(told({ ...line(3, 100), messages: [[3, 2]], fate: null })).toBe("Packet with message 3, second sending: left at 0.10 s, lost");
  });
});

describe("the view", () => {
  it("has grid lines that can be read at any distance", () => {
    const view = new View();
    view.width = 900;
    view.now_ms = 60_000;
    for (let step = 0; step < 30; step += 1) {
      view.zoom(step === 0 ? 1 : 0.75);
      const ticks = view.ticks();
      expect(ticks.length).toBeLessThan(14);
      expect(ticks.length).toBeGreaterThan(0);
    }
  });

  it("goes back in time to the beginning and no farther", () => {
    const view = new View();
    view.now_ms = 1_000;
    view.move(1e9);
    expect(view.back_ms).toBe(1_000);
    view.move(-1e9);
    expect(view.back_ms).toBe(0);
    expect(view.at(view.x(123))).toBeCloseTo(123);
  });

  it("finds how far a point is from a packet's line", () => {
    expect(toSegment(5, 3, 0, 0, 10, 0)).toBe(3);
    expect(toSegment(-3, 4, 0, 0, 10, 0)).toBe(5);
    expect(toSegment(3, 4, 0, 0, 0, 0)).toBe(5);
  });
});

it("counts messages in bins of equal width on the scale", () => {
  const sums = binned([[60, 10], [61, 2], [1_000, 1], [1e9, 1], [0, 1]]);
  expect(sums.reduce((sum, count) => sum + count)).toBe(15);
  expect(Math.max(...sums)).toBe(12);
  expect([sums[0], sums.at(-1)]).toEqual([1, 1]);
});

it("leads through three steps of less than a minute each", () => {
  expect(STEPS).toHaveLength(3);
  for (const { scenarios } of STEPS) {
    const real = scenarios.map(({ from_ms, until_ms, speed }) => (until_ms - from_ms) / speed / 1_000);
    expect(real.reduce((sum, one) => sum + one)).toBeLessThan(60);
    for (const { cues, until_ms } of scenarios) {
      expect(cues[0]?.at_ms).toBe(0);
      expect(cues.every(({ at_ms }) => at_ms < until_ms)).toBe(true);
    }
  }
});
