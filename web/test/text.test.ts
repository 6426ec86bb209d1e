/** Names are shown so that nothing in them is hidden. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseName, isSuspicious, parentOf, pieces, visible } from '../src/lib/text.ts';

test('plain names stay as they are', () => {
  for (const name of ['a.txt', 'שלום עולם', '日本語', 'e\u0301', 'naïve café', 'a b', '<img src=x>', '{{7*7}}', '😀', 'back\\slash', '\\xff']) {
    assert.deepEqual(pieces(name), [{ text: name }], name);
  }
});

test('what cannot be seen is escaped', () => {
  for (const [name, shown] of [
    ['a\nb', 'a\\nb'], ['a\tb', 'a\\tb'], ['\u001b[31m', '\\x1b[31m'], ['\u007f', '\\x7f'], ['\u0085', '\\x85'],
    ['\u202egnp.exe', '\\u202egnp.exe'], ['\u2066x\u2069', '\\u2066x\\u2069'], ['a\u200bb', 'a\\u200bb'], ['a\u200db', 'a\\u200db'],
    ['\u061c', '\\u061c'], ['\u00ad', '\\xad'], ['\ufeff', '\\ufeff'], ['a\u00a0b', 'a\\xa0b'], ['a\u3000b', 'a\\u3000b'],
    ['\u{e0041}', '\\u{e0041}'], ['\ue000', '\\ue000'], ['\ud800', '\\ud800'], ['\u3164', '\\u3164'], ['x\ufe0f', 'x\\ufe0f'],
    [' a ', '␠a␠'], ['   ', '␠␠␠'],
  ] as const) {
    assert.equal(visible(name), shown);
  }
});

test('escapes are apart from text that looks like them', () => {
  assert.deepEqual(pieces('\\u202e'), [{ text: '\\u202e' }]);
  const [first] = pieces('\u202e');
  assert.equal(first?.text, '\\u202e');
  assert.equal(first?.meaning, 'right-to-left override');
});

test('bytes that are not UTF-8', () => {
  assert.deepEqual(pieces('caf\\xe9', true), [{ text: 'caf' }, { text: '\\xe9', meaning: 'byte that is not text' }]);
  assert.deepEqual(pieces('a\\\\b\\xff', true), [{ text: 'a\\b' }, { text: '\\xff', meaning: 'byte that is not text' }]);
});

test('no piece of plain text has a hidden character', () => {
  for (let code = 0; code < 0x11_0000; code += code < 0x3000 ? 1 : 97) {
    const character = String.fromCodePoint(code);
    for (const piece of pieces(`x${character}y`)) {
      if (piece.meaning === undefined) assert.ok(!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(piece.text), code.toString(16));
    }
  }
});

test('suspicious names', () => {
  assert.ok(isSuspicious('a\u202e'));
  assert.ok(!isSuspicious('a b'));
});

test('parts of paths', () => {
  assert.equal(baseName('/a/b'), 'b');
  assert.equal(baseName('/'), '/');
  assert.equal(parentOf('/a/b'), '/a');
  assert.equal(parentOf('/a'), '/');
});
