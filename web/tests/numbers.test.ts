import { describe, expect, it } from "vitest";

import { label, shareAt, short, toCsv, toTail, withUnit } from "../src/numbers.ts";

describe("numbers", () => {
  it("have four significant digits and no exponent where it can be avoided", () => {
    const cases: [number, string][] = [
      [0, "0"],
      [0.012345, "0.01235"],
      [1.23456, "1.235"],
      [257.34, "257.3"],
      [1234567, "1,234,567"],
      [-3.5, "-3.5"],
      [0.00001, "1.00e-5"],
      [Number.NaN, "–"],
    ];
    for (const [value, text] of cases) expect(short(value)).toBe(text);
  });

  it("are followed by their unit", () => {
    expect(withUnit(5, "%")).toBe("5 %");
    expect(withUnit(1.5, undefined)).toBe("1.5");
  });

  it("of a tail come back from its scale, and one does not stand at infinity", () => {
    for (const share of [0, 0.5, 0.9, 0.999]) expect(shareAt(toTail(share))).toBe(String(share));
    expect(shareAt(2.963)).toBe("0.9989");
    expect(toTail(0.99)).toBeCloseTo(2, 9);
    expect(toTail(1)).toBe(9);
  });

  it("of a category are its name", () => {
    expect(label({ label: "Policy", categories: ["rfc", "thin"] }, 1)).toBe("thin");
    expect(label({ label: "Share", scale: "tail" }, 0.9999)).toBe("0.9999");
  });
});

describe("comma-separated values", () => {
  it("have a row for each point, with quotes where they are needed", () => {
    const x = { label: "Policy", categories: ["rfc", 'so-called "thin"'] };
    const csv = toCsv(x, { label: "Latency", unit: "ms" }, [
      { name: "a, b", shape: "bars", points: [[0, 1.5], [1, 2, 1, 3]] },
    ]);
    expect(csv.split("\n")).toEqual([
      "series,Policy,Latency (ms),low,high",
      '"a, b",rfc,1.5,,',
      '"a, b","so-called ""thin""",2,1,3',
      "",
    ]);
  });
});
