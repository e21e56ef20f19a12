/** Part of an axis that is shown, and what zooming and moving make of it. */

/** Stretch from one value of an axis to another; of categories, from the first place to the last. */
export type Stretch = readonly [number, number];

export type Scale = "linear" | "log" | "category";

/** Least share of the whole that is shown: what is nearer only shows rounding. */
const LEAST = 1e-4;

/** Share of what is shown by which the figure moves at a time. */
const STEP = 0.25;

/** `shown` nearer by this factor, around its middle and within the `whole`; below one it is further away. */
export function zoomed(shown: Stretch, whole: Stretch, times: number, scale: Scale): Stretch {
  const [[low, high], [least, most]] = [edges(shown, scale), edges(whole, scale)];
  const middle = (low + high) / 2;
  const half = Math.max((high - low) / times, (most - least) * LEAST) / 2;
  const next = part([Math.max(middle - half, least), Math.min(middle + half, most)], whole, scale);
  // Of two places in the middle neither can be shown alone.
  return next[0] > next[1] ? shown : next;
}

/** `shown` one step up (1) or down (-1), as far as the `whole` goes. */
export function moved(shown: Stretch, whole: Stretch, steps: number, scale: Scale): Stretch {
  const [[low, high], [least, most]] = [edges(shown, scale), edges(whole, scale)];
  const step = (high - low) * STEP;
  const wanted = steps * (scale === "category" ? Math.max(1, Math.round(step)) : step);
  const by = Math.min(Math.max(wanted, least - low), most - high);
  return by === 0 ? shown : part([low + by, high + by], whole, scale);
}

/** The part of the whole between two places at equal steps; an end that only rounding keeps from the whole's is that. */
function part([low, high]: Stretch, whole: Stretch, scale: Scale): Stretch {
  const [least, most] = edges(whole, scale);
  const rounding = (most - least) * 1e-9;
  const [from, to] = values([low, high], scale);
  return [low <= least + rounding ? whole[0] : from, high >= most - rounding ? whole[1] : to];
}

/** Beginning and end of a stretch on an axis with equal steps; a category is as wide as one. */
function edges([low, high]: Stretch, scale: Scale): Stretch {
  switch (scale) {
    case "linear":
      return [low, high];
    case "log":
      return [Math.log(low), Math.log(high)];
    case "category":
      return [low - 0.5, high + 0.5];
  }
}

/** The other way round; of categories those whose middle is within. */
function values([low, high]: Stretch, scale: Scale): Stretch {
  switch (scale) {
    case "linear":
      return [low, high];
    case "log":
      return [Math.exp(low), Math.exp(high)];
    case "category":
      return [Math.ceil(low), Math.floor(high)];
  }
}
