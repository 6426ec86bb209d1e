/**
 * Words that a person types, as tests of find: each word must be in the name, in either case.
 * A word with `*` is a pattern for the whole name, a word with `/` is about the path, and quotes
 * keep spaces.
 */

/** A test and its pattern. */
export type NameTest = readonly ['-iname' | '-ipath', string];

/** Splits text into words. */
export function tokens(text: string): string[] {
  return Array.from(text.matchAll(/"([^"]*)(?:"|$)|\S+/g), (match) => match[1] ?? match[0]).filter((token) => token !== '');
}

function escaped(token: string): string {
  return token.replace(/[\\[]/g, '\\$&');
}

/** Returns the test that a word means. */
export function testOf(token: string): NameTest {
  const test = token.includes('/') ? '-ipath' : '-iname';
  if (!token.includes('*')) return [test, `*${escaped(token)}*`];
  const isAnchored = test === '-iname' || /^[*/]/.test(token);
  return [test, isAnchored ? token : `*${token}`];
}

/** Returns the tests that a text means. */
export function testsOf(text: string): NameTest[] {
  return tokens(text).map(testOf);
}

function written(token: string): string {
  return /\s|^"/.test(token) ? `"${token}"` : token;
}

/** Returns the typed form of a test; undefined if no word means it. */
export function wordOfTest(test: string, pattern: string): string | undefined {
  const inner = /^\*((?:[^*\\]|\\[\\[])*)\*$/s.exec(pattern)?.[1]?.replace(/\\([\\[])/g, '$1');
  for (const candidate of inner === undefined ? [pattern] : [inner, pattern]) {
    const text = written(candidate);
    const found = testsOf(text);
    if (found.length === 1 && found[0]?.[0] === test && found[0][1] === pattern) return text;
  }
  return undefined;
}
