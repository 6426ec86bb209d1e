/** Axes with round numbers: of bytes, round in binary units. */

/** Marks of an axis. */
export interface Axis {
  readonly min: number;
  readonly max: number;
  readonly interval: number;
}

/** Returns the axis for a range of values, with about four marks. */
export function axisOf(least: number, most: number, isBytes: boolean): Axis {
  const span = Math.max(most - least, isBytes ? 1024 : 1) / 4;
  const base = isBytes ? 1024 ** Math.floor(Math.log(span) / Math.log(1024)) : 1;
  const scaled = span / base;
  const power = 10 ** Math.floor(Math.log10(scaled));
  const factor = [1, 2, 5, 10].find((one) => one * power >= scaled) ?? 10;
  const interval = Math.max(1, factor * power * base);
  return { min: Math.floor(least / interval) * interval, max: Math.max(1, Math.ceil(most / interval)) * interval, interval };
}
