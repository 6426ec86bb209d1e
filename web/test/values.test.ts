/** Sizes, times, axes, SQL texts and completion. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axisOf } from '../src/lib/axis.ts';
import { coldStatement, literal } from '../src/lib/cold.ts';
import { formatAgo, formatDelta, formatSize, parseTime, toNumber } from '../src/lib/format.ts';
import { above, chain, isBelow, placeOfRaw, placesOf } from '../src/lib/places.ts';
import { limitsOf, type Quota, quotaKind } from '../src/lib/quotas.ts';
import { bytesOf, parseSize, sizeOfBytes } from '../src/lib/sizes.ts';
import { spaceTree } from '../src/lib/space-tree.ts';
import { complete } from '../src/lib/sql-complete.ts';

test('sizes as people type them', () => {
  for (const [typed, size] of [['100 MB', '100M'], ['1.5g', '1536M'], ['2T', '2048G'], ['500', '500c'], ['4KiB', '4k'], ['0', '0c']] as const) {
    assert.equal(parseSize(typed), size);
  }
  for (const typed of ['', 'x', '-1', '1 parsec', '1e9', '99999999999T']) assert.equal(parseSize(typed), undefined, typed);
  assert.equal(bytesOf('3M'), 3 * 1024 * 1024);
  assert.equal(sizeOfBytes(1500), '1500c');
});

test('sizes for people', () => {
  assert.equal(formatSize(0), '0 B');
  assert.equal(formatSize(1536), '1.5 KiB');
  assert.equal(formatSize(200 * 1024), '200 KiB');
  assert.equal(formatDelta(2048), '+2.0 KiB');
  assert.equal(formatDelta(-2048), '−2.0 KiB');
  assert.equal(toNumber('9007199254740993'), 9007199254740992);
});

test('times in both forms of the API', () => {
  const second = Date.UTC(2026, 10, 28, 1, 15, 15);
  assert.equal(parseTime('2026-11-28T01:15:15.039046687Z'), second + 39);
  assert.equal(parseTime('2026-11-28 01:15:15.039046687 +0000'), second + 39);
  assert.equal(parseTime('2026-11-28 02:15:15 +0100'), second);
  assert.equal(parseTime('yesterday'), undefined);
  assert.equal(parseTime(null), undefined);
  assert.equal(formatAgo(0, 3 * 60_000), '3 minutes ago');
});

test('axes have round binary numbers', () => {
  assert.deepEqual(axisOf(0, 30 * 1024 ** 2, true), { min: 0, max: 30 * 1024 ** 2, interval: 10 * 1024 ** 2 });
  assert.deepEqual(axisOf(0, 0, true), { min: 0, max: 500, interval: 500 });
});

test('places', () => {
  assert.deepEqual(placeOfRaw('2f61ff'), { path: '/a\\xff', raw: '2f61ff' });
  assert.deepEqual(placeOfRaw('2f61'), { path: '/a' });
  assert.equal(placeOfRaw('zz'), undefined);
  assert.deepEqual(above({ path: '/a/\\xff', raw: '2f612fff' }), { path: '/a' });
  assert.deepEqual(chain({ path: '/a/b' }).map(({ path }) => path), ['/', '/a', '/a/b']);
  assert.ok(isBelow('/a/b', '/a') && !isBelow('/ab', '/a') && isBelow('/a', '/'));
  assert.deepEqual(placesOf(new URLSearchParams('path=/a/&path=relative&raw=2fff')), [{ path: '/a' }, { path: '/\\xff', raw: '2fff' }]);
});

test('texts of SQL', () => {
  assert.equal(literal("it's"), "'it''s'");
  assert.match(coldStatement("/srv/it's", 'directory', 365), /under\(path, '\/srv\/it''s'\)/);
});

const SCHEMA = [
  { table: 'entries', column: 'path', type: 'Utf8', nullable: 'NO' },
  { table: 'entries', column: 'size', type: 'Int64', nullable: 'NO' },
  { table: 'dirs', column: 'tree_size', type: 'Int64', nullable: 'NO' },
];

test('completion', () => {
  const of = (sql: string): string[] => complete(sql, sql.length, SCHEMA).map(({ text }) => text);
  assert.deepEqual(of('SELECT * FROM '), ['entries', 'dirs']);
  assert.deepEqual(of('SELECT * FROM d'), ['dirs']);
  assert.deepEqual(of('SELECT si'), ['size', 'size_bucket(']);
  assert.deepEqual(of('SELECT 1 FROM dirs d WHERE d.t'), ['tree_size']);
  assert.deepEqual(of("SELECT 'si"), []);
  assert.deepEqual(of('-- si'), []);
  assert.deepEqual(of('sele'), ['SELECT']);
});

test('the tree of the space view', () => {
  const root = spaceTree(
    [{ path: '/s' }],
    [{ path: '/s/a', disk_bytes: 60, size: 0, inodes: 1 }, { path: '/s/b', disk_bytes: 30, size: 0, inodes: 1 }, { path: '/s', disk_bytes: 1124, size: 0, inodes: 3 }],
    [{ path: '/s/f', type: 'f', blocks: 2, user: 'ann', mtime: '2020-01-01T00:00:00.000000000Z' }, { path: '/s/a/g', type: 'f', blocks: 0, user: 'bob' }],
    1,
    Date.UTC(2026, 0, 1),
  );
  assert.equal(root.bytes, 1124);
  assert.deepEqual(root.children.map(({ label, bytes }) => [label, bytes]), [['f', 1024], ['a', 60], ['b', 30], ['smaller entries', 10]]);
  assert.deepEqual([...root.weights.owner], [['ann', 1024], ['bob', 0]]);
});

const quota = (change: Partial<Quota>): Quota => ({
  mount: '/srv', kind: 'user', id: 1001, name: 'ann', used_bytes: 0, soft_bytes: null, hard_bytes: null, space_state: 'unlimited', space_grace_ends: null,
  used_inodes: 0, soft_inodes: null, hard_inodes: null, inodes_state: 'unlimited', inodes_grace_ends: null, ...change,
});

test('quotas belong to lists of owners, groups and projects', () => {
  assert.deepEqual(['owner', 'groups', 'projects', 'age', 'constructor'].map(quotaKind), ['user', 'group', 'project', undefined, undefined]);
  assert.equal(limitsOf([quota({ hard_bytes: 1 })], undefined).size, 0);
  assert.equal(limitsOf([quota({ hard_bytes: 1, kind: 'group' })], 'user').size, 0);
});

test('quotas are said in words, by name or number', () => {
  const within = quota({ used_bytes: 1536, soft_bytes: 2048, hard_bytes: 4096, space_state: 'within' });
  const nobody = quota({ id: 7, name: null, used_bytes: '9007199254740993', hard_bytes: '9007199254740993', space_state: 'full' });
  const limits = limitsOf([within, nobody, quota({ name: 'bob' })], 'user');
  assert.deepEqual([...limits.keys()], ['ann', '7']);
  assert.deepEqual(limits.get('ann'), { share: 0.75, text: '1.5 KiB of 2.0 KiB (75 %)', warning: '', isExhausted: false, mount: '/srv' });
  assert.deepEqual([limits.get('7')?.warning, limits.get('7')?.isExhausted], ['at the hard limit', true]);
});

test('of several limits, the one that stops writing is shown, or the nearest', () => {
  const space = quota({ used_bytes: 90, soft_bytes: 100, space_state: 'within' });
  const inodes = { used_inodes: 3, hard_inodes: 1000, inodes_state: 'within' };
  assert.equal(limitsOf([{ ...space, ...inodes }], 'user').get('ann')?.text, '90 B of 100 B (90 %)');
  const elsewhere = quota({ mount: '/home', used_inodes: 5, hard_inodes: 5, inodes_state: 'full' });
  const over = quota({ used_bytes: 300, soft_bytes: 100, space_state: 'over' });
  const shown = limitsOf([over, elsewhere, space], 'user').get('ann');
  assert.deepEqual([shown?.text, shown?.mount], ['5 entries of 5 entries (100 %)', '/home']);
});
