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

/** A chart that follows the page's width and colours. */
export interface Chart {
  /** It as a picture. */
  toSvg(): string;
  /** Shows or hides a series. */
  toggle(name: string): void;
  /** As it was at first. */
  reset(): void;
}

/** Draws into `place` what `option` says for the theme of the day, as soon as it comes into sight. */
export function draw(place: HTMLElement, option: (theme: Theme) => Option): Chart {
  let chart: echarts.ECharts | undefined;
  const show = (): echarts.ECharts => {
    chart ??= echarts.init(place, null, { renderer: "svg" });
    chart.setOption(option(theme()), { notMerge: true });
    return chart;
  };
  onTheme(() => {
    if (chart !== undefined) show();
  });
  new ResizeObserver(() => {
    if (place.clientWidth === 0) return;
    if (chart === undefined) show();
    else chart.resize();
  }).observe(place);
  const current = (): echarts.ECharts => chart ?? show();
  return {
    toSvg: () => current().renderToSVGString(),
    toggle: (name) => current().dispatchAction({ type: "legendToggleSelect", name }),
    reset: () => void show(),
  };
}

/** What all charts look like. */
export function base(theme: Theme): Option {
  return {
    animation: false,
    backgroundColor: theme.background,
    color: theme.series,
    textStyle: { color: theme.text, fontFamily: "system-ui, sans-serif", fontSize: 13 },
    grid: { left: 8, right: 24, top: 20, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
  };
}

/** How an axis looks. */
export function axisStyle(theme: Theme): Option {
  return {
    nameLocation: "middle",
    nameGap: 10,
    nameTextStyle: { color: theme.faint },
    axisLabel: { color: theme.faint, hideOverlap: true },
    axisLine: { show: true, lineStyle: { color: theme.faint } },
    splitLine: { lineStyle: { color: theme.grid } },
  };
}

/** How a tooltip looks. */
export function tooltipStyle(theme: Theme): Option {
  return {
    confine: true,
    backgroundColor: theme.background,
    borderColor: theme.grid,
    textStyle: { color: theme.text },
  };
}
