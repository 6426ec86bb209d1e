/** The quotas that belong to a list of owners, groups or projects. Without any, nothing is shown. */

import { useMemo } from 'preact/hooks';
import type { PlaceArguments } from '../lib/api-types.ts';
import { type Limit, limitsOf, quotaKind } from '../lib/quotas.ts';
import { useAnswer } from './use-answer.ts';

const MAX_ROWS = 10_000;

/** Returns the limits by the keys of the list `by`. */
export function useQuotas(by: string, places: PlaceArguments | undefined): ReadonlyMap<string, Limit> {
  const kind = quotaKind(by);
  const asked = useAnswer('quota', kind === undefined ? undefined : places, { limit: MAX_ROWS });
  return useMemo(() => limitsOf(asked.isStale ? [] : asked.rows, kind), [asked.version, asked.isStale, kind]);
}
