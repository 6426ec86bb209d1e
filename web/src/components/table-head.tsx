/** The head of a table: names of columns, which sort it. */

import type { JSX } from 'preact';
import type { Column, Sort } from './table.tsx';

interface Props<Row> {
  readonly columns: readonly Column<Row>[];
  readonly template: string;
  readonly sort: Sort | undefined;
  readonly onSort: ((sort: Sort) => void) | undefined;
}

export function TableHead<Row>({ columns, template, sort, onSort }: Props<Row>): JSX.Element {
  return (
    <div class="head" role="rowgroup">
      <div class="row" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
        {columns.map((column) => {
          const isSorted = sort?.column === column.id;
          const order = !isSorted ? 'none' : sort.isDescending ? 'descending' : 'ascending';
          const canSort = onSort !== undefined && column.canSort !== false;
          // Numbers begin with the largest.
          const next: Sort = { column: column.id, isDescending: isSorted ? !sort.isDescending : column.isNumber === true };
          return (
            <div
              key={column.id} role="columnheader" class={column.isNumber === true ? 'cell number' : 'cell'}
              {...(canSort && { 'aria-sort': order })}
            >
              {canSort ? (
                <button type="button" onClick={() => onSort(next)}>
                  {column.label}
                  <span class="order" aria-hidden="true">{isSorted ? (sort.isDescending ? ' ▼' : ' ▲') : ''}</span>
                </button>
              ) : (
                column.label
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Sorts rows in the page, for answers that are complete here. */
export function sorted<Row>(rows: readonly Row[], sort: Sort | undefined, value: (row: Row, column: string) => string | number): readonly Row[] {
  if (sort === undefined) return rows;
  const sign = sort.isDescending ? -1 : 1;
  const keys = new Map(rows.map((row) => [row, value(row, sort.column)]));
  return [...rows].sort((left, right) => {
    const [a, b] = [keys.get(left) ?? '', keys.get(right) ?? ''];
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
    return sign * String(a).localeCompare(String(b), 'en', { numeric: true });
  });
}
