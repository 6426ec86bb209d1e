/** Words of find that a question may contain, with the number of their arguments. */

const BARE = [
  '-acl', '-daystart', '-empty', '-executable', '-false', '-mount', '-nogroup', '-nouser', '-prune', '-readable', '-true',
  '-writable', '-xdev', '-print', '-follow', '-depth',
];

/** Words that join others. */
export const JOINERS: ReadonlySet<string> = new Set(['-o', '-or', ',']);
export const NEGATIONS: ReadonlySet<string> = new Set(['!', '-not', '-exclude']);
export const CONJUNCTIONS: ReadonlySet<string> = new Set(['-a', '-and']);

const WITHOUT_ARGUMENT: ReadonlySet<string> = new Set([...BARE, ...JOINERS, ...NEGATIONS, ...CONJUNCTIONS, '(', ')']);

/** Returns the number of arguments of a word of an expression: 1 for all tests but the bare ones. */
export function argumentsOf(word: string): number {
  return WITHOUT_ARGUMENT.has(word) || !word.startsWith('-') ? 0 : 1;
}

/** Returns the end of the term that begins at an index: a test with its argument, a group, or a negated term. */
export function endOfTerm(words: readonly string[], start: number): number {
  const word = words[start] ?? '';
  if (NEGATIONS.has(word)) return start + 1 < words.length ? endOfTerm(words, start + 1) : start + 1;
  if (word !== '(') return Math.min(words.length, start + 1 + argumentsOf(word));
  let depth = 0;
  for (let at = start; at < words.length; ) {
    const one = words[at] ?? '';
    if (one === '(') depth += 1;
    if (one === ')') depth -= 1;
    at += one === '(' || one === ')' ? 1 : Math.max(1, argumentsOf(one) + 1);
    if (depth === 0) return Math.min(at, words.length);
  }
  return words.length;
}

/** Splits an expression into its terms at the top level; joiners are terms of their own. */
export function terms(words: readonly string[]): string[][] {
  const found: string[][] = [];
  for (let at = 0; at < words.length; ) {
    const end = Math.max(at + 1, endOfTerm(words, at));
    found.push(words.slice(at, end));
    at = end;
  }
  return found;
}

/** Returns whether an expression has an alternative at its top level. */
export function hasAlternatives(words: readonly string[]): boolean {
  return terms(words).some((term) => JOINERS.has(term[0] ?? ''));
}
