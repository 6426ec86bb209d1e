/**
 * What belongs to every answer: how old it is, what could not be read, the command line that it
 * equals, its link, its downloads, and printing.
 */

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useWorld } from '../hooks/context.ts';
import type { Asked } from '../hooks/use-answer.ts';
import { type Downloadable, formatsOf } from '../lib/api.ts';
import type { Place } from '../lib/api-types.ts';
import { formatAgo, formatCount, formatTime, parseTime, plural } from '../lib/format.ts';
import { isBelow } from '../lib/places.ts';
import { join, type Word } from '../lib/shell.ts';
import { visible } from '../lib/text.ts';
import { DownloadButton } from './download.tsx';
import { Name } from './name.tsx';

interface Props {
  readonly asked: Asked<unknown>;
  /** The question, for downloads; none without it. */
  readonly question?: Downloadable;
  /** What the answer is about; everything if empty. */
  readonly places?: readonly Place[];
  /** Whether the command line is shown elsewhere. */
  readonly hidesCommand?: boolean;
  readonly children?: ComponentChildren;
}

/** Options that only say how the server reads the command's output. */
const TECHNICAL = new Set(['--json', '--status']);

/** Returns a command for people to copy. */
export function commandLine(command: readonly string[], raw: readonly (string | null)[] = []): string {
  const words = command.map((text, at): Word => {
    const bytes = raw[at];
    return typeof bytes === 'string' ? { text, raw: bytes } : { text };
  });
  return join(words.filter(({ text }) => !TECHNICAL.has(text)));
}

export function AnswerBar({ asked, question, places = [], hidesCommand = false, children }: Props): JSX.Element {
  const command = asked.page?.command ?? [];
  return (
    <div class="answer-bar">
      <Freshness asked={asked} places={places} />
      <Issues asked={asked} places={places} />
      {command.length > 0 && !hidesCommand && (
        <details class="command">
          <summary>Command line</summary>
          <CopyLine text={commandLine(command, asked.page?.command_raw)} />
        </details>
      )}
      <div class="actions no-print">
        {children}
        <CopyButton text={() => location.href} label="Copy link" />
        {question !== undefined && formatsOf(question.name).map(([format, label]) => (
          <DownloadButton key={format} question={question} format={format} label={label} />
        ))}
        <button type="button" class="button" onClick={() => window.print()}>Print</button>
      </div>
    </div>
  );
}

/** As of when the answer is true. */
function Freshness({ asked, places }: { readonly asked: Asked<unknown>; readonly places: readonly Place[] }): JSX.Element | null {
  const { sources, now } = useWorld();
  const given = (asked.page?.as_of ?? []).map((part) => ({ place: part.place, time: parseTime(part.time) }));
  const concerned = sources.filter(
    ({ root }) => places.length === 0 || places.some(({ path }) => isBelow(path, root) || isBelow(root, path)),
  );
  const parts = given.length > 0 ? given : concerned.map((source) => ({ place: source.root, time: parseTime(source.started) }));
  const known = parts.filter((part) => part.time !== undefined);
  if (known.length === 0) return null;
  const oldest = Math.min(...known.map((part) => part.time ?? now));
  const list = known.map((part) => `${visible(part.place)}: ${formatTime(part.time)}`).join('\n');
  return (
    <span class="freshness" title={list}>
      As of <strong>{formatAgo(oldest, now)}</strong>
      {new Set(known.map((part) => part.place)).size > 1 && ' (the oldest part)'}
    </span>
  );
}

/** What could not be read. */
function Issues({ asked, places }: { readonly asked: Asked<unknown>; readonly places: readonly Place[] }): JSX.Element | null {
  const { sources } = useWorld();
  const said = asked.issues.filter((issue) => issue !== '');
  const count = said.length + asked.issuesLeftOut;
  if (count > 0) {
    return (
      <details class="issues">
        <summary>{plural(count, 'message')}: not everything could be read</summary>
        <ul>{said.map((issue) => <li><Name text={issue} /></li>)}</ul>
        {asked.issuesLeftOut > 0 && <p>{plural(asked.issuesLeftOut, 'further message')}</p>}
      </details>
    );
  }
  const unread = sources
    .filter(({ root }) => places.length === 0 || places.some(({ path }) => isBelow(path, root) || isBelow(root, path)))
    .reduce((sum, source) => sum + Number(source.issues), 0);
  if (unread > 0) return <span class="issues">{formatCount(unread)} {unread === 1 ? 'path' : 'paths'} could not be read when the index was made</span>;
  if (asked.page?.complete === true) return <span class="complete">Nothing is missing</span>;
  return null;
}

/** A line that can be copied. */
export function CopyLine({ text }: { readonly text: string }): JSX.Element {
  return (
    <span class="copy-line">
      <code>{text}</code>
      <CopyButton text={() => text} label="Copy" />
    </span>
  );
}

export function CopyButton({ text, label }: { readonly text: () => string; readonly label: string }): JSX.Element {
  const [said, setSaid] = useState('');
  const copy = (): void => {
    const copied = navigator.clipboard?.writeText(text()) ?? Promise.reject(new Error('no clipboard'));
    copied.then(() => setSaid('Copied'), () => setSaid('Not possible here'));
    setTimeout(() => setSaid(''), 2000);
  };
  return (
    <button type="button" class="button" onClick={copy}>
      <span aria-live="polite">{said === '' ? label : said}</span>
    </button>
  );
}
