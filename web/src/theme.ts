/** Colours of the page and of its figures: light or dark. They stand in one file, for the command's pictures, too. */
import colours from "./colours.json";

export interface Theme {
  text: string;
  faint: string;
  grid: string;
  background: string;
  raised: string;
  link: string;
  good: string;
  middling: string;
  bad: string;
  again: string;
  along: string;
  /** For series, apart from each other also to those who do not see red and green apart. */
  series: string[];
  /** Colours from the least to the largest value of a heat map. */
  ramp: string[];
}

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
  return isDark() ? colours.dark : colours.light;
}

/** Gives the style sheet its colours, now and whenever they change. */
export function paint(): void {
  const { style } = document.documentElement;
  const show = (): void => {
    style.colorScheme = isDark() ? "dark" : "light";
    for (const [name, value] of Object.entries(theme())) {
      if (typeof value === "string") style.setProperty(`--${name}`, value);
    }
  };
  show();
  onTheme(show);
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
