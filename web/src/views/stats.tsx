/** How a tree is made up: owners, groups, types; histograms of sizes and ages. */

import type { JSX } from 'preact';
import { Choice } from '../components/choice.tsx';
import { Report } from '../components/report.tsx';
import { ShareList } from '../components/shares.tsx';
import { useAnswer } from '../hooks/use-answer.ts';
import { useQuotas } from '../hooks/use-quotas.ts';
import { useReport } from '../hooks/use-report.ts';
import type { Route } from '../lib/router.ts';
import { shareSearch } from './top.tsx';

const KINDS = [
  ['owner', 'Owner'],
  ['group', 'Group'],
  ['type', 'Type'],
  ['extension', 'Extension'],
  ['size', 'Size'],
  ['age', 'Age: time since modified'],
  ['accessed', 'Time since read'],
  ['changed', 'Time since changed'],
  ['project', 'Project (quota)'],
  ['name-length', 'Length of names'],
  ['depth', 'Depth'],
  ['fullness', 'Entries of directories'],
] as const;
const ORDERED = new Set(['size', 'age', 'accessed', 'changed', 'name-length', 'depth', 'fullness']);

export function StatsView({ route }: { readonly route: Route }): JSX.Element {
  const report = useReport(route);
  const by = report.choice('by', KINDS.map(([name]) => name));
  const values = report.places && { ...report.places, by };
  const asked = useAnswer('stats', values, { limit: 200 });
  const quotas = useQuotas(by, report.places);
  return (
    <Report
      title="Breakdown" {...report} asked={asked} question={values && { name: 'stats', values: { ...values, limit: 200 } }}
      controls={<Choice label="By" value={by} options={KINDS} onChange={(next) => report.change({ by: next })} />}
    >
      <ShareList rows={asked.isStale ? [] : asked.rows} version={asked.version} by={by} heading={KINDS.find(([name]) => name === by)?.[1] ?? 'Group'} isOrdered={ORDERED.has(by)} quotas={quotas} search={shareSearch(by, report.places)} />
    </Report>
  );
}
