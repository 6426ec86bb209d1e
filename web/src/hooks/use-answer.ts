/**
 * Asks a question while a component shows it: cancels it when it changes, drops what is left at the
 * server, and continues it page by page. A new session asks it again.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, asProblem, drop, isAbort, more, type Problem } from '../lib/api.ts';
import type { Answer, Arguments } from '../lib/api-types.ts';
import { useSession } from './use-session.ts';

/** A question and what is known of its answer. */
export interface Asked<Row> {
  /** Rows so far. The array grows while pages arrive; `version` tells when. */
  readonly rows: readonly Row[];
  readonly version: number;
  /** The newest page, without its rows. */
  readonly page: Omit<Answer<unknown>, 'rows'> | undefined;
  /** Everything that was said about what is missing, in all pages. */
  readonly issues: readonly string[];
  readonly issuesLeftOut: number;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  /** Whether the rows belong to an earlier question, and the next answer is on its way. */
  readonly isStale: boolean;
  readonly hasMore: boolean;
  /** Asks for the next page, unless it is on its way. */
  readonly loadMore: () => void;
  /** Milliseconds from the question to its first page. */
  readonly tookMs: number | undefined;
}

export interface AskOptions<Row, Kept> {
  /** Rows of the first page. */
  readonly limit?: number;
  /** Rows of further pages. */
  readonly nextLimit?: number;
  /** Time to wait for a further change before asking, in milliseconds. */
  readonly delayMs?: number;
  /** What is kept of a row; must be the same function at each call. */
  readonly keep?: (row: Row) => Kept;
}

interface State<Kept> {
  key: string;
  rows: Kept[];
  version: number;
  page: Omit<Answer<unknown>, 'rows'> | undefined;
  issues: readonly string[];
  issuesLeftOut: number;
  problem: Problem | undefined;
  isLoading: boolean;
  tookMs: number | undefined;
}

const nothing = <Kept>(key: string): State<Kept> => ({
  key, rows: [], version: 0, page: undefined, issues: [], issuesLeftOut: 0, problem: undefined, isLoading: false, tookMs: undefined,
});

/** Asks a question; none while `values` is undefined. */
export function useAnswer<Row, Kept = Row>(
  name: string,
  values: Arguments | undefined,
  options: AskOptions<Row, Kept> = {},
): Asked<Kept> {
  const { limit = 1000, nextLimit = 10_000, delayMs = 0, keep } = options;
  const key = values === undefined ? '' : JSON.stringify([name, values, limit]);
  const { begun } = useSession();
  const [state, setState] = useState<State<Kept>>(() => nothing(''));
  const control = useRef<AbortController | undefined>(undefined);
  const cursor = useRef<string | undefined>(undefined);
  const isBusy = useRef(false);

  const kept = (rows: readonly Row[]): Kept[] => (keep === undefined ? (rows as readonly unknown[] as Kept[]) : rows.map(keep));

  const run = (question: Promise<Answer<Row>>, signal: AbortSignal, isFirst: boolean, began: number): void => {
    isBusy.current = true;
    question
      .then((answer) => {
        if (signal.aborted) {
          drop(answer.cursor);
          return;
        }
        isBusy.current = false;
        cursor.current = answer.cursor;
        const { rows, ...page } = answer;
        setState((old) => {
          const all = isFirst ? kept(rows).slice() : old.rows;
          if (!isFirst) for (const row of kept(rows)) all.push(row);
          return {
            key,
            rows: all,
            version: old.version + 1,
            page: isFirst ? page : { ...page, command: page.command ?? old.page?.command ?? [] },
            issues: isFirst ? page.issues : [...new Set([...old.issues, ...page.issues])],
            issuesLeftOut: (isFirst ? 0 : old.issuesLeftOut) + (page.issues_left_out ?? 0),
            problem: undefined,
            isLoading: false,
            tookMs: isFirst ? performance.now() - began : old.tookMs,
          };
        });
      })
      .catch((error: unknown) => {
        if (signal.aborted || isAbort(error)) return;
        isBusy.current = false;
        cursor.current = undefined;
        setState((old) => ({ ...(isFirst ? nothing<Kept>(key) : old), version: old.version + 1, problem: asProblem(error), isLoading: false }));
      });
  };

  useEffect(() => {
    if (values === undefined) {
      setState(nothing(''));
      return undefined;
    }
    const abort = new AbortController();
    control.current = abort;
    setState((old) => ({ ...old, problem: undefined, isLoading: true }));
    const timer = setTimeout(() => run(ask<Row>(name, { ...values, limit }, abort.signal), abort.signal, true, performance.now()), delayMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
      drop(cursor.current);
      cursor.current = undefined;
      isBusy.current = false;
    };
  }, [key, begun]);

  const loadMore = (): void => {
    const next = cursor.current;
    const signal = control.current?.signal;
    if (next === undefined || signal === undefined || isBusy.current) return;
    cursor.current = undefined;
    setState((old) => ({ ...old, isLoading: true }));
    run(more<Row>(next, nextLimit, signal), signal, false, 0);
  };

  const { key: answered, ...rest } = state;
  return { ...rest, isStale: answered !== key && rest.rows.length > 0, hasMore: state.page?.cursor !== undefined && answered === key, loadMore };
}
