/** What went wrong, in words. */

import type { JSX } from 'preact';
import type { Problem } from '../lib/api.ts';
import { visible } from '../lib/text.ts';

export function ProblemBox({ problem }: { readonly problem: Problem | undefined }): JSX.Element | null {
  if (problem === undefined) return null;
  return (
    <div class="problem" role="alert">
      <strong>{visible(problem.title)}</strong>
      {problem.detail !== '' && <pre>{problem.detail.split('\n').map((line) => visible(line)).join('\n')}</pre>}
    </div>
  );
}
