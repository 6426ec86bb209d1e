/** One file: its attributes, its permissions in words, who may read it, and its history. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { AnswerBar, CopyButton } from '../components/answer-bar.tsx';
import { Crumbs } from '../components/crumbs.tsx';
import { Name } from '../components/name.tsx';
import { ProblemBox } from '../components/problem.tsx';
import { useWorld } from '../hooks/context.ts';
import { useAnswer } from '../hooks/use-answer.ts';
import { type Entry, type State, pathArguments, type Place } from '../lib/api-types.ts';
import { formatAgo, formatCount, formatSize, formatTime, formatType, parseTime, toNumber } from '../lib/format.ts';
import { chain, placesOf } from '../lib/places.ts';
import { inWords, modeText, readers } from '../lib/permissions.ts';
import { link, placeParameters, type Route } from '../lib/router.ts';
import { quote } from '../lib/shell.ts';
import { baseName, isSuspicious, visible } from '../lib/text.ts';

/** The details as a page of their own. */
export function DetailsView({ route }: { readonly route: Route }): JSX.Element {
  const place = placesOf(route.query)[0];
  if (place === undefined) return <p>No file is named. <a href={link('search')}>Search for one.</a></p>;
  return <Details place={place} />;
}

/** The details beside a search. */
export function DetailsPanel({ place, onClose }: { readonly place: Place; readonly onClose: () => void }): JSX.Element {
  const close = useRef<HTMLButtonElement>(null);
  const before = useRef<Element | null>(null);
  useEffect(() => {
    before.current ??= document.activeElement;
    close.current?.focus();
    return () => {
      if (before.current instanceof HTMLElement) before.current.focus();
    };
  }, []);
  return (
    <aside class="details-panel" aria-label="Details" onKeyDown={(event) => event.key === 'Escape' && onClose()}>
      <div class="panel-head">
        <a href={link('file', placeParameters([place]))}>Open as a page</a>
        <button ref={close} type="button" class="button" onClick={onClose}>Close</button>
      </div>
      <Details place={place} />
    </aside>
  );
}

