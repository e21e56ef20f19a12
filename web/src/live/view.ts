/** The part of the time that is shown, and a canvas as sharp as the screen. */

const MOST_PX_PER_MS = 4;
const LEAST_PX_PER_MS = 0.01;
/** Room right of the present, for what is on its way. */
const AHEAD_PX = 28;
/** Room left for the names of the ends. */
export const GUTTER_PX = 74;

export class View {
  width = 0;
  px_per_ms = 0.28;
  now_ms = 0;
  /** Time by which the end of what is shown lies before the present. */
  back_ms = 0;

  x(at_ms: number): number {
    return this.width - AHEAD_PX - (this.now_ms - this.back_ms - at_ms) * this.px_per_ms;
  }

  at(x: number): number {
    return this.now_ms - this.back_ms - (this.width - AHEAD_PX - x) / this.px_per_ms;
  }

  /** The first and the last time that can be seen. */
  get from_ms(): number {
    return this.at(GUTTER_PX);
  }

  get to_ms(): number {
    return this.at(this.width);
  }

  zoom(times: number): void {
    this.px_per_ms = Math.min(Math.max(this.px_per_ms * times, LEAST_PX_PER_MS), MOST_PX_PER_MS);
  }

  /** Goes back in time by a number of pixels, not beyond the beginning or the present. */
  move(pixels: number): void {
    this.back_ms = Math.min(Math.max(this.back_ms + pixels / this.px_per_ms, 0), this.now_ms);
  }

  /** Times for the lines of the grid: far enough apart to be read. */
  ticks(): number[] {
    const least = 70 / this.px_per_ms;
    const steps = [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000];
    const step = steps.find((one) => one >= least) ?? 60_000;
    const first = Math.max(0, Math.ceil(this.from_ms / step));
    const count = Math.max(0, Math.floor(this.to_ms / step) - first + 1);
    return Array.from({ length: Math.min(count, 200) }, (_, index) => (first + index) * step);
  }
}

/** A canvas to draw on, in pixels of the style sheet. */
export class Sheet {
  readonly place: HTMLCanvasElement;
  readonly pen: CanvasRenderingContext2D;
  width = 0;
  height = 0;

  constructor(place: HTMLCanvasElement) {
    const pen = place.getContext("2d");
    if (pen === null) throw new Error("this browser cannot draw on a canvas");
    this.place = place;
    this.pen = pen;
  }

  /** Empties it, and follows the size that the style sheet gives it. */
  clear(): void {
    const { clientWidth, clientHeight } = this.place;
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(clientWidth * scale), Math.round(clientHeight * scale)];
    if (this.place.width !== width || this.place.height !== height) {
      this.place.width = width;
      this.place.height = height;
    }
    this.width = clientWidth;
    this.height = clientHeight;
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.pen.clearRect(0, 0, clientWidth, clientHeight);
  }
}

/** The font of the page's drawings. */
export function font(size: number, weight = 400): string {
  return `${weight} ${size}px system-ui, sans-serif`;
}
