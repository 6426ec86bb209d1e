/** The columns of a table of entries. */

import type { JSX } from 'preact';
import { useWorld } from '../hooks/context.ts';
import { formatAgo, formatCount, formatSize, formatTime, formatType } from '../lib/format.ts';
import type { Hit } from '../lib/hit.ts';
import { link, placeParameters } from '../lib/router.ts';
import { placeOfHit } from '../lib/hit.ts';
import { PathText } from './name.tsx';
import type { Column } from './table.tsx';

const MARKS: Readonly<Record<string, string>> = { d: '▸', l: '↪', f: '·', U: '?' };

/** A path that leads to the details. */
export function HitLink({ hit }: { readonly hit: Hit }): JSX.Element {
  return (
    <a class="hit" href={link('file', placeParameters([placeOfHit(hit)]))} tabIndex={-1}>
      <span class="mark" aria-hidden="true">{MARKS[hit.type] ?? '∗'}</span>
      <PathText text={hit.path} isRaw={hit.raw !== undefined} />
    </a>
  );
}

function When({ ms }: { readonly ms: number | undefined }): JSX.Element {
  const { now } = useWorld();
  return <span title={ms === undefined ? '' : formatAgo(ms, now)}>{formatTime(ms)}</span>;
}

/** Columns by the keys of `-sort`. */
export const HIT_COLUMNS: readonly Column<Hit>[] = [
  { id: 'path', label: 'Path', width: 'minmax(10rem, 1fr)', render: (hit) => <HitLink hit={hit} /> },
  { id: 'size', label: 'Size', width: '6rem', isNumber: true, render: (hit) => formatSize(hit.size) },
  { id: 'mtime', label: 'Modified', width: '9.5rem', isNumber: true, from: 560, render: (hit) => <When ms={hit.mtime} /> },
  { id: 'type', label: 'Type', width: '6.5rem', from: 760, render: (hit) => formatType(hit.type) },
  { id: 'uid', label: 'Owner', width: '6.5rem', from: 680, render: (hit) => hit.owner },
  { id: 'gid', label: 'Group', width: '6.5rem', from: 980, render: (hit) => hit.group },
  { id: 'mode', label: 'Mode', width: '4.5rem', from: 1080, render: (hit) => hit.permissions },
  { id: 'blocks', label: 'On disk', width: '6rem', isNumber: true, from: 1180, render: (hit) => formatSize(hit.disk) },
  { id: 'atime', label: 'Read', width: '9.5rem', isNumber: true, from: 1340, render: (hit) => <When ms={hit.atime} /> },
  { id: 'nlink', label: 'Links', width: '4.5rem', isNumber: true, from: 1420, render: (hit) => formatCount(hit.links) },
];
