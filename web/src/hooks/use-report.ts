/** The place of a report and the addresses of its variants, from the address of the page. */

import { pathArguments, type Place, type PlaceArguments } from '../lib/api-types.ts';
import { placesOf } from '../lib/places.ts';
import { link, navigate, type Parameters, placeParameters, type Route } from '../lib/router.ts';
import { useWorld } from './context.ts';

export interface ReportState {
  readonly place: Place | undefined;
  /** Arguments for the place, or for all roots; undefined if there is none. */
  readonly places: PlaceArguments | undefined;
  /** Returns a parameter of the address; the default if it is missing or not allowed. */
  readonly choice: <Allowed extends string>(name: string, allowed: readonly Allowed[]) => Allowed;
  readonly to: (place: Place | undefined, change?: Parameters) => string;
  readonly onPlace: (place: Place | undefined) => void;
  /** Changes parameters of the address. */
  readonly change: (change: Parameters) => void;
}

/** @param single whether the question takes one path only */
export function useReport(route: Route, single = false): ReportState {
  const { roots } = useWorld();
  const place = placesOf(route.query)[0] ?? (single || roots.length === 1 ? roots[0] : undefined);
  const tops = place === undefined ? roots : [place];
  const others: Record<string, string[]> = {};
  for (const name of route.query.keys()) {
    if (name !== 'path' && name !== 'raw') others[name] = route.query.getAll(name);
  }
  const to = (target: Place | undefined, change: Parameters = {}): string =>
    link(route.view, { ...others, ...placeParameters(target === undefined ? [] : [target]), ...change });
  return {
    place,
    places: tops.length === 0 ? undefined : pathArguments(tops),
    choice: <Allowed extends string>(name: string, allowed: readonly Allowed[]) =>
      (allowed.find((one) => one === route.query.get(name)) ?? allowed[0] ?? '') as Allowed,
    to,
    onPlace: (target) => navigate(to(target)),
    change: (change) => navigate(to(place, change)),
  };
}
