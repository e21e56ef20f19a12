import { describe, expect, it } from "vitest";

import { label, millisIn, shareAt, short, time, toCsv, toTail, withUnit } from "../src/numbers.ts";

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
    expect([time(50), time(999), time(1000), time(2500)]).toEqual(["50 ms", "999 ms", "1 s", "2.5 s"]);
    expect([millisIn("ms"), millisIn("s"), millisIn("B")]).toEqual([1, 1000, undefined]);
  });

  it("of a tail come back from its scale, and one does not stand at infinity", () => {
    for (const share of ["0 %", "50 %", "90 %", "99.9 %"]) expect(shareAt(toTail(Number.parseFloat(share) / 100))).toBe(share);
    expect(shareAt(2.963)).toBe("99.89 %");
    expect(toTail(0.99)).toBeCloseTo(2, 9);
    expect(toTail(1)).toBe(9);
  });

  it("of a category are its name", () => {
    expect(label({ label: "Policy", categories: ["rfc", "thin"] }, 1)).toBe("thin");
    expect(label({ label: "Share", scale: "tail" }, 0.9999)).toBe("99.99 %");
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
