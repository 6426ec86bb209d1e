/**
 * A treemap or sunburst that the keyboard can use: arrows choose a tile, Enter opens it, Backspace
 * goes up.
 */

import type { JSX } from 'preact';
import { formatShare, formatSize } from '../lib/format.ts';
import type { Legend, Tile } from '../lib/space-tree.ts';
import { type Colours, Chart, tooltip } from './chart.tsx';

interface Props {
  readonly root: Tile;
  readonly legend: Legend;
  readonly form: 'treemap' | 'sunburst';
  readonly version: string;
  readonly active: string | undefined;
  readonly onActive: (key: string) => void;
  readonly onOpen: (tile: Tile) => void;
  readonly onUp: () => void;
}

/** A tile as the chart knows it: its name is its key. */
interface Item {
  readonly name: string;
  readonly value: number;
  readonly itemStyle: { readonly color: string };
  readonly children?: readonly Item[];
}

function itemOf(tile: Tile, legend: Legend, least: number): Item {
  const children = tile.children.filter((child) => child.bytes >= least);
  return {
    name: tile.key,
    value: tile.bytes,
    itemStyle: { color: legend.colourOf(tile) },
    ...(children.length > 0 && { children: children.map((child) => itemOf(child, legend, least)) }),
  };
}

/** Returns all tiles by their keys. */
function byKey(tile: Tile, found = new Map<string, Tile>()): Map<string, Tile> {
  for (const child of tile.children) byKey(child, found.set(child.key, child));
  return found;
}

export function SpaceChart({ root, legend, form, version, active, onActive, onOpen, onUp }: Props): JSX.Element {
  // Tiles that would be smaller than a few pixels are left out.
  const items = itemOf(root, legend, root.bytes / 20_000).children ?? [];
  const index = root.children.findIndex((tile) => tile.key === active);
  const chosen = root.children[index];
  const tiles = byKey(root);
  const tileIn = (item: unknown): Tile | undefined => tiles.get((item as { name?: string }).name ?? '');
  const label = (item: unknown): string => tileIn(item)?.label ?? '';
  const hint = (item: unknown): string => {
    const tile = tileIn(item);
    if (tile === undefined) return '';
    return `${tile.label}${tile.isDirectory ? '/' : ''}\n${formatSize(tile.bytes)}, ${formatShare(tile.bytes, root.bytes)}\n${legend.valueOf(tile)}`;
  };
  const text = { color: '#111', fontSize: 12, overflow: 'truncate', formatter: label };
  const option = (colours: Colours): Record<string, unknown> => ({
    tooltip: tooltip(colours, hint),
    series: [form === 'treemap' ? treemap(items, text, colours) : sunburst(items, text, colours)],
  });

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = root.children.length - 1;
    const target: number | undefined = {
      ArrowRight: index + 1, ArrowDown: index + 1, ArrowLeft: index - 1, ArrowUp: index - 1, Home: 0, End: last,
    }[event.key];
    if (target !== undefined) {
      const tile = root.children[Math.max(0, Math.min(last, target))];
      if (tile) onActive(tile.key);
    } else if (event.key === 'Enter' && chosen) onOpen(chosen);
    else if (event.key === 'Backspace') onUp();
    else return;
    event.preventDefault();
  };

  return (
    <div
      class="space-chart" role="application" tabIndex={0} onKeyDown={onKeyDown}
      aria-label={`${form === 'treemap' ? 'Treemap' : 'Sunburst'}: arrow keys choose, Enter opens, Backspace goes up`}
    >
      <Chart option={option} version={version} className="large" highlight={active} onClick={(name) => { const tile = tiles.get(name); if (tile) onOpen(tile); }} />
      <p class="chosen" role="status">
        {chosen ? `${chosen.label}${chosen.isDirectory ? '/' : ''}: ${formatSize(chosen.bytes)}, ${formatShare(chosen.bytes, root.bytes)}, ${legend.valueOf(chosen)}` : 'Arrow keys choose, Enter opens, Backspace goes up.'}
      </p>
    </div>
  );
}

function treemap(items: readonly Item[], text: object, colours: Colours): Record<string, unknown> {
  return {
    type: 'treemap', data: items, roam: false, nodeClick: false, breadcrumb: { show: false },
    left: 0, top: 0, right: 0, bottom: 0, visibleMin: 60, childrenVisibleMin: 900,
    label: text,
    // The frame of a directory with tiles in it has the border's colour.
    upperLabel: { show: true, height: 20, ...text, color: colours.text },
    itemStyle: { borderColor: colours.raised, borderWidth: 2, gapWidth: 1 },
    levels: [{ itemStyle: { borderWidth: 0, gapWidth: 3, borderColor: colours.line }, upperLabel: { show: false } }],
    emphasis: { itemStyle: { borderColor: colours.accent }, label: { color: '#111' }, upperLabel: { color: colours.onAccent } },
  };
}

function sunburst(items: readonly Item[], text: object, colours: Colours): Record<string, unknown> {
  return {
    type: 'sunburst', data: items, nodeClick: false, radius: ['15%', '98%'], sort: 'desc',
    label: { ...text, minAngle: 8, width: 90, rotate: 'radial' },
    itemStyle: { borderColor: colours.surface, borderWidth: 1 },
    emphasis: { focus: 'none', itemStyle: { borderColor: colours.text, borderWidth: 3 } },
  };
}
