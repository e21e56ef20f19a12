/** Nearer and further away: buttons and keys, the same for every kind of figure. */
import { button, element } from "./dom.ts";

/** A figure that can be zoomed. */
export interface Zoomable {
  /** The factor by which it is nearer; below one it is further away. */
  zoom(times: number): void;
  /** One step to the right or up (1), to the left or down (-1); whether it could. What scrolls has none. */
  move?(right: number, up: number): boolean;
  /** Shows the figure as at first. */
  reset(): void;
}

/** Factor by which one press brings a figure nearer. */
const NEARER = 2;

/** Largest factor by which a figure that scrolls can come nearer than it was at first. */
const NEAREST = 16;

const KEYS_AND_BUTTONS = "To zoom, press the buttons, or + and − in the figure; 0 shows all again.";

/** Instructions below a figure of the plotting library. */
export const OF_CHART = `${KEYS_AND_BUTTONS} What is zoomed moves with the arrow keys, or when it is dragged. Ctrl and the wheel zoom across, Shift and the wheel upwards, two fingers both ways.`;

/** Instructions below a figure that scrolls. */
export const OF_SCROLLED = `${KEYS_AND_BUTTONS} What is zoomed scrolls.`;

/** Buttons that zoom `target` in and out by a factor of 2, and back. */
export function zoomButtons(target: Zoomable): HTMLButtonElement[] {
  return [
    button("Zoom in", () => target.zoom(NEARER)),
    button("Zoom out", () => target.zoom(1 / NEARER)),
    button("Reset", () => target.reset()),
  ];
}

/** A place for a figure that takes the keyboard's focus. */
export function stage(title: string, kind: "canvas" | "scroll", ...children: Node[]): HTMLElement {
  return element("div", { class: `stage ${kind}`, tabindex: "0", role: "group", "aria-label": `${title}: figure` }, ...children);
}

/** Lets the keys do what the buttons do while `place` has the focus. */
export function zoomKeys(place: HTMLElement, target: Zoomable): void {
  place.addEventListener("keydown", (event) => {
    // With these the keys are the browser's.
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (onKey(event.key, target)) event.preventDefault();
  });
}

/** Whether a key meant the figure; an arrow that cannot move it scrolls the page. */
function onKey(key: string, target: Zoomable): boolean {
  switch (key) {
    case "+":
    case "=":
      target.zoom(NEARER);
      return true;
    case "-":
      target.zoom(1 / NEARER);
      return true;
    case "0":
      target.reset();
      return true;
    case "ArrowRight":
      return target.move?.(1, 0) ?? false;
    case "ArrowLeft":
      return target.move?.(-1, 0) ?? false;
    case "ArrowUp":
      return target.move?.(0, 1) ?? false;
    case "ArrowDown":
      return target.move?.(0, -1) ?? false;
    default:
      return false;
  }
}

/** A figure in a place that scrolls: `show` draws it larger by a factor. The middle of the view stays in the middle. */
export function scrolled(place: HTMLElement, show: (times: number) => void): Zoomable {
  let times = 1;
  const set = (wanted: number): void => {
    const across = (place.scrollLeft + place.clientWidth / 2) / place.scrollWidth;
    const down = (place.scrollTop + place.clientHeight / 2) / place.scrollHeight;
    times = Math.min(Math.max(wanted, 1), NEAREST);
    show(times);
    place.classList.toggle("zoomed", times > 1);
    place.scrollLeft = across * place.scrollWidth - place.clientWidth / 2;
    place.scrollTop = down * place.scrollHeight - place.clientHeight / 2;
  };
  return { zoom: (by) => set(times * by), reset: () => set(1) };
}
