/** Groups of entries with their counts and sizes: a bar chart, and a table. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { navigate } from '../lib/router.ts';
import type { Share } from '../lib/api-types.ts';
import { formatCount, formatShare, formatSize, toNumber } from '../lib/format.ts';
import type { Limit } from '../lib/quotas.ts';
import { visible } from '../lib/text.ts';
import { Bars } from './bars.tsx';
import { Name } from './name.tsx';
import { QuotaBar } from './quota-bar.tsx';
import { sorted } from './table-head.tsx';
import { type Column, type Sort, Table } from './table.tsx';

interface Props {
  readonly rows: readonly Share[];
  readonly version: number;
  readonly by: string;
  /** Heading of the column of the groups. */
  readonly heading: string;
  /** Returns the address of a search for a group. */
  readonly search?: (row: Share) => string | undefined;
  /** Whether the groups have an order of their own, as sizes and ages do. */
  readonly isOrdered?: boolean;
  /** Quotas of the groups, by key. */
  readonly quotas?: ReadonlyMap<string, Limit>;
}

const CHARTED = 24;

export function ShareList({ rows, version, by, heading, search, isOrdered = false, quotas }: Props): JSX.Element {
  const [sort, setSort] = useState<Sort | undefined>(undefined);
  const merged = merge(rows);
  const total = { entries: sum(merged, 'entries'), disk: sum(merged, 'disk_bytes') };
  const quotaOf = ({ key }: Share): Limit | undefined => (key == null ? undefined : quotas?.get(key));
  const columns: readonly Column<Share>[] = [
    {
      id: 'label', label: heading, width: 'minmax(8rem, 1fr)',
      render: (row) => {
        const address = search?.(row);
        const name = <Name text={row.label} />;
        return address === undefined ? name : <a href={address} tabIndex={-1}>{name}</a>;
      },
    },
    { id: 'entries', label: 'Entries', width: '6.5rem', isNumber: true, render: (row) => formatCount(toNumber(row.entries)) },
    { id: 'entries_share', label: 'Share', width: '4.5rem', isNumber: true, canSort: false, from: 620, render: (row) => formatShare(toNumber(row.entries), total.entries) },
    { id: 'size', label: 'Size', width: '6.5rem', isNumber: true, from: 480, render: (row) => formatSize(toNumber(row.size)) },
    { id: 'disk_bytes', label: 'On disk', width: '6.5rem', isNumber: true, render: (row) => formatSize(toNumber(row.disk_bytes)) },
    { id: 'disk_share', label: 'Share', width: '4.5rem', isNumber: true, canSort: false, from: 620, render: (row) => formatShare(toNumber(row.disk_bytes), total.disk) },
    ...(merged.some((row) => quotaOf(row) !== undefined) ? [quotaColumn(quotaOf)] : []),
  ];
  const order = sorted(merged, sort, (row, column) => (column === 'label' ? row.label : toNumber(row[column as 'size'])));
  return (
    <>
      {merged.length > 1 && (
        <Bars
          version={`${by}${version}${sort?.column ?? ''}${String(sort?.isDescending)}`} isOrdered={isOrdered}
          bars={order.slice(0, CHARTED).map((row) => ({ label: visible(row.label), value: toNumber(row.disk_bytes), note: `${formatSize(toNumber(row.disk_bytes))} on disk, ${formatCount(toNumber(row.entries))} entries` }))}
        />
      )}
      <Table label="Groups" rows={order} version={version} columns={columns} sort={sort} onSort={setSort} empty="Nothing to count."
        onOpen={(row) => { const address = search?.(row); if (address !== undefined) navigate(address); }} />
    </>
  );
}

/** Quotas are of whole file systems, whatever the list is about. */
function quotaColumn(quotaOf: (row: Share) => Limit | undefined): Column<Share> {
  const render = (row: Share): JSX.Element | null => {
    const limit = quotaOf(row);
    return limit === undefined ? null : <QuotaBar limit={limit} />;
  };
  return { id: 'quota', label: 'Quota', width: 'minmax(12rem, 1fr)', canSort: false, from: 560, render };
}

function sum(rows: readonly Share[], field: 'entries' | 'disk_bytes'): number {
  return rows.reduce((total, row) => total + toNumber(row[field]), 0);
}

/** Adds up the groups of several paths. */
function merge(rows: readonly Share[]): Share[] {
  const found = new Map<string, Share>();
  for (const row of rows) {
    const key = row.key ?? '';
    const old = found.get(key);
    const add = (field: 'entries' | 'size' | 'disk_bytes'): number => toNumber(row[field]) + toNumber(old?.[field] ?? 0);
    found.set(key, { ...row, entries: add('entries'), size: add('size'), disk_bytes: add('disk_bytes') });
  }
  return [...found.values()];
}
