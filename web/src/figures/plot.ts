/** Points over two axes: lines, steps, bars, each with its confidence interval. */
import type { Axis, Plot, Series } from "../model.ts";
import { fromTail, heading, label, share, short, toTail } from "../numbers.ts";
import type { Theme } from "../theme.ts";
import { type Option, axisStyle, base, tooltipStyle } from "./chart.ts";

const place = (axis: Axis, value: number): number => (axis.scale === "tail" ? toTail(value) : value);

/** The options of a plot for the library. */
export function plotOption(plot: Plot, theme: Theme): Option {
  return {
    ...base(theme),
    aria: { enabled: true, label: { description: `${plot.title}. ${plot.caption}` } },
    legend: { show: false, selected: selected(plot.series) },
    tooltip: { ...tooltipStyle(theme), trigger: "item", formatter: (item: Hovered) => hover(plot, item) },
    xAxis: axis(plot.x, theme, false),
    yAxis: axis(plot.y, theme, plot.series.some(isBar)),
    dataZoom: [
      { type: "inside", xAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl" },
      { type: "inside", yAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "shift" },
    ],
    series: plot.series.flatMap((series, index) => drawn(plot, series, color(theme, index), index === 0)),
  };
}

/** The colour of the n-th series. */
export function color(theme: Theme, index: number): string {
  return theme.series[index % theme.series.length] ?? theme.text;
}

function selected(series: Series[]): Record<string, boolean> {
  return Object.fromEntries(series.map(({ name, hidden }) => [name, hidden !== true]));
}

const isBar = ({ shape }: Series): boolean => shape === "bars" || shape === "stack";

function axis(axis: Axis, theme: Theme, fromZero: boolean): Option {
  const style = { ...axisStyle(theme), name: heading(axis) };
  if (axis.categories !== undefined) return { ...style, type: "category", data: axis.categories };
  if (axis.scale === "tail") {
    const labels = { color: theme.faint, formatter: (at: number) => share(fromTail(at)) };
    return { ...style, type: "value", min: 0, minInterval: 1, axisLabel: labels };
  }
  const bounds = { min: axis.min, max: axis.max };
  return axis.scale === "log"
    ? { ...style, ...bounds, type: "log", axisLabel: { color: theme.faint, formatter: short } }
    : { ...style, ...bounds, type: "value", scale: !fromZero && axis.min === undefined };
}

function drawn(plot: Plot, series: Series, color: string, withMarks: boolean): Option[] {
  const data = series.points.map(([x, y, low, high]) => [place(plot.x, x), place(plot.y, y), low, high]);
  const line = { color, width: 2, type: series.paper === true ? "dashed" : "solid" };
  const common = { name: series.name, data, itemStyle: { color }, lineStyle: line };
  const marks = withMarks && plot.marks !== undefined ? { markLine: markLine(plot) } : {};
  return [{ ...common, ...marks, ...shape(series) }, ...intervals(plot, series, color)];
}

function shape(series: Series): Option {
  const symbol = series.paper === true ? "emptyDiamond" : "circle";
  const dense = series.points.length > 60;
  switch (series.shape) {
    case "line":
      return { type: "line", symbol, symbolSize: dense ? 3 : 7, showSymbol: !dense };
    case "step":
      return { type: "line", step: "end", symbol: "circle", symbolSize: 4, showSymbol: false };
    case "points":
      return { type: "scatter", symbol, symbolSize: dense ? 5 : 9 };
    case "bars":
      return { type: "bar" };
    case "stack":
      return { type: "bar", stack: "all" };
  }
}

/** Whiskers from the lower to the upper bound of each point that has them. */
function intervals(plot: Plot, series: Series, color: string): Option[] {
  const bounded = series.points.filter(([, , low, high]) => low !== undefined && high !== undefined);
  if (bounded.length === 0 || isBar(series)) return [];
  const data = bounded.map(([x, , low, high]) => [
    place(plot.x, x),
    place(plot.y, low ?? 0),
    place(plot.y, high ?? 0),
  ]);
  return [
    {
      type: "custom",
      name: series.name,
      silent: true,
      data,
      encode: { x: 0, y: [1, 2] },
      renderItem: (_: unknown, api: Api) => whisker(api, color),
    },
  ];
}

interface Api {
  value(index: number): number;
  coord(point: [number, number]): [number, number];
}

function whisker(api: Api, color: string): Option {
  const [x, top] = api.coord([api.value(0), api.value(2)]);
  const [, bottom] = api.coord([api.value(0), api.value(1)]);
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
