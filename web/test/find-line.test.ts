/** Chips and lines: each search is the same after its line was read back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expression, findArguments, LineError, lineOf, searchOfLine } from '../src/lib/find-line.ts';
import { link } from '../src/lib/router.ts';
import { EMPTY, type Search, searchOf, searchParameters } from '../src/lib/search-state.ts';

const ROOTS = [{ path: '/home' }, { path: '/srv' }];

const SEARCHES: readonly Partial<Search>[] = [
  {},
  { text: 'report' },
  { text: 'two words' },
  { text: '"a b" c' },
  { text: 're*.Tex src/lib' },
  { text: 'what?' },
  { text: '[draft] back\\slash' },
  { text: '<img src=x onerror=alert(1)>' },
  { text: "it's \u202egnp $HOME `id`" },
  { types: ['f', 'l'] },
  { larger: '100M', smaller: '2G' },
  { smaller: '1500c' },
  { ages: ['m-7', 'a+365', 'c-1'] },
  { owner: 'ann', group: 'staff' },
  { owner: "o'brien (x)", group: '-delete' },
  { extensions: ['bam'] },
  { extensions: ['tar', 'c++', "o'x"] },
  { places: [{ path: '/srv/a b' }, { path: "/srv/it's" }] },
  { places: [{ path: '/srv/caf\\xe9', raw: '2f7372762f636166e9' }] },
  { places: [{ path: '/srv/new\nline \u202e' }] },
  { rest: ['-perm', '-4000', '!', '-empty'] },
  { rest: ['-name', '*.c', '-o', '-name', '*.h'] },
  { rest: ['(', '-user', 'a', '-o', '-user', 'b', ')'], types: ['d'] },
  { sort: '-size' },
  {
    places: [{ path: '/srv' }], text: 'x', types: ['f'], larger: '1k', ages: ['m+30'], owner: 'ann', group: 'g', extensions: ['a', 'b'],
    rest: ['-links', '+1'], sort: 'mtime',
  },
];

test('a search survives its line', () => {
  for (const part of SEARCHES) {
    const search: Search = { ...EMPTY, ...part };
    const line = lineOf(search, []);
    assert.deepEqual(searchOfLine(line), search, line);
  }
});

test('a search survives its address', () => {
  for (const part of SEARCHES) {
    const search: Search = { ...EMPTY, ...part };
    const address = new URL(link('search', searchParameters(search)), 'http://x');
    assert.deepEqual(searchOf(address.searchParams), search);
  }
});

test('chips mean these words of find', () => {
  const words = (part: Partial<Search>): string => expression({ ...EMPTY, ...part }).join(' ');
  assert.equal(words({ text: 'a b' }), '-iname *a* -iname *b*');
  assert.equal(words({ text: '*.c' }), '-iname *.c');
  assert.equal(words({ text: 'src/a' }), '-ipath *src/a*');
  assert.equal(words({ text: 'a[1' }), '-iname *a\\[1*');
  assert.equal(words({ types: ['f', 'd'] }), '-type f,d');
  assert.equal(words({ larger: '100M', smaller: '1k' }), '-size +100M -size -1024c');
  assert.equal(words({ extensions: ['c'] }), '-iname *.c');
  assert.equal(words({ extensions: ['c', 'h'] }), '( -iname *.c -o -iname *.h )');
  assert.equal(words({ ages: ['m-7', 'a+365'] }), '-mtime -7 -atime +365');
  assert.equal(words({ types: ['f'], rest: ['-empty', '-o', '-true'], sort: '-size' }), '-type f ( -empty -o -true ) -sort -size');
});

test('lines become chips, and what has no chip stays', () => {
  const of = (line: string): Partial<Search> => {
    const found = searchOfLine(line);
    return Object.fromEntries(Object.entries(found).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(EMPTY[key as keyof Search])));
  };
  assert.deepEqual(of('find /srv -type f -print'), { places: [{ path: '/srv' }], types: ['f'] });
  assert.deepEqual(of("trawl find -iname '*a*' -a -user ann"), { text: 'a', owner: 'ann' });
  assert.deepEqual(of("find / -name '*.c'"), { places: [{ path: '/' }], rest: ['-name', '*.c'] });
  assert.deepEqual(of('find -size -1M'), { rest: ['-size', '-1M'] });
  assert.deepEqual(of('find -user a -user b'), { owner: 'a', rest: ['-user', 'b'] });
  assert.deepEqual(of('find -not -user a'), { rest: ['-not', '-user', 'a'] });
  assert.deepEqual(of("find -type f -o -type d"), { rest: ['-type', 'f', '-o', '-type', 'd'] });
  assert.deepEqual(of("find \\( -iname '*.c' -o -iname '*.h' \\)"), { extensions: ['c', 'h'] });
  assert.deepEqual(of("find \\( -iname '*.c' -o -user x \\)"), { rest: ['(', '-iname', '*.c', '-o', '-user', 'x', ')'] });
  // The server refuses actions; the page passes them on as they are.
  assert.deepEqual(of("find -exec id ';'"), { rest: ['-exec', 'id', ';'] });
});

test('a typed extension is a chip once its line was edited, with the same words', () => {
  const typed: Search = { ...EMPTY, text: '*.c' };
  const read = searchOfLine(lineOf(typed, []));
  assert.deepEqual(read.extensions, ['c']);
  assert.deepEqual(expression(read), expression(typed));
});

test('lines that are no search are refused', () => {
  for (const line of ['ls', 'find srv', "find /a -name $'\\xff'", 'trawl', '']) assert.throws(() => searchOfLine(line), LineError, line);
});

test('everywhere is all roots', () => {
  assert.deepEqual(findArguments(EMPTY, ROOTS), { paths: ['/home', '/srv'] });
  assert.deepEqual(findArguments({ ...EMPTY, places: [{ path: '/x\\xff', raw: '2f78ff' }] }, ROOTS), { paths_raw: ['2f78ff'] });
});
