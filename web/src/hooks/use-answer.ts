/**
 * Asks a question while a component shows it: cancels it when it changes, drops what is left at the
 * server, and continues it page by page. A new session asks it again.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Arguments, Page, Paged, Row } from '../../../clients/typescript/src/index.ts';
import { asProblem, drop, isAbort, type Problem, server } from '../lib/api.ts';
import { useSession } from './use-session.ts';

/** A question and what is known of its answer. */
export interface Asked<Row> {
  /** Rows so far. The array grows while pages arrive; `version` tells when. */
  readonly rows: readonly Row[];
  readonly version: number;
  /** The newest page, without its rows. */
  readonly page: Omit<Page<unknown>, 'rows'> | undefined;
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
  page: Omit<Page<unknown>, 'rows'> | undefined;
  issues: readonly string[];
  issuesLeftOut: number;
  problem: Problem | undefined;
  isLoading: boolean;
  tookMs: number | undefined;
}

const nothing = <Kept>(key: string): State<Kept> => ({
  key, rows: [], version: 0, page: undefined, issues: [], issuesLeftOut: 0, problem: undefined, isLoading: false, tookMs: undefined,
});

/** Returns what a page says of its command line; pages behind the first one say nothing. */
function commandOf(page: State<unknown>['page']): Pick<Page<unknown>, 'command' | 'command_raw'> {
  return {
    ...(page?.command && { command: page.command }),
    ...(page?.command_raw && { command_raw: page.command_raw }),
  };
}

/** Asks a question; none while `values` is undefined. */
export function useAnswer<Name extends Paged, One extends Row<Name> = Row<Name>, Kept = One>(
  name: Name,
  values: Arguments<Name> | undefined,
  options: AskOptions<One, Kept> = {},
): Asked<Kept> {
  const { limit = 1000, nextLimit = 10_000, delayMs = 0, keep } = options;
  const key = values === undefined ? '' : JSON.stringify([name, values, limit]);
  const { begun } = useSession();
  const [state, setState] = useState<State<Kept>>(() => nothing(''));
  const control = useRef<AbortController | undefined>(undefined);
  const cursor = useRef<string | undefined>(undefined);
  const isBusy = useRef(false);

  const kept = (rows: readonly One[]): Kept[] => (keep === undefined ? (rows as readonly unknown[] as Kept[]) : rows.map(keep));

  const run = (question: Promise<Page<One>>, signal: AbortSignal, isFirst: boolean, began: number): void => {
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
            page: isFirst ? page : { ...commandOf(old.page), ...page },
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
    const timer = setTimeout(() => run(server.ask(name, { ...values, limit }, abort.signal) as Promise<Page<One>>, abort.signal, true, performance.now()), delayMs);
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
    run(server.more<One>(next, nextLimit, signal), signal, false, 0);
  };

  const { key: answered, ...rest } = state;
  return { ...rest, isStale: answered !== key && rest.rows.length > 0, hasMore: state.page?.cursor !== undefined && answered === key, loadMore };
}
