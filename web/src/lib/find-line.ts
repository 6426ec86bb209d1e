/**
 * Chips as a line of `trawl find`, and a line as chips. What has no chip stays as words of find, so
 * a line always means what it says.
 */

import type { Arguments } from '../../../clients/typescript/src/index.ts';
import { type Place, pathArguments } from './api-types.ts';
import { CONJUNCTIONS, hasAlternatives, terms } from './find-words.ts';
import { testsOf, wordOfTest } from './name-words.ts';
import { EMPTY, type Search } from './search-state.ts';
import { type Word, join, split } from './shell.ts';
import { bytesOf, sizeOfBytes } from './sizes.ts';

/** A line that is no search. */
export class LineError extends Error {}

const AGE_TESTS: Readonly<Record<string, string>> = { '-mtime': 'm', '-atime': 'a', '-ctime': 'c' };

function extensionWords(extensions: readonly string[]): string[] {
  const tests = extensions.map((extension) => ['-iname', `*.${extension.replace(/[\\*?[]/g, '\\$&')}`]);
  if (tests.length < 2) return tests.flat();
  return ['(', ...tests.flatMap((test, index) => (index === 0 ? test : ['-o', ...test])), ')'];
}

function sizeWords(search: Search): string[] {
  const smaller = bytesOf(search.smaller);
  return [
    ...(bytesOf(search.larger) === undefined ? [] : ['-size', `+${search.larger}`]),
    ...(smaller === undefined ? [] : ['-size', `-${smaller}c`]),
  ];
}

function ageWords(age: string): string[] {
  const test = Object.entries(AGE_TESTS).find(([, letter]) => letter === age[0])?.[0];
  return test === undefined ? [] : [test, age.slice(1)];
}

/** Returns the words of find for a search: its tests, then `-sort`. */
export function expression(search: Search): string[] {
  const chips = [
    ...(search.types.length > 0 ? ['-type', search.types.join(',')] : []),
    ...testsOf(search.text).flat(),
    ...extensionWords(search.extensions),
    ...sizeWords(search),
    ...search.ages.flatMap(ageWords),
    ...(search.owner === '' ? [] : ['-user', search.owner]),
    ...(search.group === '' ? [] : ['-group', search.group]),
  ];
  const sort = search.sort === '' ? [] : ['-sort', search.sort];
  const needsGroup = chips.length + sort.length > 0 && hasAlternatives(search.rest);
  return [...chips, ...(needsGroup ? ['(', ...search.rest, ')'] : search.rest), ...sort];
}

/** Returns the arguments of `find` for a search; it covers `roots` unless it names places. */
export function findArguments(search: Search, roots: readonly Place[]): Arguments<'find'> {
  const words = expression(search);
  const places = search.places.length > 0 ? search.places : roots;
  return { ...pathArguments(places), ...(words.length > 0 && { expression: words }) };
}

/** Returns the line of a search, quoted for a shell. */
export function lineOf(search: Search, roots: readonly Place[]): string {
  const places = search.places.length > 0 ? search.places : roots;
  const paths: Word[] = places.map((place) =>
    place.raw === undefined ? { text: place.path } : { text: place.path, raw: place.raw },
  );
  return join(['trawl', 'find', ...paths, ...expression(search)]);
}

type Draft = { -readonly [Key in keyof Search]: Search[Key] };

