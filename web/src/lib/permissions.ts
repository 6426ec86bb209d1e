/**
 * Permissions in words: what the owner, the group, others and the names of an access control list
 * may do, and who can read a file once the directories above it are considered.
 */

import type { Entry } from './api-types.ts';

/** Read, write and execute (or pass, for a directory). */
export interface Rights {
  readonly read: boolean;
  readonly write: boolean;
  readonly execute: boolean;
}

/** Somebody who is given rights. */
export interface Subject {
  readonly kind: 'owner' | 'user' | 'group' | 'others';
  /** As a sentence begins: `the owner ann`, `members of staff`, `everyone else`. */
  readonly words: string;
  /** Number of the user or group; undefined for others. */
  readonly id?: number;
  readonly rights: Rights;
}

const NOTHING: Rights = { read: false, write: false, execute: false };

function rightsOf(bits: number): Rights {
  return { read: (bits & 4) !== 0, write: (bits & 2) !== 0, execute: (bits & 1) !== 0 };
}

function rightsOfText(text: string): Rights {
  return { read: text[0] === 'r', write: text[1] === 'w', execute: text[2] === 'x' };
}

function both(left: Rights, right: Rights): Rights {
  return {
    read: left.read && right.read,
    write: left.write && right.write,
    execute: left.execute && right.execute,
  };
}

