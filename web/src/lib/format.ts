/** Numbers, sizes and times as people read them. */

import type { Schemas } from '../../../clients/typescript/src/index.ts';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

/** Integers beyond 2⁵³ arrive as strings of digits. */
export type Integer = Schemas['Integer'];

/** Returns a number of the API as a double; 0 for a missing one. */
export function toNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return Number(value);
  return 0;
}

/** Returns bytes with a binary unit, such as `1.5 GiB`. */
export function formatSize(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${bytes < 0 ? '−' : ''}${value.toFixed(digits)} ${UNITS[unit] ?? ''}`;
}

/** Returns a change of bytes with its sign. */
export function formatDelta(bytes: number): string {
  return bytes > 0 ? `+${formatSize(bytes)}` : formatSize(bytes);
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Returns a whole number with separators. */
export function formatCount(count: number): string {
  return whole.format(count);
}

/** Returns `1 file`, `2 files`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Returns a share in percent. */
export function formatShare(part: number, total: number): string {
  if (total <= 0) return '–';
  const percent = (100 * part) / total;
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/**
 * Reads a time of the API: RFC 3339, or `2026-11-28 01:15:15.039046687 +0000`.
 *
 * @returns milliseconds since 1970, or undefined
 */
export function parseTime(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const shape = /^([+-]?\d{4,})-(\d\d)-(\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)? ?(Z|[+-]\d\d:?\d\d)$/;
  const parts = shape.exec(text);
  if (!parts) return undefined;
  const [, year = '', month, day, time, fraction = '', zone = 'Z'] = parts;
  const colon = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
  const value = Date.parse(`${year}-${month}-${day}T${time}${fraction.slice(0, 4)}${colon}`);
  return Number.isNaN(value) ? undefined : value;
}

const pad = (number: number): string => String(number).padStart(2, '0');

/** Returns a time as local date and time. */
export function formatTime(ms: number | undefined): string {
  if (ms === undefined) return '–';
  const date = new Date(ms);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

const STEPS: readonly (readonly [number, string])[] = [
  [365.25 * 86_400, 'year'],
  [30.44 * 86_400, 'month'],
  [7 * 86_400, 'week'],
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
];

/** Returns a span of time in words, such as `3 minutes`. */
export function formatSpan(ms: number): string {
  const seconds = Math.abs(ms) / 1000;
  for (const [length, unit] of STEPS) {
    if (seconds >= length) return plural(Math.floor(seconds / length), unit);
  }
  return plural(Math.floor(seconds), 'second');
}

/** Returns how long ago a time was, such as `3 minutes ago`. */
export function formatAgo(ms: number, now: number): string {
  if (ms > now + 60_000) return `in ${formatSpan(ms - now)}`;
  return now - ms < 1000 ? 'just now' : `${formatSpan(now - ms)} ago`;
}

const TYPES: Readonly<Record<string, string>> = {
  f: 'file',
  d: 'directory',
  l: 'symbolic link',
  p: 'pipe',
  s: 'socket',
  b: 'block device',
  c: 'character device',
  U: 'unknown type',
};

/** Returns a type letter of find in words. */
export function formatType(type: string | null | undefined): string {
  return TYPES[type ?? 'U'] ?? 'unknown type';
}
