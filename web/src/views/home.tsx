/** The first page: a search box, and what is indexed. */

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Name } from '../components/name.tsx';
import { useWorld } from '../hooks/context.ts';
import { formatAgo, formatCount, formatSize, formatTime, parseTime, toNumber } from '../lib/format.ts';
import { link, navigate } from '../lib/router.ts';

const WAYS: readonly (readonly [string, string, string])[] = [
  ['space', 'Where has the space gone?', 'Treemap and sunburst of any directory'],
  ['top', 'What is largest, oldest, newest?', 'Files, directories, owners'],
  ['stats', 'Who and what takes it?', 'By owner, group, type, size and age'],
  ['growth', 'What grows?', 'Sizes over the snapshots that are kept'],
  ['changes', 'What changed?', 'Between two snapshots'],
  ['duplicates', 'What is there twice?', 'Files with the same size or content'],
  ['cold', 'What does nobody use?', 'Old data by project'],
  ['sql', 'Something else?', 'Ask in SQL'],
];

export function HomeView(): JSX.Element {
  const { sources, now } = useWorld();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const search = (text: string): void => navigate(link('search', { q: text }));
  return (
    <>
      <h1>Find files, and where the space has gone</h1>
      <form class="search-box" role="search" onSubmit={(event) => { event.preventDefault(); search(''); }}>
        <label for="search" class="hidden">Words in names</label>
        <input id="search" type="search" placeholder="Words in names, or *.pattern" autocomplete="off" spellcheck={false} ref={field}
          onInput={(event) => { if (event.currentTarget.value !== '') search(event.currentTarget.value); }} />
      </form>
      <ul class="ways">
        {WAYS.map(([view, question, about]) => (
          <li key={view}><a href={link(view)}><strong>{question}</strong><span>{about}</span></a></li>
        ))}
      </ul>
      <h2>What is indexed</h2>
      {sources.length === 0 ? (
        <p class="hint">Nothing that you may see. To index a directory, run: <code>trawl index DIRECTORY</code></p>
      ) : (
        <div class="wide">
          <table class="plain">
            <thead>
              <tr><th scope="col">Tree</th><th scope="col">As of</th><th scope="col" class="number">Entries</th><th scope="col" class="number">Size</th><th scope="col" class="number">Not readable</th></tr>
            </thead>
            <tbody>
              {sources.map((source) => {
                const time = parseTime(source.started);
                const place = source.root_raw === undefined ? { path: source.root } : { raw: source.root_raw };
                return (
                  <tr key={source.root_raw ?? source.root}>
                    <td><a href={link('space', place)}><Name text={source.root} isRaw={source.root_raw !== undefined} /></a></td>
                    <td title={formatTime(time)}>{time === undefined ? 'not known' : formatAgo(time, now)}</td>
                    <td class="number">{formatCount(toNumber(source.entries))}</td>
                    <td class="number">{formatSize(toNumber(source.size))}</td>
                    <td class="number">{formatCount(toNumber(source.issues))}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
