/** Points over two axes: lines, steps, bars, each with its confidence interval. */
import type { Axis, Plot, Series } from "../model.ts";
import { heading, label, millisIn, shareAt, short, time, toTail } from "../numbers.ts";
import type { Theme } from "../theme.ts";
import { type Option, axisStyle, base, tooltipStyle, zoomOption } from "./chart.ts";

const place = (axis: Axis, value: number): number => (axis.scale === "tail" ? toTail(value) : value);

/** The options of a plot for the library. */
export function plotOption(plot: Plot, theme: Theme): Option {
  return {
    ...base(theme),
    aria: { enabled: true, label: { description: `${plot.title}. ${plot.caption}` } },
    legend: { show: false, selected: selected(plot.series) },
    tooltip: { ...tooltipStyle(theme), trigger: "item", formatter: (item: Hovered) => hover(plot, item) },
    xAxis: axis(plot.x, theme, false, reach(plot)),
    yAxis: axis(plot.y, theme, plot.series.some(isBar)),
    dataZoom: zoomOption(),
    series: plot.series.flatMap((series, index) => drawn(plot, series, color(theme, index), theme.text, index, dash(theme, plot.series, index))),
  };
}

/** The colour of the n-th series. */
export function color(theme: Theme, index: number): string {
  return theme.series[index % theme.series.length] ?? theme.text;
}

type Dashes = "solid" | "dashed" | "dotted" | number[];

/** Dashes of steps, from the last series backwards: curves that cover each other can be told apart. */
const DASHES: Dashes[] = ["solid", [3, 2.5], [8, 3], [12, 3, 3, 3], [6, 2, 2, 2, 2, 2], [14, 4]];

/** A paper's lines are dashed, and colours that come again do so dotted. */
function dash(theme: Theme, all: Series[], index: number): Dashes {
  if (all[index]?.paper === true) return "dashed";
  if (all[index]?.shape === "step" && all.every(({ paper }) => paper !== true)) {
    return DASHES[(all.length - 1 - index) % DASHES.length] ?? "solid";
  }
  return index >= theme.series.length ? "dotted" : "solid";
}

function selected(series: Series[]): Record<string, boolean> {
  return Object.fromEntries(series.map(({ name, hidden }) => [name, hidden !== true]));
}

const isBar = ({ shape }: Series): boolean => shape === "bars" || shape === "stack";

/** The least and the greatest value across, with a little room at both ends. */
function reach({ series }: Plot): [number, number] | undefined {
  const values = series.flatMap(({ points }) => points.map(([x]) => x)).filter((x) => x > 0);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  // With less than a decade the library finds its own places for ticks.
  return most >= 10 * least ? [least / 1.15, most * 1.15] : undefined;
}

function axis(axis: Axis, theme: Theme, fromZero: boolean, reach?: [number, number]): Option {
  const style = { ...axisStyle(theme), name: heading(axis) };
  if (axis.categories !== undefined) return { ...style, type: "category", data: axis.categories };
  if (axis.scale === "tail") {
    const labels = { color: theme.faint, formatter: shareAt };
    // One stands nowhere on it: the axis ends where the report says.
    const max = axis.max === undefined ? undefined : toTail(axis.max);
    return { ...style, type: "value", min: 0, max, interval: 1, axisLabel: { ...labels, showMaxLabel: false } };
  }
  if (axis.scale === "log") {
    const millis = millisIn(axis.unit);
    const formatter = millis === undefined ? short : (value: number) => time(value * millis);
    const name = millis === undefined ? heading(axis) : axis.label;
    const bounds = { min: axis.min ?? reach?.[0], max: axis.max ?? reach?.[1] };
    return { ...style, ...bounds, name, type: "log", axisLabel: { color: theme.faint, formatter, showMinLabel: false, showMaxLabel: false } };
  }
  return { ...style, min: axis.min, max: axis.max, type: "value", scale: !fromZero && axis.min === undefined };
}

function drawn(plot: Plot, series: Series, color: string, text: string, index: number, dashes: Dashes): Option[] {
  const data = series.points.map(([x, y, low, high]) => [place(plot.x, x), place(plot.y, y), low, high]);
  const line = { color, width: 2, type: dashes };
  const common = { name: series.name, data, itemStyle: { color }, lineStyle: line, clip: true };
  const marks = index === 0 && plot.marks !== undefined ? { markLine: markLine(plot) } : {};
  return [{ ...common, ...marks, ...shape(series) }, ...intervals(plot, series, color, text)];
}

function shape(series: Series): Option {
  const symbol = series.paper === true ? "emptyDiamond" : "circle";
  const dense = series.points.length > SPARSE;
  switch (series.shape) {
    case "line":
      return { type: "line", symbol, symbolSize: dense ? 3 : 7, showSymbol: !dense };
    case "step":
      return { type: "line", step: "end", symbol: "circle", symbolSize: 4, showSymbol: false };
    case "points":
      return { type: "scatter", symbol, symbolSize: dense ? 5 : 9 };
    case "bars":
      return { type: "bar", barGap: "0%", barCategoryGap: `${Math.round(100 * (1 - BARS))}%` };
    case "stack":
      return { type: "bar", stack: "all" };
  }
}

