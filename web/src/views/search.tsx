/** Search as you type: words, chips, the line of find, and the hits. */

import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { AnswerBar } from '../components/answer-bar.tsx';
import { ChipBar } from '../components/chip-bar.tsx';
import { FindField } from '../components/find-field.tsx';
import { HIT_COLUMNS } from '../components/hits.tsx';
import { ProblemBox } from '../components/problem.tsx';
import { type Sort, Table } from '../components/table.tsx';
import { useWorld } from '../hooks/context.ts';
import { useAnswer } from '../hooks/use-answer.ts';
import type { Entry, Place } from '../lib/api-types.ts';
import { findArguments } from '../lib/find-line.ts';
import { formatCount } from '../lib/format.ts';
import { hitOf, placeOfHit } from '../lib/hit.ts';
import { isSame, placeOfRaw } from '../lib/places.ts';
import { link, navigate, type Route } from '../lib/router.ts';
import { type Search, searchOf, searchParameters } from '../lib/search-state.ts';
import { DetailsPanel } from './details.tsx';

/** Waits this long for the next letter. */
const DELAY_MS = 50;

function openOf(query: URLSearchParams): Place | undefined {
  const raw = query.get('openraw');
  if (raw !== null) return placeOfRaw(raw);
  const path = query.get('open');
  return path === null ? undefined : { path };
}

function address(search: Search, open?: Place): string {
  return link('search', {
    ...searchParameters(search),
    ...(open !== undefined && (open.raw === undefined ? { open: open.path } : { openraw: open.raw })),
  });
}

export function SearchView({ route }: { readonly route: Route }): JSX.Element {
  const { roots } = useWorld();
  const search = searchOf(route.query);
  const open = openOf(route.query);
  const field = useRef<HTMLInputElement>(null);
  // Whoever types on the start page goes on here. A layout effect runs before the next letter arrives.
  useLayoutEffect(() => {
    if (open === undefined && (document.activeElement === null || document.activeElement === document.body)) field.current?.focus();
  }, []);

  const values = findArguments(search, roots);
  const hasPlace = search.places.length > 0 || roots.length > 0;
  const asked = useAnswer<'find', Entry, ReturnType<typeof hitOf>>('find', hasPlace ? values : undefined, {
    limit: 200, nextLimit: 10_000, delayMs: DELAY_MS, keep: hitOf,
  });

  const change = (next: Search): void => navigate(address(next));
  const sort: Sort | undefined = search.sort === '' ? undefined : { column: search.sort.replace(/^-/, ''), isDescending: search.sort.startsWith('-') };

  return (
    <>
      <div class={`search-layout ${open === undefined ? '' : 'with-details'}`}>
        <div class="search-main">
          <h1 class="hidden">Search</h1>
          <form class="search-box" role="search" onSubmit={(event) => event.preventDefault()}>
            <label for="search" class="hidden">Words in names</label>
            <input id="search" type="search" value={search.text} placeholder="Words in names, or *.pattern" autocomplete="off" autocapitalize="off" spellcheck={false}
              ref={field} onInput={(event) => navigate(address({ ...search, text: event.currentTarget.value }), 'replace')} />
          </form>
          <ChipBar search={search} onChange={(part) => change({ ...search, ...part })} />
          <FindField search={search} onChange={change} />
          <ProblemBox problem={asked.problem} />
          <p class="count" role="status">{hasPlace ? count(asked) : 'Nothing is indexed yet. Choose a path, or run: trawl index DIRECTORY'}</p>
          <Table
            label="Hits" rows={asked.rows} version={asked.version} columns={HIT_COLUMNS} sort={sort}
            onSort={(next) => change({ ...search, sort: next.column === 'path' && !next.isDescending ? '' : `${next.isDescending ? '-' : ''}${next.column}` })}
            onOpen={(hit) => navigate(address(search, placeOfHit(hit)))} isOpen={(hit) => open !== undefined && isSame(open, placeOfHit(hit))}
            hasMore={asked.hasMore} loadMore={asked.loadMore} isStale={asked.isStale}
            empty={!asked.isLoading && asked.problem === undefined && asked.page !== undefined && 'Nothing was found. Fewer words, or fewer filters?'}
          />
          <AnswerBar asked={asked} question={{ name: 'find', values }} places={search.places} hidesCommand />
        </div>
        {open !== undefined && <DetailsPanel place={open} onClose={() => navigate(address(search))} />}
      </div>
    </>
  );
}

function count(asked: ReturnType<typeof useAnswer>): string {
  if (asked.page === undefined) return asked.isLoading ? 'Searching …' : '';
  const took = asked.tookMs === undefined ? '' : ` · ${Math.round(asked.tookMs)} ms`;
  const rows = formatCount(asked.rows.length);
  if (asked.hasMore) return `${rows} shown, more as you scroll${took}`;
  return `${rows} ${asked.rows.length === 1 ? 'hit' : 'hits'}${took}`;
}
