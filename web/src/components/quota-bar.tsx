/** How much of a quota is used: a bar, and the same in words. */

import type { JSX } from 'preact';
import type { Limit } from '../lib/quotas.ts';

export function QuotaBar({ limit }: { readonly limit: Limit }): JSX.Element {
  const { share, text, warning, isStopped, mount } = limit;
  const state = isStopped ? 'stopped' : warning === '' ? '' : 'over';
  return (
    <span class={`quota ${state}`} title={`Quota of the file system ${mount}, as it is now: ${text}${warning === '' ? '' : `, ${warning}`}`}>
      <span class="track" aria-hidden="true"><span class="fill" style={{ width: `${Math.min(100, 100 * share)}%` }} /></span>
      <span class="words">{warning !== '' && <strong>{warning}: </strong>}{text}</span>
    </span>
  );
}
