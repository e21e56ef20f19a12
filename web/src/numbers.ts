/** Numbers as they are shown, and scales. */
import type { Axis, Series } from "./model.ts";

/** At most four significant digits, thousands apart, no exponent where it can be avoided. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e9) return value.toExponential(2);
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(size))));
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** A value with at most four significant digits and its unit. */
export function withUnit(value: number, unit: string | undefined): string {
  if (unit === undefined) return short(value);
  return unit === "%" ? `${short(value)} %` : `${short(value)} ${unit}`;
}

/** An axis' label with its unit. */
export function heading(axis: { label: string; unit?: string }): string {
  return axis.unit === undefined ? axis.label : `${axis.label} (${axis.unit})`;
}

/** Position of a cumulative share on a `tail` axis: its logarithm counted from one, upwards. */
export function toTail(share: number): number {
  return -Math.log10(Math.max(1 - share, 1e-9));
}

/** Milliseconds in an axis' unit of time. */
export function millisIn(unit: string | undefined): number | undefined {
  return unit === "ms" ? 1 : unit === "s" ? 1_000 : undefined;
}

/** A value of an axis as text: a category's name, a share, or a number with its unit. */
export function label(axis: Axis, value: number): string {
  if (axis.categories !== undefined) return axis.categories[value] ?? short(value);
  if (axis.scale === "tail") return share(value);
  return withUnit(value, axis.unit);
}

/** A share near one in percent, with all the nines it has. */
export function share(value: number): string {
  return `${Number((100 * value).toPrecision(7))} %`;
}

/** The share at a place of a `tail` axis: what is missing to one has two digits there. */
export function shareAt(place: number): string {
  return share(1 - Number((10 ** -place).toPrecision(2)));
}

/** A time in milliseconds, with the unit that keeps it short. */
export function time(millis: number): string {
  return Math.abs(millis) < 1_000 ? withUnit(millis, "ms") : withUnit(millis / 1_000, "s");
}

/** Series as comma-separated values, a row for each point. */
export function toCsv(x: Axis, y: Axis, series: Series[]): string {
  const quote = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = ["series", heading(x), heading(y), "low", "high"].map(quote).join(",");
  const rows = series.flatMap(({ name, points }) =>
    points.map(([at, value, low, high]) => {
      const place = x.categories?.[at] ?? String(at);
      return [quote(name), quote(place), value, low ?? "", high ?? ""].join(",");
    }),
  );
  return [head, ...rows, ""].join("\n");
}
