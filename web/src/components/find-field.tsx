/** The line of find that a search equals. It can be edited: Enter applies it. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useWorld } from '../hooks/context.ts';
import { lineOf, searchOfLine } from '../lib/find-line.ts';
import type { Search } from '../lib/search-state.ts';
import { CopyButton } from './answer-bar.tsx';

interface Props {
  readonly search: Search;
  readonly onChange: (search: Search) => void;
}

export function FindField({ search, onChange }: Props): JSX.Element {
  const { roots } = useWorld();
  const line = lineOf(search, roots);
  const [text, setText] = useState(line);
  const [fault, setFault] = useState('');
  useEffect(() => {
    setText(line);
    setFault('');
  }, [line]);
  const submit = (event: Event): void => {
    event.preventDefault();
    try {
      const found = searchOfLine(text);
      setFault('');
      const names = (places: Search['places']): string => places.map((place) => place.raw ?? place.path).join('\n');
      // All roots together are no choice of a path.
      onChange(names(found.places) === names(roots) ? { ...found, places: [] } : found);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form class="find-line" onSubmit={submit}>
      <label for="find-line">Command line</label>
      <span class="row-of">
        <input id="find-line" type="text" class="mono" value={text} autocomplete="off" autocapitalize="off" spellcheck={false}
          aria-invalid={fault !== ''} aria-describedby="find-fault" onInput={(event) => setText(event.currentTarget.value)} />
        {text !== line && <button type="submit" class="button primary">Apply</button>}
        <CopyButton text={() => text} label="Copy" />
      </span>
      <span id="find-fault" class="fault" role="status">{fault}</span>
    </form>
  );
}
