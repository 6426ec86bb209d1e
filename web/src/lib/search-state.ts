/** What is searched for: the state of the search view, in its address. */

import type { Place } from './api-types.ts';
import { placesOf } from './places.ts';
import { type Parameters, placeParameters } from './router.ts';
import { join, split } from './shell.ts';

/** What is searched for. */
export interface Search {
  /** Where to search; everywhere if empty. */
  readonly places: readonly Place[];
  /** Words of names, as typed. */
  readonly text: string;
  /** Type letters of find. */
  readonly types: readonly string[];
  /** Larger than, as a number and a unit of find: `100M`. */
  readonly larger: string;
  /** Smaller than, likewise. */
  readonly smaller: string;
  /** Tests of times, such as `m-7` (modified in the last 7 days) and `a+365` (not read for 365 days). */
  readonly ages: readonly string[];
  readonly owner: string;
  readonly group: string;
  readonly extensions: readonly string[];
  /** Further words of find, which have no chip. */
  readonly rest: readonly string[];
  /** Key of `-sort`; descending with a minus; path order if empty. */
  readonly sort: string;
}

export const EMPTY: Search = {
  places: [], text: '', types: [], larger: '', smaller: '', ages: [], owner: '', group: '', extensions: [], rest: [], sort: '',
};

function restOf(text: string | null): string[] {
  try {
    return split(text ?? '').map((word) => word.text);
  } catch {
    return [];
  }
}

/** Reads a search from the address. */
export function searchOf(query: URLSearchParams): Search {
  const one = (name: string): string => query.get(name) ?? '';
  return {
    places: placesOf(query),
    text: one('q'),
    types: query.getAll('type').filter((type) => /^[fdlpsbc]$/.test(type)),
    larger: one('larger'),
    smaller: one('smaller'),
    ages: query.getAll('age').filter((age) => /^[mac][+-]\d+$/.test(age)),
    owner: one('owner'),
    group: one('group'),
    extensions: query.getAll('ext'),
    rest: restOf(query.get('rest')),
    sort: /^-?[a-z]+$/.test(one('sort')) ? one('sort') : '',
  };
}

/** Returns the parameters of the address for a search. */
export function searchParameters(search: Search): Parameters {
  return {
    q: search.text,
    ...placeParameters(search.places),
    type: search.types,
    larger: search.larger,
    smaller: search.smaller,
    age: search.ages,
    owner: search.owner,
    group: search.group,
    ext: search.extensions,
    rest: join(search.rest),
    sort: search.sort,
  };
}

/** Returns whether anything is asked for besides the place and the order. */
export function isEmpty(search: Search): boolean {
  return searchKey({ ...search, places: [], sort: '' }) === searchKey(EMPTY);
}

/** Returns a text that is the same for the same search. */
export function searchKey(search: Search): string {
  return JSON.stringify(search);
}
