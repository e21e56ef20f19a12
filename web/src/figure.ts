/** A figure with its title, caption, controls, and its data as a table for those who want to read it. */
import { button, element, save, table } from "./dom.ts";
import { type Chart, draw } from "./figures/chart.ts";
import { describe as describeCell, heatMapOption } from "./figures/heat-map.ts";
import { drawLadder, tell } from "./figures/ladder.ts";
import { color, plotOption } from "./figures/plot.ts";
import type { Figure, Gallery, HeatMap, Ladder, Plot } from "./model.ts";
import { heading, label, short, toCsv } from "./numbers.ts";
import { onTheme, theme } from "./theme.ts";
import { OF_CHART, OF_SCROLLED, type Zoomable, scrolled, stage, zoomButtons, zoomKeys } from "./zoom.ts";

/** More rows than a reader needs; the CSV file has them all. */
const LARGEST_TABLE = 2_000;

export function showFigure(figure: Figure): HTMLElement {
  const frame = element("figure", { class: `figure with-${figure.kind}` });
  frame.append(element("h3", {}, figure.title));
  switch (figure.kind) {
    case "plot":
      showPlot(frame, figure);
      break;
    case "heat-map":
      showHeatMap(frame, figure);
      break;
    case "ladder":
      showLadder(frame, figure);
      break;
    case "gallery":
      showGallery(frame, figure);
      break;
  }
  frame.append(element("figcaption", {}, figure.caption));
  return frame;
}

/** The figure itself with its buttons, and the sentence that says how it is zoomed. */
function zoomable(place: HTMLElement, target: Zoomable, how: string, ...files: HTMLButtonElement[]): HTMLElement[] {
  zoomKeys(place, target);
  const help = element("details", { class: "how" }, element("summary", { "aria-label": "How to zoom", title: "How to zoom" }, "?"), element("p", {}, how));
  return [place, element("div", { class: "controls" }, ...zoomButtons(target), ...files, help)];
}

/** A place for the library to draw in. */
function canvas(title: string): { place: HTMLElement; inner: HTMLElement } {
  // The library gives what it draws in the role of a picture, which cannot have the focus.
  const inner = element("div", {});
  return { place: stage(title, "canvas", inner), inner };
}

function keepPicture(name: string, chart: Chart): HTMLButtonElement {
  return button("SVG", () => save(`${name}.svg`, "image/svg+xml", chart.toSvg()));
}

function showPlot(frame: HTMLElement, plot: Plot): void {
  const { place, inner } = canvas(plot.title);
  const chart = draw(inner, (theme) => plotOption(plot, theme));
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Series" });
  const toggles = plot.series.map((series, index) => toggle(series, index, chart));
  legend.append(...toggles);
  const reset = (): void => {
    chart.reset();
    plot.series.forEach(({ hidden }, index) =>
      toggles[index]?.setAttribute("aria-pressed", String(hidden !== true)),
    );
  };
  const csv = button("CSV", () => save(`${plot.name}.csv`, "text/csv", toCsv(plot.x, plot.y, plot.series)));
  const parts = zoomable(place, { ...chart, reset }, OF_CHART, keepPicture(plot.name, chart), csv);
  const rows = plot.series.flatMap(({ name, points }) =>
    points.map(([x, y, low, high]) => [
      name,
      label(plot.x, x),
      label(plot.y, y),
      low === undefined || high === undefined ? "" : `${short(low)} to ${short(high)}`,
    ]),
  );
  const headings = ["Series", heading(plot.x), heading(plot.y), "95 % interval"];
  frame.append(legend, ...parts, data(plot.title, headings, rows));
}

function toggle(series: Plot["series"][number], index: number, chart: Chart): HTMLButtonElement {
  const made = button(series.name, () => {
    chart.toggle(series.name);
    made.setAttribute("aria-pressed", String(made.getAttribute("aria-pressed") !== "true"));
  });
  made.setAttribute("aria-pressed", String(series.hidden !== true));
  const paint = (): void => made.style.setProperty("--series", color(theme(), index));
  paint();
  onTheme(paint);
  if (series.paper === true) made.classList.add("paper");
  return made;
}

function showHeatMap(frame: HTMLElement, map: HeatMap): void {
  const { place, inner } = canvas(map.title);
  const chart = draw(inner, (theme) => heatMapOption(map, theme));
  const series = [...new Set(map.cells.map(([, y]) => y))].map((y) => ({
    name: `${map.y.label} ${label(map.y, y)}`,
    shape: "points" as const,
    points: map.cells.filter((cell) => cell[1] === y).map(([x, , value]): [number, number] => [x, value]),
  }));
  const csv = button("CSV", () => save(`${map.name}.csv`, "text/csv", toCsv(map.x, map.value, series)));
  const rows = map.cells.map((cell) => describeCell({ ...map, marks: [] }, cell).map((text) => text.slice(text.indexOf(": ") + 2)));
  const parts = zoomable(place, chart, OF_CHART, keepPicture(map.name, chart), csv);
  frame.append(...parts, data(map.title, [map.x.label, map.y.label, heading(map.value)], rows));
}

function showLadder(frame: HTMLElement, ladder: Ladder): void {
  let drawing = drawLadder(ladder);
  const place = stage(ladder.title, "scroll", drawing);
  const target = scrolled(place, (times) => {
    const next = drawLadder(ladder, times);
    drawing.replaceWith(next);
    drawing = next;
  });
  const picture = button("SVG", () => save(`${ladder.name}.svg`, "image/svg+xml", drawing.outerHTML));
  const parts = zoomable(place, target, OF_SCROLLED, picture);
  frame.append(...parts, data(ladder.title, ["Time", "What happens"], tell(ladder)));
}

function showGallery(frame: HTMLElement, gallery: Gallery): void {
  const rows = gallery.rows.map(({ name, images }) => [
    name,
    ...images.map(({ source, alt }) => element("img", { src: source, alt, loading: "lazy" })),
  ]);
  const place = stage(gallery.title, "scroll", table(gallery.title, ["Case", ...gallery.columns], rows));
  const target = scrolled(place, (times) => place.style.setProperty("--times", String(times)));
  frame.append(...zoomable(place, target, OF_SCROLLED));
}

/** The data behind a figure, folded away until asked for. */
function data(title: string, headings: string[], rows: string[][]): HTMLElement {
  const folded = element("details", { class: "data" }, element("summary", {}, `Data (${rows.length} rows)`));
  folded.addEventListener("toggle", () => {
    if (!folded.open || folded.querySelector("table") !== null) return;
    const shown = table(title, headings, rows.slice(0, LARGEST_TABLE));
    const more = rows.length > LARGEST_TABLE ? `The first ${LARGEST_TABLE} of ${rows.length} rows.` : undefined;
    folded.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, shown, more));
  });
  return folded;
}
