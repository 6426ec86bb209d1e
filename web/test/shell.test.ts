/** Quoting and splitting: what is quoted is split into the same words, here and by a real shell. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fromHex, join, quote, ShellError, split, wordOf } from '../src/lib/shell.ts';

const HOSTILE = [
  'plain', '', ' ', '  two  ', "it's", '"quoted"', 'back\\slash', '$HOME', '`id`', '$(id)', 'a;b', 'a&b|c', '<x>', '*?[z]', '~', '#no', '!x', '{a,b}',
  '(', ')', '-delete', 'new\nline', 'tab\t', '\u001b[31m', '\u202egnp.exe', 'a\u200bb', 'שלום', '日本', "mixed '\"\\ \n$x", 'é', 'e\u0301', '%s', '=1+1',
];

test('words survive quoting and splitting', () => {
  for (const word of HOSTILE) assert.deepEqual(split(quote(word)), [{ text: word }], JSON.stringify(word));
  assert.deepEqual(split(join(HOSTILE)).map((word) => word.text), HOSTILE);
});

test('bash reads the same words', () => {
  const script = `printf '%s\\0' ${join(HOSTILE)}`;
  const output = execFileSync('bash', ['--norc', '--noprofile', '-c', script], { env: { PATH: process.env['PATH'], LC_ALL: 'C' } }).toString('utf8');
  assert.deepEqual(output.split('\0').slice(0, -1), HOSTILE);
});

test('bytes that are not UTF-8 survive, and bash reads the same bytes', () => {
  for (const hex of ['636166e9', 'ff', '5cff27', 'c328e282', 'f0908d', '41c3a9ff']) {
    const word = wordOf(fromHex(hex));
    assert.equal(word.raw, hex);
    assert.deepEqual(split(quote(word)), [word]);
    const output = execFileSync('bash', ['--norc', '--noprofile', '-c', `printf '%s' ${quote(word)}`], { env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
    assert.equal(output.toString('hex'), hex);
  }
});

test('a word that is not UTF-8 reads as Trawl prints it', () => {
  assert.equal(wordOf(fromHex('636166e9')).text, 'caf\\xe9');
  assert.equal(wordOf(fromHex('5cff')).text, '\\\\\\xff');
  assert.deepEqual(wordOf(fromHex('efbbbf61')), { text: '\ufeffa' });
});

test('forms of quotes', () => {
  assert.deepEqual(split(`a'b c'"d e"\\ f`).map((word) => word.text), ['ab cd e f']);
  assert.deepEqual(split(String.raw`$'\x41\101\u00e9\n\''`).map((word) => word.text), ["AAé\n'"]);
  assert.deepEqual(split('\\( -name x \\)').map((word) => word.text), ['(', '-name', 'x', ')']);
  assert.deepEqual(split("''").map((word) => word.text), ['']);
});

test('what a shell would act on is refused', () => {
  for (const line of ['a; b', 'a | b', 'a > b', '$(id)', '`id`', '(x', "'open", '"open', "$'open", 'end\\', '"$HOME"', 'a & b']) {
    assert.throws(() => split(line), ShellError, line);
  }
});
