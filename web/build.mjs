/**
 * Builds web/dist: `node build.mjs [DIRECTORY]`. The same sources and versions give the same bytes.
 */
import { build } from 'esbuild';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist');

/** Bundled libraries, with the files of their licences. */
const LIBRARIES = [
  ['preact', ['LICENSE']],
  ['echarts', ['LICENSE', 'NOTICE', 'licenses/LICENSE-d3']],
  ['zrender', ['LICENSE']],
  ['tslib', ['LICENSE.txt']],
];

async function notices() {
  const texts = [];
  for (const [name, files] of LIBRARIES) {
    const folder = join(here, 'node_modules', name);
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    texts.push(`${'='.repeat(72)}\n${name} ${version}\n${'='.repeat(72)}\n`);
    for (const file of files) texts.push((await readFile(join(folder, file), 'utf8')).trim(), '\n');
  }
  return texts.join('\n');
}

await rm(out, { recursive: true, force: true });
await mkdir(join(out, 'assets'), { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: 'src/main.tsx' },
  outdir: join(out, 'assets'),
  bundle: true,
  format: 'esm',
  target: ['es2022'],
  minify: true,
  charset: 'utf8',
  legalComments: 'none',
  sourcemap: false,
  define: { 'process.env.NODE_ENV': '"production"' },
  logLevel: 'warning',
});
await writeFile(join(out, 'index.html'), await readFile(join(here, 'src/index.html')));
await writeFile(join(out, 'assets', 'icon.svg'), await readFile(join(here, 'src/icon.svg')));
await writeFile(join(out, 'assets', 'licences.txt'), await notices());
