/** How much of a quota is used: a bar, and the same in words. */

import type { JSX } from 'preact';
import type { Limit } from '../lib/quotas.ts';
import { visible } from '../lib/text.ts';

export function QuotaBar({ limit }: { readonly limit: Limit }): JSX.Element {
  const { share, text, warning, isExhausted, mount } = limit;
  const state = isExhausted ? 'exhausted' : warning === '' ? '' : 'over';
  return (
    <span class={`quota ${state}`} title={`${text}${warning === '' ? '' : `, ${warning}`}; quota of the file system ${visible(mount)}, as it is now`}>
      <span class="track" aria-hidden="true"><span class="fill" style={{ width: `${Math.min(100, 100 * share)}%` }} /></span>
      <span class="words">{warning !== '' && <strong>{warning}: </strong>}{text}<span class="hidden">, quota of the file system {visible(mount)}, as it is now</span></span>
    </span>
  );
}
