/** Quotas beside the owners, groups and projects of a list. */

import type { Schemas } from '../../../clients/typescript/src/index.ts';
import { formatCount, formatShare, formatSize, toNumber } from './format.ts';

export type Quota = Schemas['Quota'];

/** A limit and what is used of it. */
export interface Limit {
  /** From 0 to 1, and above where more is used. */
  readonly share: number;
  /** Such as `1.5 GiB of 2 GiB (75 %)`. */
  readonly text: string;
  /** What is wrong, in words; empty if nothing is. */
  readonly warning: string;
  readonly isExhausted: boolean;
  /** Mount point of the file system. */
  readonly mount: string;
}

/** The kind of quotas that belongs to a list of `top` or `stats`. */
const KINDS: Readonly<Record<string, Quota['kind']>> = {
  owner: 'user', owners: 'user', group: 'group', groups: 'group', project: 'project', projects: 'project',
};

/** Returns the kind of quotas that belongs to a list; undefined if none does. */
export function quotaKind(by: string): Quota['kind'] | undefined {
  return Object.hasOwn(KINDS, by) ? KINDS[by] : undefined;
}

const WARNINGS: Readonly<Record<string, string>> = { over: 'over the limit', expired: 'grace period over', full: 'at the hard limit' };

interface Amount {
  readonly used: unknown;
  readonly soft: unknown;
  readonly hard: unknown;
  readonly state: string;
  readonly format: (value: number) => string;
}

function limitOf({ used, soft, hard, state, format }: Amount, mount: string): Limit | undefined {
  const limit = toNumber(soft ?? hard);
  if (limit <= 0) return undefined;
  const value = toNumber(used);
  const warning = WARNINGS[state] ?? '';
  const text = `${format(value)} of ${format(limit)} (${formatShare(value, limit)})`;
  return { share: value / limit, text, warning, isExhausted: state === 'expired' || state === 'full', mount };
}

/** Returns whether a limit matters more than another: one that is exhausted, or the nearer one. */
function isNearer(one: Limit, other: Limit | undefined): boolean {
  if (other === undefined) return true;
  return one.isExhausted === other.isExhausted ? one.share > other.share : one.isExhausted;
}

/** Returns the limit that matters most for each owner, group or project, by the keys of a list. */
export function limitsOf(rows: readonly Quota[], kind: Quota['kind'] | undefined): ReadonlyMap<string, Limit> {
  const found = new Map<string, Limit>();
  for (const row of rows) {
    if (row.kind !== kind) continue;
    const key = row.name ?? String(row.id);
    const space = { used: row.used_bytes, soft: row.soft_bytes, hard: row.hard_bytes, state: row.space_state, format: formatSize };
    const inodes = { used: row.used_inodes, soft: row.soft_inodes, hard: row.hard_inodes, state: row.inodes_state, format: (value: number) => `${formatCount(value)} entries` };
    for (const amount of [space, inodes]) {
      const limit = limitOf(amount, row.mount);
      if (limit !== undefined && isNearer(limit, found.get(key))) found.set(key, limit);
    }
  }
  return found;
}
