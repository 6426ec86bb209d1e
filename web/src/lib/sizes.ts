/** Sizes as chips and find write them: a whole number and a unit, `c` (bytes), `k`, `M` or `G`. */

const FACTORS: Readonly<Record<string, number>> = { c: 1, k: 1024, M: 1024 ** 2, G: 1024 ** 3 };

/** Reads what a person types, such as `100 MB`, `1.5g` or `2T`; undefined if it is no size. */
export function parseSize(text: string): string | undefined {
  const match = /^\s*(\d+(?:[.,]\d+)?)\s*([kmgt]?)(?:i?b|c)?\s*$/i.exec(text);
  if (!match) return undefined;
  const number = Number((match[1] ?? '').replace(',', '.'));
  const unit = (match[2] ?? '').toLowerCase();
  const power = ['', 'k', 'm', 'g', 't'].indexOf(unit);
  const bytes = Math.round(number * 1024 ** power);
  return Number.isSafeInteger(bytes) ? sizeOfBytes(bytes) : undefined;
}

/** Returns the bytes of a size; undefined if it is none. */
export function bytesOf(size: string): number | undefined {
  const match = /^(\d+)([ckMG])$/.exec(size);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (FACTORS[match[2] ?? ''] ?? 0);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Returns bytes with the largest unit that divides them. */
export function sizeOfBytes(bytes: number): string {
  for (const unit of ['G', 'M', 'k']) {
    const factor = FACTORS[unit] ?? 1;
    if (bytes > 0 && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return `${bytes}c`;
}

/** Returns a size for people: `100 MiB`. */
export function sizeInWords(size: string): string {
  const match = /^(\d+)([ckMG])$/.exec(size);
  if (!match) return size;
  const unit = { c: 'bytes', k: 'KiB', M: 'MiB', G: 'GiB' }[match[2] ?? 'c'] ?? '';
  return `${match[1] ?? ''} ${unit}`;
}
