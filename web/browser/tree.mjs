/**
 * Makes the tree that the checks walk: `node browser/tree.mjs DIR`. With `--change` it changes it, for
 * a second snapshot. DIR is then indexed, and is $TRAWL_WEB_TREE of the checks.
 */
import { chmodSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const changes = process.argv.includes('--change');
const root = process.argv.slice(2).find((word) => !word.startsWith('--'));
if (root === undefined) {
  console.error('usage: tree.mjs DIR [--change]');
  process.exit(2);
}

/** Names that attack a page, as bytes. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>.html', '"><svg onload=alert(2)>', "';alert(3);.js", '{{7*7}}', '{a|b}', 'javascript:alert(4)', '&lt;b&gt;&amp;.txt',
  '\u202egnp.exe', 'zero\u200bwidth.txt', '\u2066isolate\u2069.txt', 'red\u001b[31m.txt', 'new\nline.txt', 'tab\there.txt', ' space at both ends ',
  'שלום עולם.txt', '日本語.txt', "it's.txt", 'back\\slash.txt', '(parens).c', '-delete', '*star?[x].md', '=1+1.csv', '%3Cscript%3E', 'a&b=c#d?e.txt',
];

const write = (path, bytes) => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, Buffer.alloc(bytes, 'x'));
};

if (changes) {
  write(join(root, 'projects/apollo/added.bin'), 50_000);
  rmSync(join(root, 'projects/apollo/old.log'));
  renameSync(join(root, 'projects/gemini/draft.txt'), join(root, 'projects/gemini/paper.txt'));
  chmodSync(join(root, 'projects/apollo/report.txt'), 0o600);
} else {
  mkdirSync(join(root, 'hostile'), { recursive: true });
  for (const name of HOSTILE) writeFileSync(join(root, 'hostile', name), 'x'.repeat(100));
  writeFileSync(Buffer.concat([Buffer.from(join(root, 'hostile/caf')), Buffer.from([0xe9]), Buffer.from('.txt')]), 'x');
  for (let number = 0; number < 600; number += 1) write(join(root, 'many', `file-${String(number).padStart(4, '0')}.dat`), 10 + number);
  write(join(root, 'projects/apollo/report.txt'), 40_000);
  write(join(root, 'projects/apollo/image.png'), 300_000);
  write(join(root, 'projects/apollo/old.log'), 20_000);
  write(join(root, 'projects/gemini/draft.txt'), 30_000);
  write(join(root, 'projects/gemini/data/large.csv'), 900_000);
  for (const copy of [1, 2, 3]) write(join(root, `projects/gemini/copy-${copy}.iso`), 150_000);
  chmodSync(join(root, 'projects/apollo/report.txt'), 0o640);
  const old = new Date('2019-03-01T12:00:00Z');
  utimesSync(join(root, 'projects/apollo/old.log'), old, old);
  utimesSync(join(root, 'projects/apollo/image.png'), old, old);
}
