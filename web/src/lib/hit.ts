/** A hit of a search: what the table keeps of an entry. A million of them must fit in memory. */

import type { Entry, Place } from './api-types.ts';
import { type Integer, parseTime, toNumber } from './format.ts';

export interface Hit {
  readonly path: string;
  readonly raw: string | undefined;
  readonly type: string;
  readonly size: number;
  readonly disk: number;
  readonly mtime: number | undefined;
  readonly atime: number | undefined;
  readonly owner: string;
  readonly group: string;
  readonly permissions: string;
  readonly links: number;
}

/** One copy of texts that many hits share. */
const shared = new Map<string, string>();

function share(text: string): string {
  const known = shared.get(text);
  if (known !== undefined) return known;
  if (shared.size < 10_000) shared.set(text, text);
  return text;
}

const number = (value: Integer | null | undefined): number => toNumber(value ?? 0);

/** Returns what is kept of an entry. */
export function hitOf(entry: Entry): Hit {
  return {
    path: entry.path,
    raw: entry.path_raw,
    type: share(entry.type ?? 'U'),
    size: number(entry.size),
    disk: 512 * number(entry.blocks),
    mtime: parseTime(entry.mtime),
    atime: parseTime(entry.atime),
    owner: share(entry.user ?? String(entry.uid ?? '')),
    group: share(entry.group ?? String(entry.gid ?? '')),
    permissions: share(entry.permissions ?? ''),
    links: number(entry.nlink),
  };
}

/** Returns the place of a hit. */
export function placeOfHit(hit: Hit): Place {
  return hit.raw === undefined ? { path: hit.path } : { path: hit.path, raw: hit.raw };
}