/** Takes an extension, if the pattern is `*.EXTENSION`. */
function extensionOf(test: string | undefined, pattern: string | undefined): string | undefined {
  if (test !== '-iname' && test !== '-name') return undefined;
  if (test === '-name' && pattern?.toLowerCase() !== pattern?.toUpperCase()) return undefined;
  const match = /^\*\.((?:[^*?[\\./\s]|\\[*?[\\])+)$/.exec(pattern ?? '');
  return match?.[1]?.replace(/\\(.)/g, '$1');
}

function extensionsOf(term: readonly string[]): string[] | undefined {
  const inner = term[0] === '(' ? term.slice(1, -1) : term;
  const found: string[] = [];
  for (let at = 0; at < inner.length; at += 3) {
    const extension = extensionOf(inner[at], inner[at + 1]);
    const joiner = inner[at + 2];
    if (extension === undefined || (joiner !== undefined && joiner !== '-o' && joiner !== '-or')) return undefined;
    if (joiner !== undefined && at + 3 >= inner.length) return undefined;
    found.push(extension);
  }
  return found.length === 0 ? undefined : found;
}

function takeSize(draft: Draft, value: string): boolean {
  const size = value.slice(1);
  const bytes = bytesOf(size);
  if (bytes === undefined) return false;
  if (value.startsWith('+') && draft.larger === '') draft.larger = size;
  else if (value.startsWith('-') && size.endsWith('c') && draft.smaller === '') draft.smaller = sizeOfBytes(bytes);
  else return false;
  return true;
}

function takeTypes(draft: Draft, value: string): boolean {
  if (draft.types.length > 0 || !/^[fdlpsbc](,[fdlpsbc])*$/.test(value)) return false;
  draft.types = [...new Set(value.split(','))];
  return true;
}

function takeWord(draft: Draft, test: string, value: string): boolean {
  const word = wordOfTest(test, value);
  if (word === undefined) return false;
  draft.text = draft.text === '' ? word : `${draft.text} ${word}`;
  return true;
}

/** Makes a term a chip. Returns whether there is one for it. */
function take(draft: Draft, term: readonly string[]): boolean {
  const [test = '', value = ''] = term;
  const extensions = extensionsOf(term);
  if (extensions !== undefined && draft.extensions.length === 0) {
    draft.extensions = extensions;
    return true;
  }
  const age = AGE_TESTS[test];
  if (age !== undefined && /^[+-]\d+$/.test(value)) {
    draft.ages = [...draft.ages, `${age}${value}`];
    return true;
  }
  switch (test) {
    case '-type': return takeTypes(draft, value);
    case '-size': return takeSize(draft, value);
    case '-iname':
    case '-ipath': return takeWord(draft, test, value);
    case '-user':
      if (draft.owner !== '' || value === '') return false;
      draft.owner = value;
      return true;
    case '-group':
      if (draft.group !== '' || value === '') return false;
      draft.group = value;
      return true;
    case '-sort':
      if (draft.sort !== '' || !/^-?[a-z]+$/.test(value)) return false;
      draft.sort = value;
      return true;
    case '-print': return true;
    default: return CONJUNCTIONS.has(test);
  }
}

function placeOfWord(word: Word): Place {
  if (!word.text.startsWith('/')) throw new LineError(`‘${word.text}’ is not an absolute path: begin it with /`);
  const path = word.text.length > 1 ? word.text.replace(/\/+$/, '') || '/' : word.text;
  return word.raw === undefined ? { path } : { path, raw: word.raw.replace(/(2f)+$/, '') };
}

/**
 * Reads a line of find.
 *
 * @throws ShellError, LineError
 */
export function searchOfLine(line: string): Search {
  const words = split(line);
  let at = 0;
  if (words[at]?.text === 'trawl') at += 1;
  if (words[at]?.text !== 'find') throw new LineError('the line begins with ‘trawl find’');
  at += 1;
  const places: Place[] = [];
  for (; at < words.length && !/^(-|\(|!)/.test(words[at]?.text ?? ''); at += 1) {
    places.push(placeOfWord(words[at] ?? { text: '' }));
  }
  const tests = words.slice(at);
  const bytes = tests.find((word) => word.raw !== undefined);
  if (bytes !== undefined) throw new LineError(`‘${bytes.text}’ is not text: only paths may have such bytes`);
  const draft: Draft = { ...EMPTY, places };
  const expressionWords = tests.map((word) => word.text);
  if (hasAlternatives(expressionWords)) return { ...draft, rest: expressionWords };
  draft.rest = terms(expressionWords).flatMap((term) => (take(draft, term) ? [] : term));
  return draft;
}
