/** Files that are there more than once. */

import type { JSX } from 'preact';
import { Choice } from '../components/choice.tsx';
import { PathText } from '../components/name.tsx';
import { Report } from '../components/report.tsx';
import { useAnswer } from '../hooks/use-answer.ts';
import { useReport } from '../hooks/use-report.ts';
import { placeOf } from '../lib/api-types.ts';
import { formatSize, plural, toNumber } from '../lib/format.ts';
import { link, placeParameters, type Route } from '../lib/router.ts';
import { bytesOf } from '../lib/sizes.ts';

const ALIKE: readonly (readonly [string, string])[] = [
  ['size', 'the same size'],
  ['name', 'the same size and name'],
  ['content', 'the same content (reads files)'],
];
const LEAST: readonly (readonly [string, string])[] = [['1M', '1 MiB'], ['1c', '1 byte'], ['64k', '64 KiB'], ['100M', '100 MiB'], ['1G', '1 GiB']];

export function DuplicatesView({ route }: { readonly route: Route }): JSX.Element {
  const report = useReport(route, true);
  const alike = report.choice('alike', ALIKE.map(([name]) => name));
  const least = report.choice('least', LEAST.map(([name]) => name));
  const values = report.places && {
    ...report.places, min_size: bytesOf(least) ?? 1, same_name: alike === 'name', verify: alike === 'content',
  };
  const asked = useAnswer('duplicates', values, { limit: 100, nextLimit: 200 });
  const groups = asked.isStale ? [] : asked.rows;
  const reclaimable = groups.reduce((sum, group) => sum + toNumber(group.reclaimable_bytes), 0);
  return (
    <Report
      title="Duplicates" {...report} asked={asked} question={values && { name: 'duplicates', values }}
      about="Groups of files, the largest first. Without a comparison of contents they are candidates."
      controls={
        <>
          <Choice label="With" value={alike} options={ALIKE} onChange={(next) => report.change({ alike: next })} />
          <Choice label="At least" value={least} options={LEAST} onChange={(next) => report.change({ least: next })} />
        </>
      }
    >
      {asked.page !== undefined && (
        <p class="count" role="status">
          {plural(groups.length, 'group')}{asked.hasMore && ' so far'}; {formatSize(reclaimable)} would be free with one file of each
        </p>
      )}
      <div class="groups">
        {groups.map((group, index) => (
          <details key={index} open={index < 3}>
            <summary>
              {plural(group.files.length, 'file')} of {formatSize(toNumber(group.size))}: {formatSize(toNumber(group.reclaimable_bytes))} to gain
              {group.verified ? ' (same content)' : ' (candidates)'}
            </summary>
            <ul>
              {group.files.map((file) => (
                <li key={file.path_raw ?? file.path}><a href={link('file', placeParameters([placeOf(file)]))}><PathText text={file.path} isRaw={file.path_raw !== undefined} /></a></li>
              ))}
            </ul>
          </details>
        ))}
        {!asked.isLoading && asked.page !== undefined && groups.length === 0 && <p class="hint">No duplicates.</p>}
      </div>
      {asked.hasMore && <button type="button" class="button" onClick={asked.loadMore} disabled={asked.isLoading}>More groups</button>}
    </Report>
  );
}
