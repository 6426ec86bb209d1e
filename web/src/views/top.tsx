/** Top lists: what is largest, fullest, oldest, newest. */

import type { JSX } from 'preact';
import { Choice } from '../components/choice.tsx';
import { HIT_COLUMNS } from '../components/hits.tsx';
import { PathText } from '../components/name.tsx';
import { Report } from '../components/report.tsx';
import { ShareList } from '../components/shares.tsx';
import { type Column, Table } from '../components/table.tsx';
import { useAnswer } from '../hooks/use-answer.ts';
import { useQuotas } from '../hooks/use-quotas.ts';
import { useReport } from '../hooks/use-report.ts';
import { type Directory, type Entry, type PlaceArguments, placeOf, type Share } from '../lib/api-types.ts';
import { formatCount, formatSize, toNumber } from '../lib/format.ts';
import { hitOf, placeOfHit } from '../lib/hit.ts';
import { link, navigate, placeParameters, type Route } from '../lib/router.ts';

const SUBJECTS = [
  ['files', 'Largest files'],
  ['directories', 'Largest directories'],
  ['fullest', 'Directories with most entries'],
  ['oldest', 'Files not modified for longest'],
  ['newest', 'Files modified last'],
  ['least-recently-read', 'Files not read for longest'],
  ['owners', 'Owners'],
  ['groups', 'Groups'],
  ['extensions', 'Extensions'],
  ['projects', 'Projects (quota)'],
] as const;
const ABOUT_DIRECTORIES: ReadonlySet<string> = new Set(['directories', 'fullest']);
/** Subjects whose rows are shares, with the heading of their keys. */
const SHARES: Readonly<Record<string, string>> = { owners: 'Owner', groups: 'Group', extensions: 'Extension', projects: 'Project' };
const LIMIT = 100;

export function TopView({ route }: { readonly route: Route }): JSX.Element {
  const report = useReport(route);
  const subject = report.choice('subject', SUBJECTS.map(([name]) => name));
  const values = report.places && { ...report.places, subject };
  const question = values && { name: 'top' as const, values: { ...values, limit: LIMIT } };
  const asked = useAnswer<'top', Entry & Directory & Share>('top', values, { limit: LIMIT });
  const quotas = useQuotas(subject, report.places);
  const rows = asked.isStale ? [] : asked.rows;
  return (
    <Report
      title="Top lists" {...report} asked={asked} question={question}
      controls={<Choice label="List" value={subject} options={SUBJECTS} onChange={(next) => report.change({ subject: next })} />}
    >
      {subject in SHARES ? <ShareList rows={rows} version={asked.version} by={subject} heading={SHARES[subject] ?? 'Group'} quotas={quotas} search={shareSearch(subject, report.places)} />
        : ABOUT_DIRECTORIES.has(subject) ? <Directories rows={rows} version={asked.version} /> : <Files rows={rows} version={asked.version} />}
    </Report>
  );
}

/** Returns a function that makes the address of a search for a group of `top` or `stats`. */
export function shareSearch(by: string, places: PlaceArguments | undefined): (row: Share) => string | undefined {
  const where = { path: places?.paths ?? [], raw: places?.paths_raw ?? [] };
  return ({ key }) => {
    // Those that belong to no group cannot be searched for.
    if (key == null) return undefined;
    switch (by) {
      case 'owners':
      case 'owner': return link('search', { ...where, owner: key, sort: '-size' });
      case 'groups':
      case 'group': return link('search', { ...where, group: key, sort: '-size' });
      case 'extensions':
      case 'extension': return /^[^/*?[\\\s]+$/.test(key) ? link('search', { ...where, ext: key, sort: '-size' }) : undefined;
      case 'type': return /^[fdlpsbc]$/.test(key) ? link('search', { ...where, type: key }) : undefined;
      default: return undefined;
    }
  };
}

interface ListProps<Row> {
  readonly rows: readonly Row[];
  readonly version: number;
}

function Files({ rows, version }: ListProps<Entry>): JSX.Element {
  return (
    <Table label="Files" rows={rows.map(hitOf)} version={version} columns={HIT_COLUMNS} empty="No file." onOpen={(hit) => navigate(link('file', placeParameters([placeOfHit(hit)])))} />
  );
}

const DIRECTORY_COLUMNS: readonly Column<Directory>[] = [
  {
    id: 'path', label: 'Directory', width: 'minmax(10rem, 1fr)',
    render: (row) => <a href={link('space', placeParameters([placeOf(row)]))} tabIndex={-1}><PathText text={row.path} isRaw={row.path_raw !== undefined} /></a>,
  },
  { id: 'disk', label: 'On disk', width: '6.5rem', isNumber: true, render: (row) => formatSize(toNumber(row.disk_bytes)) },
  { id: 'size', label: 'Size', width: '6.5rem', isNumber: true, from: 560, render: (row) => formatSize(toNumber(row.size)) },
  { id: 'entries', label: 'Entries', width: '6rem', isNumber: true, render: (row) => formatCount(toNumber(row.entries)) },
];

function Directories({ rows, version }: ListProps<Directory>): JSX.Element {
  return <Table label="Directories" rows={rows} version={version} columns={DIRECTORY_COLUMNS} empty="No directory." onOpen={(row) => navigate(link('space', placeParameters([placeOf(row)])))} />;
}
