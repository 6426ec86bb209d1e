/**
 * Checks the rules of the page's sources and of web/dist: sizes, one purpose a file, no HTML from
 * strings, no addresses of other sites, no source maps.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const web = join(dirname(fileURLToPath(import.meta.url)), '..');
const MAX_COMPRESSED_BYTES = 600 * 1000;
const MAX_LINES = 300;
/** Ways to make HTML or code from text. */
const FORBIDDEN = /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|DOMParser|createContextualFragment|srcdoc|eval|new Function)\b/;

const faults = [];

const files = (folder) =>
  readdirSync(join(web, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  );

for (const file of files('src')) {
  const text = readFileSync(join(web, file), 'utf8');
  const lines = text.split('\n').length;
  if (lines > MAX_LINES) faults.push(`${file}: ${lines} lines, at most ${MAX_LINES}`);
  if (/\.tsx?$/.test(file) && !text.startsWith('/**')) faults.push(`${file}: does not open with its purpose`);
  const found = FORBIDDEN.exec(text);
  if (found) faults.push(`${file}: ${found[0]} makes HTML or code from text`);
  if (/https?:\/\/(?!www\.w3\.org)/.test(text)) faults.push(`${file}: has the address of another site`);
}

let compressed = 0;
for (const file of files('dist')) {
  const bytes = readFileSync(join(web, file));
  compressed += gzipSync(bytes, { level: 9 }).length;
  if (/sourceMappingURL/.test(bytes.toString('latin1'))) faults.push(`${file}: has a source map`);
}
if (compressed > MAX_COMPRESSED_BYTES) faults.push(`web/dist: ${compressed} bytes compressed, at most ${MAX_COMPRESSED_BYTES}`);

for (const fault of faults) console.error(fault);
console.error(`web/dist: ${compressed} bytes compressed`);
process.exit(faults.length === 0 ? 0 : 1);
