import { describe, expect, it } from "vitest";

import { type Scale, type Stretch, moved, zoomed } from "../src/figures/stretch.ts";
import { type Zoomable, scrolled, stage, zoomButtons, zoomKeys } from "../src/zoom.ts";

describe("a stretch of an axis", () => {
  const near = (whole: Stretch, scale: Scale, times = 2): number[] =>
    zoomed(whole, whole, times, scale).map((value) => Number(value.toPrecision(9)));

  it("is halved around its middle, at equal steps of its scale", () => {
    expect(near([0, 100], "linear")).toEqual([25, 75]);
    expect(near([1, 10_000], "log")).toEqual([10, 1_000]);
    expect(near([0, 10], "category")).toEqual([3, 7]);
    expect(near([0, 2], "category")).toEqual([1, 1]);
    expect(near([0, 1], "category")).toEqual([0, 1]);
  });

  it("never goes beyond the whole, nor so near that rounding shows", () => {
    expect(zoomed([25, 75], [0, 100], 0.1, "linear")).toEqual([0, 100]);
    expect(zoomed([80, 100], [0, 100], 0.5, "linear")).toEqual([70, 100]);
    expect(zoomed([1, 1], [0, 10], 0.5, "category")).toEqual([0, 2]);
    const whole: Stretch = [0.3, 700.1];
    for (const scale of ["linear", "log"] as const) {
      const near = moved(moved(zoomed(whole, whole, 2, scale), whole, 1, scale), whole, -1, scale);
      expect(zoomed(near, whole, 0.5, scale)).toEqual(whole);
    }
    const [low, high] = zoomed([0, 100], [0, 100], 1e9, "linear");
    expect(high - low).toBeCloseTo(0.01, 9);
  });

  it("moves by a quarter of itself, or a category, up to the end", () => {
    expect(moved([25, 75], [0, 100], 1, "linear")).toEqual([37.5, 87.5]);
    expect(moved([25, 75], [0, 100], -3, "linear")).toEqual([0, 50]);
    expect(moved([5, 5], [0, 10], 1, "category")).toEqual([6, 6]);
    const all: Stretch = [0, 100];
    expect(moved(all, all, 1, "linear")).toBe(all);
  });
});

describe("buttons and keys", () => {
  function recorded(): { target: Zoomable; calls: string[] } {
    const calls: string[] = [];
    return {
      calls,
      target: {
        zoom: (times) => calls.push(`zoom ${times}`),
        move: (right, up) => calls.push(`move ${right} ${up}`) <= 8,
        reset: () => calls.push("reset"),
      },
    };
  }

  const press = (place: HTMLElement, key: string, more: KeyboardEventInit = {}): boolean =>
    !place.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true, ...more }));

  it("do the same, and leave to the browser what is not for the figure", () => {
    const { target, calls } = recorded();
    const place = stage("Latency", "canvas");
    zoomKeys(place, target);
    zoomButtons(target).forEach((button) => button.click());
    expect(calls).toEqual(["zoom 2", "zoom 0.5", "reset"]);
    expect(["+", "-", "0", "ArrowUp", "ArrowLeft"].map((key) => press(place, key))).not.toContain(false);
    expect(calls.slice(3)).toEqual(["zoom 2", "zoom 0.5", "reset", "move 0 1", "move -1 0"]);
    // It cannot move any further: the arrow scrolls the page.
    expect(press(place, "ArrowLeft")).toBe(false);
    expect(press(place, "+", { ctrlKey: true })).toBe(false);
    expect(press(place, "Tab")).toBe(false);
    expect(calls).toHaveLength(9);
  });

  it("let what scrolls grow up to a bound, and its own arrows scroll it", () => {
    const shown: number[] = [];
    const place = stage("A loss", "scroll");
    const target = scrolled(place, (times) => shown.push(times));
    zoomKeys(place, target);
    for (let count = 0; count < 6; count += 1) press(place, "+");
    expect(place.classList.contains("zoomed")).toBe(true);
    expect(press(place, "ArrowDown")).toBe(false);
    press(place, "0");
    press(place, "-");
    expect(shown).toEqual([2, 4, 8, 16, 16, 16, 1, 1]);
    expect(place.classList.contains("zoomed")).toBe(false);
  });
});
