/** How trees grew over the snapshots that are kept. */

import type { JSX } from 'preact';
import { Chart, tooltip } from '../components/chart.tsx';
import { Choice } from '../components/choice.tsx';
import { Name } from '../components/name.tsx';
import { Report } from '../components/report.tsx';
import { type Column, Table } from '../components/table.tsx';
import { useAnswer } from '../hooks/use-answer.ts';
import { useReport } from '../hooks/use-report.ts';
import type { Growth } from '../lib/api-types.ts';
import { formatCount, formatDelta, formatSize, formatTime, parseTime, toNumber } from '../lib/format.ts';
import { axisOf } from '../lib/axis.ts';
import type { Route } from '../lib/router.ts';
import { visible } from '../lib/text.ts';

const KEYS = [
  ['total', 'Total'],
  ['directory', 'Directory'],
  ['owner', 'Owner'],
  ['extension', 'Extension'],
] as const;
/** Lines of the chart. */
const LINES = 10;

const COLUMNS: readonly Column<Growth>[] = [
  { id: 'started', label: 'Snapshot', width: '9.5rem', canSort: false, render: (row) => formatTime(parseTime(row.started)) },
  { id: 'label', label: 'What', width: 'minmax(7rem, 1fr)', canSort: false, render: (row) => <Name text={row.label} /> },
  { id: 'disk', label: 'On disk', width: '6.5rem', isNumber: true, render: (row) => formatSize(toNumber(row.disk_bytes)) },
  { id: 'delta', label: 'Change', width: '6.5rem', isNumber: true, from: 520, render: (row) => (row.disk_delta === null ? '–' : formatDelta(toNumber(row.disk_delta))) },
  { id: 'day', label: 'Per day', width: '7rem', isNumber: true, from: 700, render: (row) => (row.disk_per_day === null ? '–' : formatDelta(toNumber(row.disk_per_day))) },
  { id: 'entries', label: 'Entries', width: '6.5rem', isNumber: true, from: 620, render: (row) => formatCount(toNumber(row.entries)) },
];

export function GrowthView({ route }: { readonly route: Route }): JSX.Element {
  const report = useReport(route);
  const by = report.choice('by', KEYS.map(([name]) => name));
  const values = report.places && { ...report.places, by };
  const asked = useAnswer('growth', values, { limit: 5000 });
  const rows = asked.isStale ? [] : asked.rows;
  const snapshots = new Set(rows.map((row) => row.snapshot)).size;
  const lines = linesOf(rows);
  return (
    <Report
      title="What grows" {...report} asked={asked} question={values && { name: 'growth', values }}
      about="Space on disk in each snapshot. More snapshots stay with: trawl index --keep last=3,daily=7,weekly=5"
      controls={<Choice label="By" value={by} options={KEYS} onChange={(next) => report.change({ by: next })} />}
    >
      {rows.length > 0 && snapshots < 2 && <p class="hint">There is one snapshot. Growth shows when there are more.</p>}
      {snapshots > 1 && <Lines lines={lines} version={`${by}${asked.version}`} />}
      <Table label="Sizes in each snapshot" rows={rows} version={asked.version} columns={COLUMNS} hasMore={asked.hasMore} loadMore={asked.loadMore} empty={!asked.isLoading && 'No snapshot.'} />
    </Report>
  );
}

interface Line {
  readonly label: string;
  readonly points: readonly (readonly [number, number])[];
}

function linesOf(rows: readonly Growth[]): Line[] {
  const found = new Map<string, Growth[]>();
  for (const row of rows) {
    const key = `${row.path}\n${row.key}`;
    const list = found.get(key);
    if (list) list.push(row);
    else found.set(key, [row]);
  }
  const largest = (list: readonly Growth[]): number => Math.max(...list.map((row) => toNumber(row.disk_bytes)));
  return [...found.values()]
    .sort((left, right) => largest(right) - largest(left))
    .slice(0, LINES)
    .map((list) => ({ label: visible(list[0]?.label ?? ''), points: list.map((row) => [parseTime(row.started) ?? 0, toNumber(row.disk_bytes)] as const) }));
}

function rangeOf(lines: readonly Line[]): [number, number] {
  const values = lines.flatMap((line) => line.points.map((point) => point[1]));
  return [Math.min(...values), Math.max(...values)];
}

function Lines({ lines, version }: { readonly lines: readonly Line[]; readonly version: string }): JSX.Element {
  return (
    <Chart
      version={version} className="medium"
      option={(colours) => ({
        tooltip: { trigger: 'item', ...tooltip(colours, (item) => {
          const { seriesIndex = -1, data } = item as { seriesIndex?: number; data?: readonly [number, number] };
          return `${lines[seriesIndex]?.label ?? ''}\n${formatTime(data?.[0])}: ${formatSize(data?.[1] ?? 0)}`;
        }) },
        legend: { type: 'plain', top: 0, textStyle: { color: colours.text, width: 140, overflow: 'truncate' }, formatter: (name: string) => lines[Number(name)]?.label ?? '' },
        grid: { left: 8, right: 24, top: lines.length > 5 ? 64 : 36, bottom: 8, containLabel: true },
        xAxis: { type: 'time', axisLabel: { color: colours.dim, hideOverlap: true }, axisLine: { lineStyle: { color: colours.line } } },
        yAxis: { type: 'value', ...axisOf(...rangeOf(lines), true), axisLabel: { color: colours.dim, formatter: formatSize }, splitLine: { lineStyle: { color: colours.line } } },
        series: lines.map((line, index) => ({ type: 'line', name: String(index), data: line.points, symbolSize: 7 })),
      })}
    />
  );
}
