/** Places in the address: reads what `placeParameters` of the router writes. */

import type { Place } from './api-types.ts';
import { fromHex, wordOf } from './shell.ts';
import { parentOf } from './text.ts';

/** Returns a place from bytes in hexadecimal. */
export function placeOfRaw(hex: string): Place | undefined {
  if (!/^([0-9a-f]{2})+$/.test(hex)) return undefined;
  const word = wordOf(fromHex(hex));
  return word.raw === undefined ? { path: word.text } : { path: word.text, raw: word.raw };
}

/** Returns the places of an address. */
export function placesOf(query: URLSearchParams): Place[] {
  const paths = query.getAll('path').filter((path) => path.startsWith('/'));
  const raw = query.getAll('raw').flatMap((hex) => placeOfRaw(hex) ?? []);
  return [...paths.map((path) => ({ path: path.length > 1 ? path.replace(/\/+$/, '') || '/' : path })), ...raw];
}

/** Returns the directory above a place; `/` has none. */
export function above(place: Place): Place | undefined {
  if (place.path === '/') return undefined;
  if (place.raw === undefined) return { path: parentOf(place.path) };
  const bytes = fromHex(place.raw);
  const at = bytes.lastIndexOf(0x2f);
  if (at <= 0) return { path: '/' };
  const word = wordOf(bytes.subarray(0, at));
  return word.raw === undefined ? { path: word.text } : { path: word.text, raw: word.raw };
}

/** Returns a place and everything above it, from the root. */
export function chain(place: Place): Place[] {
  const found: Place[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = above(at)) found.unshift(at);
  return found;
}

/** Returns whether a path is a directory, or lies below it. */
export function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** Returns whether two places are the same. */
export function isSame(left: Place | undefined, right: Place | undefined): boolean {
  return left?.path === right?.path && left?.raw === right?.raw;
}
