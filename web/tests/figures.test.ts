import { beforeAll, describe, expect, it, vi } from "vitest";

import type { HeatMap, Ladder, Plot } from "../src/model.ts";
import { sample } from "./sample.ts";

// jsdom has no media queries.
vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));

const figures = sample.sections.flatMap((section) => section.figures);
const plot = figures[0] as Plot;
const tail = figures[1] as Plot;
const map = figures[3] as HeatMap;
const ladder = figures[4] as Ladder;

describe("figures", () => {
  let theme: import("../src/theme.ts").Theme;
  let modules: {
    plot: typeof import("../src/figures/plot.ts");
    map: typeof import("../src/figures/heat-map.ts");
    ladder: typeof import("../src/figures/ladder.ts");
    chart: typeof import("../src/figures/chart.ts");
  };

  beforeAll(async () => {
    theme = (await import("../src/theme.ts")).theme();
    modules = {
      plot: await import("../src/figures/plot.ts"),
      map: await import("../src/figures/heat-map.ts"),
      ladder: await import("../src/figures/ladder.ts"),
      chart: await import("../src/figures/chart.ts"),
    };
  });

  it("draw each series, and whiskers for those with intervals only", () => {
    const { series } = modules.plot.plotOption(plot, theme) as { series: { name: string; type: string }[] };
    expect(series.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      "lksctp: line",
      "lksctp: custom",
      "thin: line",
      "thin: custom",
      "lksctp (paper): scatter",
    ]);
  });

  it("tell curves that cover each other apart by their dashes, of which the last has none", () => {
    const step = { shape: "step" as const, points: [[1, 0.9]] as [number, number][] };
    const dashes = (series: Plot["series"]): unknown[] => {
      const { series: drawn } = modules.plot.plotOption({ ...tail, series }, theme) as { series: { lineStyle: { type: unknown } }[] };
      return drawn.map(({ lineStyle }) => lineStyle.type);
    };
    expect(dashes([{ name: "lksctp", ...step }, { name: "thin", ...step }])).toEqual([[3, 2.5], "solid"]);
    expect(dashes([{ name: "thin", ...step }, { name: "paper", paper: true, ...step }])).toEqual(["solid", "dashed"]);
  });

  it("have times with their unit on a logarithmic axis, which ends a little beyond what is drawn", () => {
    const over = (unit: string, points: [number, number][]): { name: string; min?: number; axisLabel: { formatter: (value: number) => string } } => {
      const series: Plot["series"] = [{ name: "a", shape: "line", points }];
      const x = { label: "latency", unit, scale: "log" as const };
      return (modules.plot.plotOption({ ...plot, x, series }, theme) as { xAxis: never }).xAxis;
    };
    const millis = over("ms", [[50, 1], [4000, 2]]);
    expect([millis.name, millis.axisLabel.formatter(1000)]).toEqual(["latency", "1 s"]);
    expect(millis.min).toBeCloseTo(43.5, 1);
    const bytes = over("B", [[50, 1], [60, 2]]);
    expect([bytes.name, bytes.axisLabel.formatter(1000), bytes.min]).toEqual(["latency (B)", "1,000", undefined]);
  });

  it("have axes with names that are broken where they are too long", () => {
    expect(modules.chart.broken("latency, from when a message was due", 20)).toBe("latency, from when a\nmessage was due");
    expect(modules.chart.broken("already\nbroken", 20)).toBe("already broken");
    expect(modules.chart.broken("unbreakable", 3)).toBe("unbreakable");
  });

  it("draw shares of a tail at equal steps for each nine", () => {
    const shares: Plot = { ...tail, series: [{ name: "a", shape: "step", points: [[1, 0.9], [2, 0.99]] }] };
    const { series } = modules.plot.plotOption(shares, theme) as { series: { data: number[][] }[] };
    expect(series[0]?.data.map((point) => point[1]?.toFixed(6))).toEqual(["1.000000", "2.000000"]);
  });

  it("draw a band around a dense line, whiskers beside each other on bars, and end a tail where the report says", () => {
    const points = Array.from({ length: 80 }, (_, x): [number, number, number, number] => [x, x, x - 1, x + 1]);
    const api = { value: () => 0, coord: (point: [number, number]) => point, size: (): [number, number] => [100, 1] };
    type Custom = { data: number[][]; renderItem(item: { dataIndex: number }, given: typeof api): unknown };
    const customs = (shape: Plot["series"][number]["shape"], names: string[], count: number): Custom[] => {
      const series = names.map((name) => ({ name, shape, points: points.slice(0, count) }));
      const { series: all } = modules.plot.plotOption({ ...plot, series }, theme) as { series: ({ type: string } & Custom)[] };
      return all.filter(({ type }) => type === "custom");
    };
    const [band] = customs("line", ["a"], 80);
    const drawn = band?.renderItem({ dataIndex: 0 }, api) as { type: string; shape: { points: number[][] } };
    expect(drawn.type).toBe("polygon");
    expect(drawn.shape.points).toHaveLength(160);
    expect(band?.renderItem({ dataIndex: 1 }, api)).toBeUndefined();
    const places = customs("bars", ["a", "b"], 3).map((one) => {
      const { children } = one.renderItem({ dataIndex: 0 }, api) as { children: { shape: { x1: number } }[] };
      return children[0]?.shape.x1;
    });
    expect(places).toEqual([-20, 20]);
    const logarithmic: Plot = { ...plot, y: { ...plot.y, scale: "log" }, series: [{ name: "a", shape: "line", points: [[1, 5, -2, 9]] }] };
    const { series: whiskers } = modules.plot.plotOption(logarithmic, theme) as { series: { data: number[][] }[] };
    expect(whiskers[1]?.data).toEqual([[1, 5, 9]]);
    const ended = modules.plot.plotOption({ ...tail, y: { ...tail.y, max: 0.999 } }, theme) as { yAxis: { max: number } };
    expect(ended.yAxis.max).toBeCloseTo(3, 9);
  });

  it("tell what a point is, its interval included", () => {
    expect(modules.plot.describe(plot, [100, 240, 228, 252])).toEqual([
      "Round-trip time: 100 ms",
      "Latency: 240 ms",
      "95 % interval: 228 ms to 252 ms",
    ]);
    expect(modules.map.describe(map, [0, 0, 40])[0]).toBe("best");
  });

  it("show names as text, whatever stands in them", () => {
    expect(modules.plot.escape("<b>&")).toBe("&lt;b&gt;&amp;");
  });

  it("draw what is lost as lost, and tell a ladder in order of time", () => {
    const drawn = modules.ladder.drawLadder(ladder);
    expect(drawn.querySelectorAll(".arrow")).toHaveLength(3);
    expect(drawn.querySelectorAll(".arrow.lost")).toHaveLength(1);
    expect(modules.ladder.tell(ladder).map(([, text]) => text)).toEqual([
      "client sends TSN 1, which is lost",
      "client sends TSN 1, which arrives at 1050.0 ms",
      "client: timeout",
      "server sends ACK 1030 SACK 1150-1179, 1060-1119, which arrives at 1100.0 ms",
    ]);
  });

  it("draw a ladder with more room for the same time, each arrow with its sentence", () => {
    const height = (drawn: SVGElement): number => Number(drawn.querySelector(".side")?.getAttribute("y2")) - 48;
    expect(height(modules.ladder.drawLadder(ladder, 4))).toBe(4 * height(modules.ladder.drawLadder(ladder)));
    const titles = [...modules.ladder.drawLadder(ladder).querySelectorAll("title")].map(({ textContent }) => textContent);
    expect(titles[1]).toBe("1000.0 ms: client sends TSN 1, which arrives at 1050.0 ms");
  });
});
