/** What every view knows: who asks, what is indexed, and the time. */

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Me, Place, Source } from '../lib/api-types.ts';

export interface World {
  readonly me: Me | undefined;
  readonly sources: readonly Source[];
  /** Roots of the indexed trees, without those within others. */
  readonly roots: readonly Place[];
  /** The time, in milliseconds; changes every half minute. */
  readonly now: number;
}

export const WorldContext = createContext<World>({ me: undefined, sources: [], roots: [], now: 0 });

export function useWorld(): World {
  return useContext(WorldContext);
}

/** Returns the roots of sources, without those that lie within others. */
export function outerRoots(sources: readonly Source[]): Place[] {
  const roots = sources.map((source): Place => (source.root_raw === undefined ? { path: source.root } : { path: source.root, raw: source.root_raw }));
  const lies = (inner: string, outer: string): boolean => inner !== outer && inner.startsWith(outer === '/' ? '/' : `${outer}/`);
  const outer = roots.filter((root) => !roots.some((other) => lies(root.path, other.path)));
  return outer.filter((root, index) => outer.findIndex((other) => other.path === root.path && other.raw === root.raw) === index);
}
