/**
 * A table of up to millions of rows: only those in view are in the document. Arrow keys move, Enter
 * opens, and scrolling near the end asks for more.
 *
 * Browsers limit the height of an element, so beyond a height a step of the scroll bar is more than
 * one row's.
 */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../lib/format.ts';
import { TableHead } from './table-head.tsx';

/** A column of a table. */
export interface Column<Row> {
  readonly id: string;
  readonly label: string;
  /** Track of the grid, such as `8rem` or `minmax(12rem, 1fr)`. */
  readonly width: string;
  readonly isNumber?: boolean;
  /** Least width of the table, in pixels, at which the column is shown. */
  readonly from?: number;
  /** Whether the table can be sorted by it. */
  readonly canSort?: boolean;
  readonly render: (row: Row) => ComponentChildren;
}

/** Order of a table. */
export interface Sort {
  readonly column: string;
  readonly isDescending: boolean;
}

interface Props<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  /** Changes when the rows do. */
  readonly version: number;
  readonly columns: readonly Column<Row>[];
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  readonly onOpen?: (row: Row) => void;
  readonly isOpen?: (row: Row) => boolean;
  readonly hasMore?: boolean;
  readonly loadMore?: () => void;
  readonly isStale?: boolean;
  /** What to say if there is no row. */
  readonly empty?: ComponentChildren;
}

const MAX_HEIGHT = 15_000_000;
const PRINTED_ROWS = 1000;
/** Rows that are drawn beyond the edges. */
const MARGIN = 6;
/** Rows before the end at which more are asked for. */
const AHEAD = 100;

function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const begin = (): void => setPrinting(true);
    const end = (): void => setPrinting(false);
    window.addEventListener('beforeprint', begin);
    window.addEventListener('afterprint', end);
    return () => {
      window.removeEventListener('beforeprint', begin);
      window.removeEventListener('afterprint', end);
    };
  }, []);
  return isPrinting;
}

interface Box {
  readonly top: number;
  readonly height: number;
  readonly width: number;
  readonly row: number;
}

export function Table<Row>(props: Props<Row>): JSX.Element {
  const { label, rows, columns, sort, onSort, onOpen, isOpen, hasMore = false, loadMore, isStale = false, empty } = props;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const probe = useRef<HTMLDivElement>(null);
  const [box, setBox] = useState<Box>({ top: 0, height: 600, width: 1000, row: 32 });
  const [active, setActive] = useState(-1);
  const isPrinting = usePrinting();

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = (): void => {
      const row = probe.current?.offsetHeight ?? 32;
      setBox({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth, row: Math.max(row, 20) });
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);

  const shown = columns.filter((column) => (column.from ?? 0) <= box.width);
  const template = shown.map((column) => column.width).join(' ');
  const count = rows.length;
  const natural = count * box.row;
  const height = Math.min(natural, MAX_HEIGHT);
  const scale = natural > box.height && height > box.height ? (natural - box.height) / (height - box.height) : 1;
  const offset = Math.min(box.top, Math.max(height - box.height, 0)) * scale;
  const first = isPrinting ? 0 : Math.max(0, Math.floor(offset / box.row) - MARGIN);
  const last = isPrinting ? Math.min(count, PRINTED_ROWS) : Math.min(count, Math.ceil((offset + box.height) / box.row) + MARGIN);
  const shift = isPrinting ? 0 : Math.min(box.top, Math.max(height - box.height, 0)) - offset + first * box.row;

  useEffect(() => {
    if (hasMore && last > count - AHEAD) loadMore?.();
  }, [hasMore, last, count]);

  // Another order or question begins at the top.
  const firstRow = rows[0];
  useEffect(() => {
    if (!isStale && scroller.current) scroller.current.scrollTop = 0;
    setActive(-1);
  }, [sort?.column, sort?.isDescending, firstRow]);

  const show = (index: number): void => {
    const element = scroller.current;
    if (!element) return;
    setActive(index);
    const head = element.querySelector<HTMLElement>('.head')?.offsetHeight ?? 0;
    const view = box.height - head;
    const top = index * box.row;
    if (top < offset) element.scrollTop = top / scale;
    else if (top + box.row > offset + view) element.scrollTop = (top + box.row - view) / scale;
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const pageRows = Math.max(1, Math.floor(box.height / box.row) - 2);
    const target: number | undefined = {
      ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + pageRows, PageUp: active - pageRows, Home: 0, End: count - 1,
    }[event.key];
    if (target !== undefined && count > 0) {
      event.preventDefault();
      show(Math.max(0, Math.min(count - 1, target)));
    } else if (event.key === 'Enter' && active >= 0) {
      const row = rows[active];
      if (row !== undefined && onOpen) {
        event.preventDefault();
        onOpen(row);
      }
    }
  };

  const open = (event: MouseEvent, index: number): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    if (event.target instanceof Element && event.target.closest('a[data-keep], button')) return;
    event.preventDefault();
    setActive(index);
    const row = rows[index];
    if (row !== undefined) onOpen?.(row);
  };

  return (
    <div class={`table ${isStale ? 'stale' : ''}`}>
      <div
        ref={scroller} class="scroller" role="grid" tabIndex={0} aria-label={label} aria-rowcount={hasMore ? -1 : count + 1}
        aria-colcount={shown.length} aria-busy={isStale} aria-readonly="true" onKeyDown={onKeyDown}
        {...(active >= first && active < last && { 'aria-activedescendant': `${id}-${active}` })}
      >
        <TableHead columns={shown} template={template} sort={sort} onSort={onSort} />
        <div class="body" role="rowgroup" style={{ height: isPrinting ? 'auto' : `${height}px` }}>
          <div class="window" role="presentation" style={{ transform: shift === 0 ? 'none' : `translateY(${shift}px)` }}>
            {rows.slice(first, last).map((row, position) => {
              const index = first + position;
              const isActive = index === active;
              return (
                <div
                  key={index} id={`${id}-${index}`} role="row" aria-rowindex={index + 2} aria-selected={isOpen?.(row) ?? isActive}
                  class={`row ${isActive ? 'active' : ''} ${isOpen?.(row) === true ? 'open' : ''}`} style={{ gridTemplateColumns: template }}
                  onClick={onOpen && ((event) => open(event, index))}
                >
                  {shown.map((column) => (
                    <div key={column.id} role="gridcell" class={column.isNumber === true ? 'cell number' : 'cell'}>{column.render(row)}</div>
                  ))}
                </div>
              );
            })}
          </div>
        </div>
      </div>
      <div ref={probe} class="row probe" aria-hidden="true" />
      {count === 0 && empty !== undefined && <p class="empty">{empty}</p>}
      {isPrinting && count > PRINTED_ROWS && <p>The first {formatCount(PRINTED_ROWS)} of {formatCount(count)} rows. “Download CSV” has all.</p>}
    </div>
  );
}
