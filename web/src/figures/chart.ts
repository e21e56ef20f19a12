/** The plotting library, with what the report uses of it, drawing SVG. */
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  MarkPointComponent,
  TooltipComponent,
  VisualMapComponent,
} from "echarts/components";
import * as echarts from "echarts/core";
import type { EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

import { type Theme, onTheme, theme } from "../theme.ts";
import type { Zoomable } from "../zoom.ts";
import { type Scale, type Stretch, moved, zoomed } from "./stretch.ts";

echarts.use([
  AriaComponent,
  BarChart,
  CustomChart,
  DataZoomComponent,
  GridComponent,
  HeatmapChart,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  MarkPointComponent,
  ScatterChart,
  SVGRenderer,
  TooltipComponent,
  VisualMapComponent,
]);

export type Option = EChartsCoreOption;

/** A chart that follows the page's width and colours. Its first axis goes across, its second upwards. */
export interface Chart extends Zoomable {
  /** The chart as an SVG document, for a file. */
  toSvg(): string;
  /** Shows or hides a series. */
  toggle(name: string): void;
}

/** The library's options in force, as far as zooming, axes and the legend need them. */
interface Shown {
  dataZoom: { start: number; end: number; startValue: number; endValue: number; moveOnMouseMove: boolean }[];
  xAxis: { type: string; name?: string }[];
  yAxis: { type: string }[];
  legend?: { selected: Record<string, boolean> }[];
}

const shown = (chart: echarts.ECharts): Shown => chart.getOption() as unknown as Shown;

const stretches = ({ dataZoom }: Shown): Stretch[] => dataZoom.map(({ startValue, endValue }) => [startValue, endValue]);

/** Draws into `place` what `option` says for the theme of the day, as soon as it comes into sight. */
export function draw(place: HTMLElement, option: (theme: Theme) => Option): Chart {
  let chart: echarts.ECharts | undefined;
  /** All of both axes. */
  let whole: Stretch[] = [];
  const show = (): echarts.ECharts => {
    chart ??= begin(place);
    chart.setOption(option(theme()), { notMerge: true });
    fit(chart, place);
    whole = stretches(shown(chart));
    return chart;
  };
  onTheme(() => {
    if (chart === undefined) return;
    const { dataZoom, legend } = shown(chart);
    show();
    // Other colours change neither what is hidden nor what is near.
    const kept = dataZoom.map(({ start, end, startValue, endValue }) => (isAll(start, end) ? { start, end } : { startValue, endValue }));
    chart.setOption({ dataZoom: kept, ...(legend === undefined ? {} : { legend: legend.map(({ selected }) => ({ selected })) }) });
    letMove(chart);
  });
  new ResizeObserver(() => {
    if (place.clientWidth === 0) return;
    if (chart === undefined) return void show();
    chart.resize();
    fit(chart, place);
  }).observe(place);
  const current = (): echarts.ECharts => chart ?? show();
  return {
    toSvg: () => current().renderToSVGString(),
    toggle: (name) => current().dispatchAction({ type: "legendToggleSelect", name }),
    reset: () => void show(),
    zoom: (times) => void change(current(), whole, (from, all, scale) => zoomed(from, all, times, scale)),
    move: (right, up) => change(current(), whole, (from, all, scale, axis) => moved(from, all, axis === 0 ? right : up, scale)),
  };
}

/** Breaks the name of the axis across where it would be wider than the axis. */
function fit(chart: echarts.ECharts, place: HTMLElement): void {
  const [axis] = shown(chart).xAxis;
  if (axis?.name === undefined) return;
  const name = broken(axis.name, (place.clientWidth - ASIDE) / LETTER);
  if (name !== axis.name) chart.setOption({ xAxis: { name } });
}

/** Pixels that stand beside the axis across, and that a letter of its name takes, about. */
const [ASIDE, LETTER] = [120, 6];

/** A text in lines of this number of letters at most, broken between words. */
export function broken(text: string, letters: number): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1) ?? ""} ${word}`.trim();
    if (lines.length > 0 && longer.length <= letters) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join("\n");
}

function begin(place: HTMLElement): echarts.ECharts {
  for (const type of ["wheel", "mousewheel"]) place.addEventListener(type, leaveToPage, { capture: true });
  const chart = echarts.init(place, null, { renderer: "svg" });
  chart.on("datazoom", () => letMove(chart));
  return chart;
}

/** Without a key the wheel scrolls the page; the library would keep it from that. */
function leaveToPage(event: Event): void {
  if (event instanceof MouseEvent && !event.ctrlKey && !event.shiftKey) event.stopPropagation();
}

/** Dragging moves what is zoomed; over a figure that is shown wholly a finger scrolls the page. */
function letMove(chart: echarts.ECharts): void {
  const { dataZoom } = shown(chart);
  const moveOnMouseMove = dataZoom.some(({ start, end }) => !isAll(start, end));
  if (dataZoom.some((one) => one.moveOnMouseMove !== moveOnMouseMove)) {
    chart.setOption({ dataZoom: dataZoom.map(() => drag(moveOnMouseMove)) });
  }
}

/** Whether dragging moves a chart, and keeps the page where it is. */
function drag(moves: boolean): Option {
  return { moveOnMouseMove: moves, preventDefaultMouseMove: moves };
}

/** Shows another part of both axes; whether there is anything to change. */
function change(chart: echarts.ECharts, whole: Stretch[], next: (from: Stretch, all: Stretch, scale: Scale, axis: number) => Stretch): boolean {
  const now = shown(chart);
  const scales = [now.xAxis, now.yAxis].map(([axis]): Scale => (axis?.type === "category" || axis?.type === "log" ? axis.type : "linear"));
  const batch = stretches(now).flatMap((from, axis) => {
    const [all, scale] = [whole[axis] ?? from, scales[axis] ?? "linear"];
    const [low, high] = next(from, all, scale, axis);
    if (low === from[0] && high === from[1]) return [];
    // The ends of an axis that is shown wholly lie at round numbers beyond its values.
    const part = low <= all[0] && high >= all[1] ? { start: 0, end: 100 } : { startValue: low, endValue: high };
    return [{ dataZoomIndex: axis, ...part }];
  });
  if (batch.length > 0) chart.dispatchAction({ type: "dataZoom", batch });
  return batch.length > 0;
}

const isAll = (start: number, end: number): boolean => start <= 0 && end >= 100;

/** Both axes can be zoomed: with Ctrl and the wheel the one across, with Shift the other. */
export function zoomOption(): Option[] {
  const common = { type: "inside", filterMode: "none", ...drag(false) };
  return [
    { ...common, xAxisIndex: 0, zoomOnMouseWheel: "ctrl" },
    { ...common, yAxisIndex: 0, zoomOnMouseWheel: "shift" },
  ];
}

/** Options that all charts have in common: colours, font and margins. */
export function base(theme: Theme): Option {
  return {
    animation: false,
    backgroundColor: theme.background,
    color: theme.series,
    textStyle: { color: theme.text, fontFamily: "system-ui, sans-serif", fontSize: 13 },
    grid: { left: 8, right: 24, top: 20, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
  };
}

/** Colours, lines and type of an axis. */
export function axisStyle(theme: Theme): Option {
  return {
    nameLocation: "middle",
    nameGap: 12,
    nameTextStyle: { color: theme.faint, lineHeight: 15 },
    axisLabel: { color: theme.faint, hideOverlap: true },
    axisLine: { show: true, lineStyle: { color: theme.faint } },
    splitLine: { lineStyle: { color: theme.grid } },
  };
}

/** Colours and type of a tooltip. */
export function tooltipStyle(theme: Theme): Option {
  return {
    confine: true,
    backgroundColor: theme.background,
    borderColor: theme.grid,
    textStyle: { color: theme.text },
  };
}
