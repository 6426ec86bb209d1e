/** What changed between two snapshots. */

import type { JSX } from 'preact';
import { Choice } from '../components/choice.tsx';
import { PathText } from '../components/name.tsx';
import { Report } from '../components/report.tsx';
import { type Column, Table } from '../components/table.tsx';
import { useAnswer } from '../hooks/use-answer.ts';
import { useReport } from '../hooks/use-report.ts';
import { type Difference, placeOf, type Snapshot } from '../lib/api-types.ts';
import { formatCount, formatDelta, formatTime, parseTime, toNumber } from '../lib/format.ts';
import { isBelow } from '../lib/places.ts';
import { link, navigate, placeParameters, type Route } from '../lib/router.ts';
import { visible } from '../lib/text.ts';

const KINDS = ['all', 'created', 'deleted', 'changed', 'moved'] as const;

function sizeChange(row: Difference): number {
  return toNumber(row.after?.blocks ?? 0) * 512 - toNumber(row.before?.blocks ?? 0) * 512;
}

const COLUMNS: readonly Column<Difference>[] = [
  { id: 'kind', label: 'Change', width: '6rem', render: (row) => <span class={`kind ${KINDS.find((kind) => kind === row.kind) ?? ''}`}>{visible(row.kind)}</span> },
  {
    id: 'path', label: 'Path', width: 'minmax(10rem, 1fr)',
    render: (row) => (
      <>
        <a href={link('file', placeParameters([placeOf(row)]))} tabIndex={-1}><PathText text={row.path} isRaw={row.path_raw !== undefined} /></a>
        {row.from != null && <> (was <PathText text={row.from} isRaw={row.from_raw !== undefined} />)</>}
      </>
    ),
  },
  { id: 'what', label: 'What', width: '11rem', from: 700, render: (row) => visible(row.changed.join(', ')) },
  { id: 'space', label: 'On disk', width: '6.5rem', isNumber: true, from: 480, render: (row) => (sizeChange(row) === 0 ? '' : formatDelta(sizeChange(row))) },
];

export function ChangesView({ route }: { readonly route: Route }): JSX.Element {
  const report = useReport(route, true);
  const snapshots = useAnswer<'sources', Snapshot>('sources', { snapshots: true }, { limit: 2000 });
  const { place } = report;
  const concerned = snapshots.rows
    .filter(({ root }) => place === undefined || isBelow(place.path, root) || isBelow(root, place.path))
    .slice()
    .sort((left, right) => right.started.localeCompare(left.started));
  const options: readonly (readonly [string, string])[] = concerned.map((one) => [one.snapshot, `${formatTime(parseTime(one.started))}  ${visible(one.root)}`]);
  const from = report.choice('from', ['', ...concerned.map((one) => one.snapshot)]);
  const to = report.choice('until', ['', ...concerned.map((one) => one.snapshot)]);
  const kind = report.choice('kind', KINDS);
  const values = report.places && { ...report.places, from: from || null, to: to || null, only: kind === 'all' ? null : kind };
  const asked = useAnswer<'diff', Difference>('diff', snapshots.page && values, { limit: 2000 });
  const rows = asked.isStale ? [] : asked.rows;
  return (
    <Report
      title="What changed" {...report} asked={asked} question={values && { name: 'diff', values }}
      controls={
        <>
          <Choice label="Since" value={from} options={[['', 'the snapshot before'], ...options]} onChange={(next) => report.change({ from: next })} />
          <Choice label="Until" value={to} options={[['', 'now (latest snapshot)'], ...options]} onChange={(next) => report.change({ until: next })} />
          <Choice label="Show" value={kind} options={KINDS.map((one) => [one, one])} onChange={(next) => report.change({ kind: next })} />
        </>
      }
    >
      {asked.page !== undefined && <Summary rows={rows} hasMore={asked.hasMore} />}
      <Table label="Changes" rows={rows} version={asked.version} columns={COLUMNS.map((column) => ({ ...column, canSort: false }))} hasMore={asked.hasMore} loadMore={asked.loadMore}
        empty={!asked.isLoading && asked.problem === undefined && 'Nothing changed.'} onOpen={(row) => navigate(link('file', placeParameters([placeOf(row)])))} />
    </Report>
  );
}

function Summary({ rows, hasMore }: { readonly rows: readonly Difference[]; readonly hasMore: boolean }): JSX.Element {
  const counts = KINDS.slice(1).map((kind) => [kind, rows.filter((row) => row.kind === kind).length] as const);
  const space = rows.reduce((sum, row) => sum + sizeChange(row), 0);
  return (
    <p class="count" role="status">
      {hasMore && 'So far: '}
      {counts.map(([kind, count]) => `${formatCount(count)} ${kind}`).join(', ')}; {formatDelta(space)} on disk
    </p>
  );
}
