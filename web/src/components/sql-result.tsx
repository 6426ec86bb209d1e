/** The result of a statement: as a table, or as a chart of one column by another. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount } from '../lib/format.ts';
import type { AnyRow } from '../lib/api-types.ts';
import { isSuspicious, visible } from '../lib/text.ts';
import { Bars } from './bars.tsx';
import { Choice } from './choice.tsx';
import { Name } from './name.tsx';
import { sorted } from './table-head.tsx';
import { type Column, type Sort, Table } from './table.tsx';

interface Props {
  readonly rows: readonly AnyRow[];
  readonly version: number;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  readonly isChart: boolean;
  readonly x: string;
  readonly y: string;
  readonly onAxes: (axes: { x?: string; y?: string }) => void;
}

const CHARTED = 60;

/** Returns a value as text. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean);
}

function isNumeric(rows: readonly AnyRow[], column: string): boolean {
  const values = rows.slice(0, 50).map((row) => row[column]).filter((value) => value !== null && value !== undefined);
  return values.length > 0 && values.every((value) => typeof value === 'number' || (typeof value === 'string' && /^-?\d{16,}$/.test(value)));
}

export function SqlResult({ rows, version, hasMore, loadMore, isChart, x, y, onAxes }: Props): JSX.Element {
  const [sort, setSort] = useState<Sort | undefined>(undefined);
  const names = [...new Set(rows.slice(0, 100).flatMap((row) => Object.keys(row)))];
  const numeric = new Set(names.filter((name) => isNumeric(rows, name)));
  const order = sorted(rows, sort && names.includes(sort.column) ? sort : undefined, (row, column) =>
    numeric.has(column) ? Number(row[column] ?? 0) : textOf(row[column]),
  );
  if (isChart && rows.length > 0) {
    return <SqlChart rows={rows} names={names} numeric={numeric} x={x} y={y} version={version} onAxes={onAxes} />;
  }
  const columns: readonly Column<AnyRow>[] = names.map((name) => ({
    id: name,
    label: visible(name),
    width: numeric.has(name) ? 'minmax(6.5rem, 11rem)' : 'minmax(8rem, 1fr)',
    isNumber: numeric.has(name),
    render: (row) => {
      const value = row[name];
      if (numeric.has(name)) return typeof value === 'number' && Number.isInteger(value) ? formatCount(value) : textOf(value);
      const text = textOf(value);
      return isSuspicious(text) ? <Name text={text} /> : <bdi title={visible(text)}>{text}</bdi>;
    },
  }));
  return <Table label="Result" rows={order} version={version} columns={columns} sort={sort} onSort={setSort} hasMore={hasMore} loadMore={loadMore} empty="No row." />;
}

interface ChartProps {
  readonly rows: readonly AnyRow[];
  readonly names: readonly string[];
  readonly numeric: ReadonlySet<string>;
  readonly x: string;
  readonly y: string;
  readonly version: number;
  readonly onAxes: (axes: { x?: string; y?: string }) => void;
}

function SqlChart({ rows, names, numeric, x, y, version, onAxes }: ChartProps): JSX.Element {
  const label = names.includes(x) ? x : names.find((name) => !numeric.has(name)) ?? names[0] ?? '';
  const values = [...numeric];
  const value = numeric.has(y) ? y : values.filter((name) => name !== label).at(-1) ?? '';
  if (value === '') return <p class="hint">A chart needs a column of numbers.</p>;
  const format = /bytes|size/.test(value) ? undefined : formatCount;
  return (
    <>
      <div class="controls">
        <Choice label="Bars by" value={label} options={names.map((name) => [name, visible(name)])} onChange={(next) => onAxes({ x: next, y: value })} />
        <Choice label="Height" value={value} options={values.map((name) => [name, visible(name)])} onChange={(next) => onAxes({ x: label, y: next })} />
      </div>
      {rows.length > CHARTED && <p class="hint">The first {CHARTED} rows.</p>}
      <Bars version={`${version}${label}\n${value}`} isOrdered={rows.length > 20 || numeric.has(label)} {...(format && { format })}
        bars={rows.slice(0, CHARTED).map((row) => ({ label: visible(textOf(row[label])), value: Number(row[value] ?? 0), note: textOf(row[value]) }))} />
    </>
  );
}
