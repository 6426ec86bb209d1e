/** Cold data: what nobody has read or modified for some time, by project. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Bars } from '../components/bars.tsx';
import { Choice } from '../components/choice.tsx';
import { Name } from '../components/name.tsx';
import { Report } from '../components/report.tsx';
import { sorted } from '../components/table-head.tsx';
import { type Column, type Sort, Table } from '../components/table.tsx';
import { useAnswer } from '../hooks/use-answer.ts';
import { useReport } from '../hooks/use-report.ts';
import type { Place } from '../lib/api-types.ts';
import { type ColdBy, coldStatement } from '../lib/cold.ts';
import { formatCount, formatShare, formatSize, type Integer, toNumber } from '../lib/format.ts';
import { link, type Route } from '../lib/router.ts';
import { visible } from '../lib/text.ts';

type Cold = {
  readonly label: string | null;
  readonly cold_bytes: Integer;
  readonly all_bytes: Integer;
  readonly cold_files: Integer;
  readonly all_files: Integer;
};

const AGES: readonly (readonly [string, string])[] = [['365', '1 year'], ['90', '3 months'], ['180', '6 months'], ['730', '2 years'], ['1095', '3 years'], ['1825', '5 years']];
const PROJECTS: readonly (readonly [ColdBy, string])[] = [
  ['directory', 'directory in it'],
  ['group', 'group'],
  ['owner', 'owner'],
  ['quota', 'project (quota)'],
];

function columns(place: Place | undefined, by: string, days: string): readonly Column<Cold>[] {
  const search = (row: Cold): string | undefined => {
    const label = row.label ?? '';
    const shared = { age: [`a+${days}`, `m+${days}`], type: 'f', sort: '-size' };
    if (place === undefined || label === '(files here)' || label.includes('\\')) return undefined;
    if (by === 'directory') return link('search', { ...shared, path: `${place.path === '/' ? '' : place.path}/${label}` });
    if (by === 'owner' || by === 'group') return link('search', { ...shared, path: place.path, [by]: label });
    return undefined;
  };
  return [
    {
      id: 'label', label: 'Project', width: 'minmax(8rem, 1fr)',
      render: (row) => {
        const address = search(row);
        return address === undefined ? <Name text={row.label ?? 'none'} /> : <a href={address} tabIndex={-1}><Name text={row.label ?? ''} /></a>;
      },
    },
    { id: 'cold_bytes', label: 'Cold', width: '6.5rem', isNumber: true, render: (row) => formatSize(toNumber(row.cold_bytes)) },
    { id: 'share', label: 'Share', width: '4.5rem', isNumber: true, render: (row) => formatShare(toNumber(row.cold_bytes), toNumber(row.all_bytes)) },
    { id: 'all_bytes', label: 'All', width: '6.5rem', isNumber: true, from: 520, render: (row) => formatSize(toNumber(row.all_bytes)) },
    { id: 'cold_files', label: 'Cold files', width: '6.5rem', isNumber: true, from: 620, render: (row) => formatCount(toNumber(row.cold_files)) },
  ];
}

function valueOf(row: Cold, column: string): string | number {
  if (column === 'label') return row.label ?? '';
  if (column === 'share') return toNumber(row.cold_bytes) / Math.max(1, toNumber(row.all_bytes));
  return toNumber(row[column as 'cold_bytes']);
}

export function ColdView({ route }: { readonly route: Route }): JSX.Element {
  const report = useReport(route, true);
  const [sort, setSort] = useState<Sort | undefined>(undefined);
  const days = report.choice('days', AGES.map(([name]) => name));
  const by = report.choice('by', PROJECTS.map(([name]) => name)) as ColdBy;
  const { place } = report;
  const isText = place?.raw === undefined;
  const values = place && isText ? { query: coldStatement(place.path, by, Number(days)) } : undefined;
  const asked = useAnswer<'sql', Cold>('sql', values, { limit: 1000 });
  const rows = sorted(asked.isStale ? [] : asked.rows, sort, valueOf);
  const total = rows.reduce((sum, row) => sum + toNumber(row.cold_bytes), 0);
  return (
    <Report
      title="Cold data by project" {...report} asked={asked} question={values && { name: 'sql', values }}
      about="Files that were neither read nor modified for some time. Where a file system does not record reading (noatime), only modification counts."
      controls={
        <>
          <Choice label="Not used for" value={days} options={AGES} onChange={(next) => report.change({ days: next })} />
          <Choice label="Project is each" value={by} options={PROJECTS} onChange={(next) => report.change({ by: next })} />
          {values && <a class="button" href={link('sql', { q: values.query })}>Change it in SQL</a>}
        </>
      }
    >
      {!isText && <p class="problem">This directory’s name is not text; choose one above it.</p>}
      {rows.length > 0 && <p class="count" role="status">{formatSize(total)} cold</p>}
      {rows.length > 0 && (
        <Bars version={`${asked.version}${sort?.column ?? ''}${String(sort?.isDescending)}`} isOrdered={false}
          bars={rows.slice(0, 16).map((row) => ({ label: visible(row.label ?? 'none'), value: toNumber(row.cold_bytes), note: `${formatSize(toNumber(row.cold_bytes))} of ${formatSize(toNumber(row.all_bytes))}` }))} />
      )}
      <Table label="Projects" rows={rows} version={asked.version} columns={columns(place, by, days)} sort={sort} onSort={setSort} empty={!asked.isLoading && asked.problem === undefined && 'No file.'} />
    </Report>
  );
}
