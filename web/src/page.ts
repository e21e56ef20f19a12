/** The page: heading, table of contents, sections. */
import { button, element, entries, table } from "./dom.ts";
import { showFigure } from "./figure.ts";
import type { Agreement, Claim, Comparison, Kind, Report, Section, Verdict } from "./model.ts";
import { toggleTheme } from "./theme.ts";

/** All elements of a report's page. */
export function showReport(report: Report): HTMLElement[] {
  const header = element(
    "header",
    {},
    element("div", { class: "bar" }, element("h1", {}, report.title), button("Light / dark", toggleTheme)),
    element("p", { class: "lead" }, report.about),
    ...verdicts(report),
    element("details", { class: "provenance" }, element("summary", {}, "Where this comes from"), entries(report.provenance)),
  );
  const main = element("main", { id: "main" }, ...report.sections.map(showSection));
  const skip = element("a", { class: "skip", href: "#main" }, "To the results");
  const parts: HTMLElement[] = [skip, header];
  if (report.sections.length > 1) parts.push(contents(report));
  return [...parts, main];
}

const AGREEMENTS: Agreement[] = ["same", "same-direction", "differs", "not-decided", "not-reported", "not-measured"];
const CLAIMS: Claim[] = ["number", "direction", "no-effect"];
const KINDS: Exclude<Kind, "prediction">[] = ["input", "fitted", "bound", "measured"];

/** Outcome of predictions, paper by paper; rows of every other kind are counted beside them and never with them. */
function verdicts(report: Report): HTMLElement[] {
  const papers = new Map<string, Comparison[]>();
  for (const { group, comparisons } of report.sections) {
    if (comparisons.length === 0) continue;
    const name = group ?? "others";
    papers.set(name, [...(papers.get(name) ?? []), ...comparisons]);
  }
  if (papers.size === 0) return [];
  const earned = AGREEMENTS.filter((word) => word !== "not-reported");
  const predictions = [...papers].flatMap(([paper, rows]) =>
    CLAIMS.flatMap((claim) => {
      const mine = rows.filter((row) => isPrediction(row) && (row.claim ?? "number") === claim && row.verdict !== "not-reported");
      const counts = earned.map((word) => String(mine.filter((row) => row.verdict === word).length));
      return mine.length === 0 ? [] : [[paper, claim.replace("-", " "), ...counts]];
    }),
  );
  const beside = [...papers].map(([paper, rows]) => [
    paper,
    ...KINDS.map((kind) => told(rows.filter((row) => row.kind === kind))),
    String(rows.filter((row) => row.verdict === "not-reported").length),
  ]);
  const scroll = (caption: string, headings: string[], rows: string[][]): HTMLElement =>
    element("div", { class: "scroll verdicts", tabindex: "0", role: "region", "aria-label": caption }, table(caption, headings, rows));
  return [
    scroll("Predictions, by what the paper claims", ["Paper", "Claims", ...earned.map(words)], predictions),
    scroll("Beside them, no predictions", ["Paper", "Input", "Fitted", "Bound", "Measured", "Not reported"], beside),
  ];
}

function isPrediction(row: Comparison): boolean {
  return (row.kind ?? "prediction") === "prediction";
}

/** `4 same, 1 differs`. */
function told(rows: Comparison[]): string {
  const counts = AGREEMENTS.map((word) => ({ word, count: rows.filter((row) => (row.agreement ?? row.verdict) === word).length }));
  return counts.filter(({ count }) => count > 0).map(({ word, count }) => `${count} ${words(word)}`).join(", ");
}

function words(verdict: Verdict): string {
  return verdict.replace("-", " ");
}

function badge(row: Comparison): HTMLElement {
  const word = element("span", { class: `badge ${row.verdict}` }, words(row.verdict));
  return row.agreement === undefined ? word : element("span", {}, word, ` (${words(row.agreement)})`);
}

function contents(report: Report): HTMLElement {
  const groups = new Map<string, Section[]>();
  for (const section of report.sections) {
    const group = section.group ?? "";
    groups.set(group, [...(groups.get(group) ?? []), section]);
  }
  const lists = [...groups].map(([group, sections]) => {
    const links = sections.map(({ id, title }) => element("li", {}, element("a", { href: `#${id}` }, title)));
    return element("div", {}, group === "" ? undefined : element("h2", {}, group), element("ul", {}, ...links));
  });
  return element("nav", { "aria-label": "Contents" }, ...lists);
}

function showSection(section: Section): HTMLElement {
  return element(
    "section",
    { id: section.id, "aria-labelledby": `${section.id}-title` },
    section.group === undefined ? undefined : element("p", { class: "group" }, section.group),
    element("h2", { id: `${section.id}-title` }, section.title),
    element("p", {}, section.about),
    ...section.figures.map(showFigure),
    comparison(section),
    folded("Parameters", section.parameters),
    folded("What the paper leaves open", section.open),
    commands(section.commands),
  );
}

function comparison({ title, comparisons }: Section): HTMLElement | undefined {
  if (comparisons.length === 0) return undefined;
  const headings = ["What", "Where", "Paper", "Here", "95 % interval", "Verdict"];
  const rows = comparisons.map((row) => [
    row.measure,
    row.where,
    paper(row),
    row.here,
    row.interval ?? "",
    element("div", {}, badge(row), row.note === undefined ? undefined : element("p", { class: "note" }, row.note)),
  ]);
  const shown = table(`${title}: paper and here`, headings, rows);
  return element("div", { class: "scroll comparison", tabindex: "0", role: "region", "aria-label": `${title}: paper and here` }, shown);
}

function paper(row: Comparison): HTMLElement {
  const source = row.source === undefined ? undefined : element("small", {}, row.source);
  return element("div", {}, row.paper ?? "not reported", " ", source);
}

function folded(title: string, list: { name: string; value: string }[]): HTMLElement | undefined {
  if (list.length === 0) return undefined;
  return element("details", {}, element("summary", {}, title), entries(list));
}

function commands(lines: string[]): HTMLElement | undefined {
  if (lines.length === 0) return undefined;
  const code = element("pre", { tabindex: "0" }, element("code", {}, lines.join("\n")));
  return element("details", {}, element("summary", {}, "Commands that produce this again"), code);
}