/** More points than have room for a whisker each; they get a band. */
const SPARSE = 60;

/** Whiskers from the lower to the upper bound of each point that has them, or a band around a dense line. */
function intervals(plot: Plot, series: Series, color: string, text: string): Option[] {
  const bounded = series.points.filter(([, , low, high]) => low !== undefined && high !== undefined);
  if (bounded.length === 0 || series.shape === "stack") return [];
  const floor = plot.y.scale === "log" ? leastPositive(plot) : -Infinity;
  const data = bounded.map(([x, , low, high]) => [
    place(plot.x, x),
    place(plot.y, Math.max(low ?? 0, floor)),
    place(plot.y, Math.max(high ?? 0, floor)),
  ]);
  const common = { type: "custom", name: series.name, silent: true, clip: true, encode: { x: 0, y: [1, 2] } };
  if (series.shape === "bars") {
    const bars = plot.series.filter(({ shape }) => shape === "bars");
    const at = bars.indexOf(series);
    const render = (_: unknown, api: Api): Option => whisker(api, text, shift(api, at, bars.length));
    return [{ ...common, data, z: 3, renderItem: render }];
  }
  if (series.shape === "step" || bounded.length > SPARSE) {
    const steps = series.shape === "step";
    const render = ({ dataIndex }: { dataIndex: number }, api: Api): Option | undefined =>
      dataIndex === 0 ? band(data as [number, number, number][], api, color, steps) : undefined;
    return [{ ...common, data, z: 1, renderItem: render }];
  }
  return [{ ...common, data, renderItem: (_: unknown, api: Api) => whisker(api, color, 0) }];
}

/** The least positive value of a plot: a logarithmic axis, which has no place for zero or less, draws such bounds here. */
function leastPositive({ series }: Plot): number {
  const values = series.flatMap(({ points }) => points.map(([, y]) => y)).filter((y) => y > 0);
  return Math.min(...values);
}

interface Api {
  value(index: number): number;
  coord(point: [number, number]): [number, number];
  size(extent: [number, number]): [number, number];
}

/** Share of a category's room that its bars take together, 0 to 1. */
const BARS = 0.8;

/** Distance from the middle of a category to the middle of one of its bars. */
function shift(api: Api, bar: number, bars: number): number {
  const [room] = api.size([1, 0]);
  return room * BARS * ((bar + 0.5) / bars - 0.5);
}

/** Around the upper bounds forwards and the lower ones back. */
function band(data: [number, number, number][], api: Api, color: string, steps: boolean): Option {
  const along = (bound: 1 | 2): [number, number][] =>
    data.flatMap((point, index) => {
      const before = data[index - 1];
      const here = api.coord([point[0], point[bound]]);
      return steps && before !== undefined ? [api.coord([point[0], before[bound]]), here] : [here];
    });
  const points = [...along(2), ...along(1).reverse()];
  return { type: "polygon", shape: { points }, style: { fill: color, opacity: 0.18 } };
}

function whisker(api: Api, color: string, aside: number): Option {
  const [middle, top] = api.coord([api.value(0), api.value(2)]);
  const [, bottom] = api.coord([api.value(0), api.value(1)]);
  const x = middle + aside;
  const line = (x1: number, y1: number, x2: number, y2: number): Option => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style: { stroke: color, lineWidth: 1.5 },
  });
  const cap = 4;
  return {
    type: "group",
    children: [
      line(x, top, x, bottom),
      line(x - cap, top, x + cap, top),
      line(x - cap, bottom, x + cap, bottom),
    ],
  };
}

function markLine(plot: Plot): Option {
  const data = (plot.marks ?? []).map(({ axis, value, label: text }) => ({
    [axis === "x" ? "xAxis" : "yAxis"]: place(axis === "x" ? plot.x : plot.y, value),
    name: text,
  }));
  const label = { formatter: "{b}", position: "insideEndTop" };
  return { silent: true, symbol: "none", lineStyle: { type: "dotted" }, label, data };
}

interface Hovered {
  seriesName: string;
  dataIndex: number;
}

/** The text about the point under the pointer; the library shows it as markup. */
function hover(plot: Plot, { seriesName, dataIndex }: Hovered): string {
  const point = plot.series.find(({ name }) => name === seriesName)?.points[dataIndex];
  if (point === undefined) return "";
  return [`<strong>${escape(seriesName)}</strong>`, ...describe(plot, point).map(escape)].join("<br>");
}

/** A point in words. */
export function describe(plot: Plot, [x, y, low, high]: Series["points"][number]): string[] {
  const lines = [`${plot.x.label}: ${label(plot.x, x)}`, `${plot.y.label}: ${label(plot.y, y)}`];
  if (low !== undefined && high !== undefined) {
    lines.push(`95 % interval: ${label(plot.y, low)} to ${label(plot.y, high)}`);
  }
  return lines;
}

/** Text as markup. */
export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
