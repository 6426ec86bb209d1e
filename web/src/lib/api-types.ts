/** Rows of the API by short names, and places. The types come from the description of the API. */

import type { Schemas } from '../../../clients/typescript/src/index.ts';

/** A path, with its bytes in hexadecimal where it is not UTF-8. */
export interface Place {
  readonly path: string;
  readonly raw?: string;
}

export type AnyRow = Schemas['AnyRow'];
export type Column = Schemas['Column'];
export type Difference = Schemas['Difference'];
export type Directory = Schemas['Directory'];
/** An entry, with what `stat` adds. These numbers have 32 bits, and are never missing alone. */
export type Entry = Omit<Schemas['Details'], 'mode' | 'uid' | 'gid'> & { readonly mode?: number; readonly uid?: number; readonly gid?: number };
export type Growth = Schemas['Growth'];
export type Me = Schemas['Me'];
export type Share = Schemas['Share'];
export type Snapshot = Schemas['Snapshot'];
export type Source = Schemas['Source'];
export type State = Schemas['State'];
export type Usage = Schemas['Usage'];

/** Arguments that name places. */
export type PlaceArguments = { readonly paths?: readonly string[]; readonly paths_raw?: readonly string[] };

/** Returns the place of a row. */
export function placeOf(row: { readonly path: string; readonly path_raw?: string }): Place {
  return row.path_raw === undefined ? { path: row.path } : { path: row.path, raw: row.path_raw };
}

/** Returns the arguments `paths` and `paths_raw` for some places. */
export function pathArguments(places: readonly Place[]): PlaceArguments {
  const raw = places.flatMap((place) => place.raw ?? []);
  const paths = places.filter((place) => place.raw === undefined).map((place) => place.path);
  return { ...(paths.length > 0 && { paths }), ...(raw.length > 0 && { paths_raw: raw }) };
}
