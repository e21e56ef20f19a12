/** Colours of figures, which follow the page's: light or dark. */

export interface Theme {
  text: string;
  faint: string;
  grid: string;
  background: string;
  /** For series, apart from each other also to those who do not see red and green apart. */
  series: string[];
  /** From the least to the largest value of a heat map. */
  ramp: string[];
  again: string;
  along: string;
  bad: string;
}

const light: Theme = {
  text: "#1c2430",
  faint: "#5b6675",
  grid: "#dfe4ea",
  background: "#ffffff",
  series: ["#0b62a8", "#c4500a", "#14804a", "#8a3ffc", "#a8741a", "#ad1f5c", "#3d8b99", "#555f6d"],
  ramp: ["#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"],
  again: "#c4500a",
  along: "#8a3ffc",
  bad: "#b3261e",
};

const dark: Theme = {
  text: "#e8ecf1",
  faint: "#a4afbd",
  grid: "#323c49",
  background: "#141a21",
  series: ["#6cb6ff", "#ff9f5a", "#56d08f", "#c39bff", "#e5c07b", "#ff86b5", "#7fd6e3", "#b5bfca"],
  ramp: ["#0d1b2a", "#173f66", "#2171b5", "#6baed6", "#deebf7"],
  again: "#ff9f5a",
  along: "#c39bff",
  bad: "#ff8a80",
};

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function chosen(): string | undefined {
  return document.documentElement.dataset["theme"];
}

/** Whether the page is dark: as the reader chose, or as the system is. */
export function isDark(): boolean {
  return chosen() === undefined ? prefersDark.matches : chosen() === "dark";
}

export function theme(): Theme {
  return isDark() ? dark : light;
}

/** Calls `listener` whenever the colours change. */
export function onTheme(listener: () => void): void {
  listeners.add(listener);
}

/** Light to dark or back. */
export function toggleTheme(): void {
  document.documentElement.dataset["theme"] = isDark() ? "light" : "dark";
  listeners.forEach((listener) => listener());
}

prefersDark.addEventListener("change", () => listeners.forEach((listener) => listener()));
