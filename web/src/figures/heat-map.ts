/** A value for each pair of places, as colours. */
import type { HeatMap } from "../model.ts";
import { heading, label, withUnit } from "../numbers.ts";
import type { Theme } from "../theme.ts";
import { type Option, axisStyle, base, tooltipStyle, zoomOption } from "./chart.ts";
import { escape } from "./plot.ts";

/** The options of a heat map for the library. */
export function heatMapOption(map: HeatMap, theme: Theme): Option {
  const values = map.cells.map(([, , value]) => value);
  const category = { ...axisStyle(theme), type: "category", splitLine: { show: false } };
  return {
    ...base(theme),
    grid: { left: 8, right: 128, top: 16, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "all" },
    aria: { enabled: true, label: { description: `${map.title}. ${map.caption}` } },
    tooltip: {
      ...tooltipStyle(theme),
      formatter: ({ value }: { value: [number, number, number] }) =>
        describe(map, value).map(escape).join("<br>"),
    },
    xAxis: { ...category, name: heading(map.x), data: map.x.categories ?? [] },
    yAxis: { ...category, name: heading(map.y), data: map.y.categories ?? [] },
    dataZoom: zoomOption(),
    visualMap: {
      min: Math.min(...values),
      max: Math.max(...values),
      calculable: true,
      right: 0,
      top: "middle",
      itemHeight: 180,
      inRange: { color: theme.ramp },
      textStyle: { color: theme.faint },
      formatter: (value: number) => withUnit(value, map.value.unit),
    },
    series: [
      {
        type: "heatmap",
        data: map.cells,
        emphasis: { itemStyle: { borderColor: theme.text, borderWidth: 2 } },
        markPoint: {
          symbol: "circle",
          symbolSize: 9,
          itemStyle: { color: "transparent", borderColor: theme.bad, borderWidth: 2.5 },
          label: { show: false },
          data: (map.marks ?? []).map(({ x, y, label }) => ({ name: label, coord: [x, y] })),
        },
      },
    ],
  };
}

/** A cell in words. */
export function describe(map: HeatMap, [x, y, value]: [number, number, number]): string[] {
  const mark = map.marks?.find((mark) => mark.x === x && mark.y === y);
  return [
    ...(mark === undefined ? [] : [mark.label]),
    `${map.x.label}: ${label(map.x, x)}`,
    `${map.y.label}: ${label(map.y, y)}`,
    `${map.value.label}: ${withUnit(value, map.value.unit)}`,
  ];
}
