/** Permissions in words, against what chmod(1) and acl(5) say. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry } from '../src/lib/api-types.ts';
import { inWords, modeText, readers } from '../src/lib/permissions.ts';

function entry(mode: number, more: Partial<Entry> = {}): Entry {
  return { path: '/x', type: 'f', mode, uid: 1000, user: 'ann', gid: 50, group: 'staff', ...more };
}

test('a mode in words', () => {
  assert.deepEqual(inWords(entry(0o100640)), ['The owner ann may read and write.', 'Members of staff may read.', 'Everyone else may do nothing.']);
  assert.deepEqual(inWords(entry(0o100755))[0], 'The owner ann may read, write and run it.');
  assert.deepEqual(inWords(entry(0o40751, { type: 'd' })), [
    'The owner ann may list names, enter and add, rename and remove entries.', 'Members of staff may list names and enter.', 'Everyone else may enter.',
  ]);
});

test('special bits', () => {
  assert.match(inWords(entry(0o104755)).join(' '), /acts as ann \(setuid\)/);
  assert.match(inWords(entry(0o102755)).join(' '), /group staff \(setgid\)/);
  assert.match(inWords(entry(0o41777, { type: 'd' })).join(' '), /sticky/);
});

test('an access control list, limited by its mask', () => {
  const acl = ['user::rw-', 'user:33:rw-', 'group::r--', 'group:4:rwx', 'mask::r--', 'other::---'];
  assert.deepEqual(inWords(entry(0o100640, { acl })), [
    'The owner ann may read and write.', 'User 33 may read.', 'Members of staff may read.', 'Members of group 4 may read.', 'Everyone else may do nothing.',
  ]);
});

test('without a mask the group of the list counts, not that of the mode', () => {
  const acl = ['user::rw-', 'user:33:---', 'group::---', 'mask::rw-', 'other::---'];
  assert.equal(inWords(entry(0o100660, { acl }))[2], 'Members of staff may do nothing.');
});

test('who may read', () => {
  assert.equal(readers(entry(0o100644), []).itself, 'Everyone may read it');
  assert.equal(readers(entry(0o100640), []).itself, 'Only the owner ann and members of staff may read it');
  assert.equal(readers(entry(0o100600), []).itself, 'Only the owner ann may read it');
  assert.equal(readers(entry(0o100604), []).itself, 'Everyone but members of staff may read it');
  assert.equal(readers(entry(0o100000), []).itself, 'Nobody but the administrator (root) may read it');
});

test('directories above limit it', () => {
  const home = entry(0o40700, { path: '/home/ann', type: 'd' });
  const open = entry(0o40755, { path: '/home', type: 'd' });
  const found = readers(entry(0o100644), [open, home]);
  assert.deepEqual(found.limits.map(({ entry: { path }, sentence }) => [path, sentence]), [['/home/ann', 'Only the owner ann may pass']]);
});

test('the text of a mode', () => {
  assert.equal(modeText(entry(0o104755)), '-rwsr-xr-x');
  assert.equal(modeText(entry(0o102644)), '-rw-r-Sr--');
  assert.equal(modeText(entry(0o41777, { type: 'd' })), 'drwxrwxrwt');
  assert.equal(modeText(entry(0o100640, { acl: ['user::rw-'] })), '-rw-r-----+');
});