function listed(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} and ${words[words.length - 1] ?? ''}`;
}

/** Returns rights in words, as they follow `may`: `read and write`. */
export function rightsInWords(rights: Rights, isDirectory: boolean): string {
  const words: string[] = [];
  if (isDirectory) {
    if (rights.read) words.push('list names');
    if (rights.execute) words.push('enter');
    if (rights.write && rights.execute) words.push('add, rename and remove entries');
  } else {
    if (rights.read) words.push('read');
    if (rights.write) words.push('write');
    if (rights.execute) words.push('run it');
  }
  return words.length === 0 ? 'do nothing' : listed(words);
}

const user = (entry: Entry): string => entry.user ?? `user ${entry.uid ?? '?'}`;
const group = (entry: Entry): string => entry.group ?? `group ${entry.gid ?? '?'}`;

/** Entries of an access control list, such as `user:33:rw-`. */
function aclOf(entry: Entry): { tag: string; id: string; rights: Rights }[] {
  return (entry.acl ?? []).flatMap((line) => {
    const [tag, id, text] = line.split(':');
    if (tag === undefined || id === undefined || text === undefined || line.startsWith('default:')) return [];
    return [{ tag, id, rights: rightsOfText(text) }];
  });
}

/** Returns everybody to whom an entry gives rights, most specific first. */
export function subjects(entry: Entry): Subject[] {
  const mode = entry.mode ?? 0;
  const acl = aclOf(entry);
  const mask = acl.find((line) => line.tag === 'mask')?.rights;
  const masked = (rights: Rights): Rights => (mask === undefined ? rights : both(rights, mask));
  const owning = acl.find((line) => line.tag === 'group' && line.id === '')?.rights;
  const named = acl.filter((line) => line.id !== '');
  const idOf = (text: string): { id: number } | Record<string, never> =>
    /^\d+$/.test(text) ? { id: Number(text) } : {};
  return [
    {
      kind: 'owner',
      words: `the owner ${user(entry)}`,
      ...(entry.uid !== undefined && { id: entry.uid }),
      rights: rightsOf(mode >> 6),
    },
    ...named
      .filter((line) => line.tag === 'user')
      .map((line): Subject => ({ kind: 'user', words: `user ${line.id}`, ...idOf(line.id), rights: masked(line.rights) })),
    {
      kind: 'group',
      words: `members of ${group(entry)}`,
      ...(entry.gid !== undefined && { id: entry.gid }),
      rights: owning === undefined ? rightsOf(mode >> 3) : masked(owning),
    },
    ...named
      .filter((line) => line.tag === 'group')
      .map((line): Subject => ({ kind: 'group', words: `members of group ${line.id}`, ...idOf(line.id), rights: masked(line.rights) })),
    { kind: 'others', words: 'everyone else', rights: rightsOf(mode) },
  ];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the permissions of an entry as sentences. */
export function inWords(entry: Entry): string[] {
  if (entry.mode === undefined) return ['Its permissions are not known.'];
  if (entry.type === 'l') return ['A symbolic link has no permissions of its own: those of its target count.'];
  const isDirectory = entry.type === 'd';
  const sentences = subjects(entry).map(
    (subject) => `${capital(subject.words)} may ${rightsInWords(subject.rights, isDirectory)}.`,
  );
  if ((entry.mode & 0o4000) !== 0 && !isDirectory) sentences.push(`Run by anyone, it acts as ${user(entry)} (setuid).`);
  if ((entry.mode & 0o2000) !== 0) {
    sentences.push(
      isDirectory
        ? `New entries in it belong to the group ${group(entry)} (setgid).`
        : `Run by anyone, it acts with the rights of the group ${group(entry)} (setgid).`,
    );
  }
  if ((entry.mode & 0o1000) !== 0 && isDirectory) {
    sentences.push('Only the owner of an entry may rename or remove it (sticky).');
  }
  return sentences;
}

/** Who can read a file. */
export interface Readers {
  /** Sentence that says who may read, as far as the entry itself decides. */
  readonly itself: string;
  /** Directories above it that do not let everyone pass, with a sentence each. */
  readonly limits: readonly { readonly entry: Entry; readonly sentence: string }[];
}

function whoMay(entry: Entry, may: (rights: Rights) => boolean): { words: string; isEveryone: boolean } {
  const all = subjects(entry);
  const others = all[all.length - 1]?.rights ?? NOTHING;
  const refused = all.filter((subject) => subject.kind !== 'others' && !may(subject.rights));
  if (may(others)) {
    if (refused.length === 0) return { words: 'everyone', isEveryone: true };
    return { words: `everyone but ${listed(refused.map((subject) => subject.words))}`, isEveryone: false };
  }
  const allowed = all.filter((subject) => may(subject.rights));
  if (allowed.length === 0) return { words: 'nobody but the administrator (root)', isEveryone: false };
  return { words: `only ${listed(allowed.map((subject) => subject.words))}`, isEveryone: false };
}

/**
 * Returns who may read an entry.
 *
 * @param above the directories above it, in any order
 */
export function readers(entry: Entry, above: readonly Entry[]): Readers {
  const reads = entry.type === 'd' ? 'list it' : 'read it';
  const itself = whoMay(entry, (rights) => rights.read);
  const limits = above
    .filter((directory) => directory.mode !== undefined)
    .map((directory) => ({ directory, who: whoMay(directory, (rights) => rights.execute) }))
    .filter(({ who }) => !who.isEveryone)
    .map(({ directory, who }) => ({ entry: directory, sentence: `${capital(who.words)} may pass` }));
  return { itself: `${capital(itself.words)} may ${reads}`, limits };
}

/** Returns a mode as `ls -l` prints it. */
export function modeText(entry: Entry): string {
  const mode = entry.mode ?? 0;
  const type = entry.type === 'f' ? '-' : entry.type ?? '?';
  const triple = (bits: number, special: boolean, letter: string): string => {
    const x = (bits & 1) !== 0;
    const last = special ? (x ? letter : letter.toUpperCase()) : x ? 'x' : '-';
    return `${(bits & 4) !== 0 ? 'r' : '-'}${(bits & 2) !== 0 ? 'w' : '-'}${last}`;
  };
  const text =
    triple(mode >> 6, (mode & 0o4000) !== 0, 's') +
    triple(mode >> 3, (mode & 0o2000) !== 0, 's') +
    triple(mode, (mode & 0o1000) !== 0, 't');
  return `${type}${text}${entry.acl === undefined ? '' : '+'}`;
}