function Details({ place }: { readonly place: Place }): JSX.Element {
  const values = pathArguments([place]);
  const asked = useAnswer<'stat', Entry>('stat', values);
  const steps = chain(place).slice(0, -1);
  const above = useAnswer<'stat', Entry>('stat', steps.length === 0 ? undefined : pathArguments(steps));
  const seen = above.rows.filter((one) => one.mode !== undefined).length;
  const history = useAnswer('history', values, { limit: 200 });
  const entry = asked.rows[0];
  const isRaw = place.raw !== undefined;
  return (
    <article class="details">
      <h1><Name text={place.path === '/' ? '/' : baseName(place.path)} isRaw={isRaw} /></h1>
      <Crumbs place={place} to={(step) => link('file', placeParameters([step]))} />
      {(isRaw || isSuspicious(place.path)) && <p class="warning">This name has characters that are not visible text. They are shown as escapes.</p>}
      <ProblemBox problem={asked.problem} />
      {entry !== undefined && (
        <>
          <Attributes entry={entry} />
          <div class="actions no-print">
            <CopyButton text={() => place.path} label="Copy path" />
            <CopyButton text={() => quote(place.raw === undefined ? place.path : { text: place.path, raw: place.raw })} label="Copy quoted" />
            {entry.type === 'd' && <a class="button" href={link('search', placeParameters([place]))}>Search in it</a>}
            {entry.type === 'd' && <a class="button" href={link('space', placeParameters([place]))}>Space in it</a>}
          </div>
          <Permissions entry={entry} above={above.rows} isPartial={!above.isLoading && seen < steps.length} />
        </>
      )}
      <History rows={history.rows} problem={history.problem?.message} isLoading={history.isLoading} />
      <AnswerBar asked={asked} question={{ name: 'stat', values }} places={[place]} />
    </article>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

function Attributes({ entry }: { readonly entry: Entry }): JSX.Element {
  const { now } = useWorld();
  const time = (text: string | null | undefined): string => {
    const ms = parseTime(text);
    return ms === undefined ? 'not known' : `${formatTime(ms)}, ${formatAgo(ms, now)}`;
  };
  const size = toNumber(entry.size);
  return (
    <dl class="facts">
      <Fact name="Type">{formatType(entry.type)}</Fact>
      {entry.type === 'l' && entry.link_target != null && <Fact name="Leads to"><Name text={entry.link_target} isRaw={entry.link_target_raw !== undefined} /></Fact>}
      <Fact name="Size">{formatSize(size)} ({formatCount(size)} {size === 1 ? 'byte' : 'bytes'}), {formatSize(512 * toNumber(entry.blocks))} on disk</Fact>
      <Fact name="Modified">{time(entry.mtime)}</Fact>
      <Fact name="Read">{time(entry.atime)}</Fact>
      <Fact name="Changed">{time(entry.ctime)}</Fact>
      <Fact name="Created">{time(entry.btime)}</Fact>
      <Fact name="Owner"><Name text={entry.user ?? `user ${entry.uid ?? '?'}`} /> ({entry.uid})</Fact>
      <Fact name="Group"><Name text={entry.group ?? `group ${entry.gid ?? '?'}`} /> ({entry.gid})</Fact>
      <Fact name="Mode"><code>{modeText(entry)}</code> ({entry.permissions})</Fact>
      <Fact name="Names">{toNumber(entry.nlink) === 1 || entry.type === 'd' ? 'one' : `${formatCount(toNumber(entry.nlink))} (hard links)`}</Fact>
    </dl>
  );
}

interface PermissionsProps {
  readonly entry: Entry;
  readonly above: readonly Entry[];
  readonly isPartial: boolean;
}

function Permissions({ entry, above, isPartial }: PermissionsProps): JSX.Element {
  const who = readers(entry, above);
  return (
    <section>
      <h2>Permissions</h2>
      <ul class="sentences">{inWords(entry).map((sentence) => <li key={sentence}>{visible(sentence)}</li>)}</ul>
      <h2>Who may read it</h2>
      {entry.type !== 'l' && <p>{visible(who.itself)}{who.limits.length > 0 ? ', as far as the directories above let them pass:' : '.'}</p>}
      <ul class="sentences">
        {who.limits.map(({ entry: directory, sentence }) => (
          <li key={directory.path}>{visible(sentence)} <a href={link('file', placeParameters([directory.path_raw === undefined ? { path: directory.path } : { path: directory.path, raw: directory.path_raw }]))}><Name text={directory.path} isRaw={directory.path_raw !== undefined} /></a>.</li>
        ))}
      </ul>
      {who.limits.length === 0 && !isPartial && entry.type !== 'l' && <p>Everyone may pass the directories above it.</p>}
      {isPartial && <p class="warning">Some directories above it could not be looked at, and may let fewer people pass.</p>}
      <p class="hint">The administrator (root) may always. Permissions are those of the index’s time.</p>
    </section>
  );
}

const STATES: Readonly<Record<string, string>> = {
  present: 'there', same: 'unchanged', changed: 'changed', absent: 'not there', unknown: 'not visible to you',
};

interface HistoryProps {
  readonly rows: readonly State[];
  readonly problem: string | undefined;
  readonly isLoading: boolean;
}

function History({ rows, problem, isLoading }: HistoryProps): JSX.Element {
  return (
    <section>
      <h2>History</h2>
      {problem !== undefined && <p class="hint">{visible(problem)}</p>}
      {rows.length === 0 && problem === undefined && <p class="hint">{isLoading ? 'Loading …' : 'No snapshot has it.'}</p>}
      {rows.length > 0 && (
        <table class="plain">
          <thead><tr><th scope="col">Snapshot</th><th scope="col">State</th><th scope="col" class="number">Size</th></tr></thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.snapshot}>
                <td>{formatTime(parseTime(row.started))}</td>
                <td>{STATES[row.state] ?? visible(row.state)}{row.changed.length > 0 && `: ${visible(row.changed.join(', '))}`}</td>
                <td class="number">{row.entry == null ? '–' : formatSize(toNumber(row.entry.size))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
