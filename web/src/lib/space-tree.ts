/**
 * The tree of the space view, from rows of du and the largest files. A directory has the colour of
 * most of the bytes of its large files.
 */

import { type Entry, type Place, placeOf, type Usage } from './api-types.ts';
import { formatCount, parseTime, toNumber } from './format.ts';
import { AGE_NAMES, AGE_PALETTE, ageOf, GREY, KIND_NAMES, kindOf, PALETTE } from './kinds.ts';
import { above, isSame } from './places.ts';
import { baseName, visible } from './text.ts';

export type ColourBy = 'age' | 'owner' | 'type';

/** A tile. */
export interface Tile {
  readonly key: string;
  /** Name to show: escapes for what cannot be seen. */
  readonly label: string;
  /** Undefined for what is left over. */
  readonly place: Place | undefined;
  readonly isDirectory: boolean;
  readonly bytes: number;
  readonly children: Tile[];
  /** Bytes of large files below, by owner, age and kind. */
  readonly weights: Readonly<Record<ColourBy, Map<string, number>>>;
}

const keyOf = (place: Place): string => (place.raw === undefined ? `p${place.path}` : `r${place.raw}`);

function tileOf(place: Place, bytes: number, isDirectory: boolean): Tile {
  const name = place.path === '/' ? '/' : baseName(place.path);
  return {
    key: keyOf(place),
    label: visible(name, place.raw !== undefined),
    place,
    isDirectory,
    bytes,
    children: [],
    weights: { age: new Map(), owner: new Map(), type: new Map() },
  };
}

/** Most files that are tiles of their own in a directory. */
const MAX_FILES = 100;
/** Most sub-directories that are tiles of their own in a directory. */
const MAX_DIRECTORIES = 300;

/** Adds a file to the weights of its directories, and as a tile where it lies directly in one. */
function addFile(tiles: Map<string, Tile>, file: Entry, now: number): void {
  const place = placeOf(file);
  const bytes = 512 * toNumber(file.blocks);
  const name = baseName(file.path);
  const values: Record<ColourBy, string> = {
    age: ageOf(parseTime(file.mtime) ?? 0, now),
    owner: file.user ?? `user ${file.uid ?? '?'}`,
    type: kindOf(name),
  };
  const weigh = (tile: Tile): void => {
    for (const by of ['age', 'owner', 'type'] as const) {
      tile.weights[by].set(values[by], (tile.weights[by].get(values[by]) ?? 0) + bytes);
    }
  };
  for (let at = above(place), isFirst = true; at !== undefined; at = above(at), isFirst = false) {
    const tile = tiles.get(keyOf(at));
    if (tile === undefined) continue;
    weigh(tile);
    if (isFirst && bytes > 0) {
      const leaf = tileOf(place, bytes, false);
      weigh(leaf);
      tile.children.push(leaf);
    }
  }
}

/** Sorts the children of a tile, and joins small ones and what has no row to one tile. */
function finish(tile: Tile, isLeaf: boolean): void {
  tile.children.sort((left, right) => right.bytes - left.bytes);
  const directories = tile.children.filter((child) => child.isDirectory).slice(0, MAX_DIRECTORIES);
  // A directory whose sub-directories are not shown gets no tiles of files, which would mislead.
  const files = isLeaf ? [] : tile.children.filter((child) => !child.isDirectory).slice(0, MAX_FILES);
  const kept = [...directories, ...files].sort((left, right) => right.bytes - left.bytes);
  const rest = tile.bytes - kept.reduce((sum, child) => sum + child.bytes, 0);
  tile.children.splice(0, tile.children.length, ...kept);
  for (const child of directories) finish(child, false);
  if (!isLeaf && kept.length > 0 && rest > 0) {
    tile.children.push({ ...tileOf({ path: '/' }, rest, false), key: `o${tile.key}`, label: 'smaller entries', place: undefined });
  }
}

/**
 * Builds the tree.
 *
 * @param tops the places that were asked for
 * @param depth levels that the rows of du have below them
 */
export function spaceTree(tops: readonly Place[], usage: readonly Usage[], files: readonly Entry[], depth: number, now: number): Tile {
  const tiles = new Map<string, Tile>();
  for (const row of usage) {
    const tile = tileOf(placeOf(row), toNumber(row.disk_bytes), true);
    tiles.set(tile.key, tile);
  }
  const roots: Tile[] = [];
  for (const tile of tiles.values()) {
    if (tile.place === undefined) continue;
    if (tops.some((top) => isSame(top, tile.place))) {
      roots.push(tile);
      continue;
    }
    const parent = above(tile.place);
    if (parent !== undefined) tiles.get(keyOf(parent))?.children.push(tile);
  }
  for (const file of files) addFile(tiles, file, now);
  const only = roots[0];
  if (tops.length === 1 && only !== undefined) {
    cut(only, depth);
    return only;
  }
  for (const root of roots) cut(root, depth);
  const all = tileOf({ path: '/' }, roots.reduce((sum, root) => sum + root.bytes, 0), true);
  for (const root of roots) {
    all.children.push({ ...root, label: visible(root.place?.path ?? '') });
    for (const by of ['age', 'owner', 'type'] as const) {
      for (const [value, bytes] of root.weights[by]) all.weights[by].set(value, (all.weights[by].get(value) ?? 0) + bytes);
    }
  }
  all.children.sort((left, right) => right.bytes - left.bytes);
  return { ...all, key: 'all', label: 'all indexed trees', place: undefined };
}

function cut(tile: Tile, depth: number): void {
  finish(tile, depth === 0);
  const leaves = (at: Tile, level: number): void => {
    if (level >= depth) at.children.length = 0;
    else for (const child of at.children) if (child.isDirectory) leaves(child, level + 1);
  };
  leaves(tile, 0);
}

/** Colours and what they stand for. */
export interface Legend {
  readonly entries: readonly { readonly name: string; readonly colour: string }[];
  readonly colourOf: (tile: Tile) => string;
  readonly valueOf: (tile: Tile) => string;
}

function largest(weights: ReadonlyMap<string, number>): string | undefined {
  let found: string | undefined;
  let most = 0;
  for (const [value, bytes] of weights) if (bytes > most) [found, most] = [value, bytes];
  return found;
}

/** Returns the colours of a tree. */
export function legendOf(root: Tile, by: ColourBy): Legend {
  const names = by === 'age' ? AGE_NAMES : by === 'type' ? KIND_NAMES
    : [...root.weights.owner].sort((left, right) => right[1] - left[1]).map(([name]) => name).slice(0, PALETTE.length);
  const palette = by === 'age' ? AGE_PALETTE : PALETTE;
  const colours = new Map(names.map((name, index) => [name, palette[index % palette.length] ?? GREY]));
  const valueOf = (tile: Tile): string => largest(tile.weights[by]) ?? 'not known';
  return {
    entries: [...names.map((name) => ({ name: visible(name), colour: colours.get(name) ?? GREY })), { name: 'not known, or mixed', colour: GREY }],
    valueOf: (tile) => visible(valueOf(tile)),
    colourOf: (tile) => colours.get(valueOf(tile)) ?? GREY,
  };
}

/** Returns how many entries a tile has, in words. */
export function countInWords(tile: Tile): string {
  return `${formatCount(tile.children.length)} ${tile.children.length === 1 ? 'entry' : 'entries'}`;
}
