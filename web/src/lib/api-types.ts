/** Shapes of the API's answers. Fields are those that the command prints with `--json`. */

import type { Integer } from './format.ts';

/** A path, with its bytes in hexadecimal where it is not UTF-8. */
export interface Place {
  readonly path: string;
  readonly raw?: string;
}

/** Arguments of a question. */
export type Argument = string | number | boolean | readonly string[] | undefined;
export type Arguments = Readonly<Record<string, Argument>>;

/** As of when a part of an answer is true. */
export interface AsOf {
  readonly place: string;
  readonly time: string;
  readonly from: string;
}

/** An answer, or one page of it. */
export interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly complete: boolean;
  readonly reason?: string;
  readonly cursor?: string;
  readonly issues: readonly string[];
  readonly issues_left_out?: number;
  readonly asked_at?: string;
  readonly as_of?: readonly AsOf[];
  readonly command?: readonly string[];
}

/** Any row. */
export type AnyRow = Readonly<Record<string, unknown>>;

/** An entry of find, ls, stat and top. */
export interface Entry {
  readonly path: string;
  readonly path_raw?: string;
  /** Null if no attributes are known; then the other fields are missing. */
  readonly type?: string | null;
  readonly size?: Integer;
  readonly blocks?: Integer;
  readonly mode?: number;
  readonly permissions?: string;
  readonly nlink?: Integer;
  readonly uid?: number;
  readonly user?: string | null;
  readonly gid?: number;
  readonly group?: string | null;
  readonly ino?: Integer;
  readonly dev?: Integer;
  readonly atime?: string | null;
  readonly mtime?: string | null;
  readonly ctime?: string | null;
  readonly btime?: string | null;
  readonly link_target?: string | null;
  readonly link_target_raw?: string;
  readonly acl?: readonly string[];
}

/** Space of a directory, of du and top. */
export interface Usage {
  readonly path: string;
  readonly path_raw?: string;
  readonly disk_bytes: Integer;
  readonly size: Integer;
  readonly inodes?: Integer;
  readonly entries?: Integer;
}

/** A group of stats, and of top by owner, group, extension or project. */
export interface Share {
  readonly path: string;
  readonly by: string;
  readonly key: string;
  readonly label: string;
  readonly entries: Integer;
  readonly size: Integer;
  readonly disk_bytes: Integer;
}

/** A key in one snapshot, of growth. */
export interface GrowthRow extends Share {
  readonly started: string;
  readonly snapshot: string;
  readonly disk_delta: Integer | null;
  readonly disk_per_day: Integer | null;
}

/** A source, of sources. */
export interface Source {
  readonly root: string;
  readonly root_raw?: string;
  readonly snapshot: string;
  readonly started: string;
  readonly finished?: string;
  readonly entries: Integer;
  readonly directories: Integer;
  readonly size: Integer;
  readonly issues: Integer;
  readonly snapshots?: Integer;
}

/** A group of files that are alike, of duplicates. */
export interface DuplicateGroup {
  readonly size: Integer;
  readonly reclaimable_bytes: Integer;
  readonly verified: boolean;
  readonly files: readonly { readonly path: string; readonly path_raw?: string }[];
}

/** A difference between two snapshots, of diff. */
export interface Difference {
  readonly kind: string;
  readonly path: string;
  readonly path_raw?: string;
  readonly from?: string;
  readonly from_raw?: string;
  readonly changed: readonly string[];
  readonly before: Entry | null;
  readonly after: Entry | null;
}

/** A state of a path, of history. */
export interface HistoryRow {
  readonly path: string;
  readonly started: string;
  readonly snapshot: string;
  readonly state: string;
  readonly changed: readonly string[];
  readonly entry: Entry | null;
}

/** A column of a table, of schema. */
export interface SchemaColumn {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

/** Who asks, and where. */
export interface Me {
  readonly user: string;
  readonly uid: number;
  readonly host: string;
  readonly version: string;
  readonly time: string;
}

/** Returns the place of a row. */
export function placeOf(row: { readonly path: string; readonly path_raw?: string }): Place {
  return row.path_raw === undefined ? { path: row.path } : { path: row.path, raw: row.path_raw };
}

/** Returns the arguments `paths` and `paths_raw` for some places. */
export function pathArguments(places: readonly Place[]): Arguments {
  const raw = places.flatMap((place) => place.raw ?? []);
  const paths = places.filter((place) => place.raw === undefined).map((place) => place.path);
  return { ...(paths.length > 0 && { paths }), ...(raw.length > 0 && { paths_raw: raw }) };
}
