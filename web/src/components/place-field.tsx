/** A field for a directory, with the indexed trees as suggestions. */

import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { useWorld } from '../hooks/context.ts';
import type { Place } from '../lib/api-types.ts';
import { visible } from '../lib/text.ts';

interface Props {
  readonly label?: string;
  readonly place: Place | undefined;
  /** Called with undefined for everywhere. */
  readonly onChange: (place: Place | undefined) => void;
  readonly placeholder?: string;
}

export function PlaceField({ label = 'Directory', place, onChange, placeholder = 'all indexed trees' }: Props): JSX.Element {
  const { roots } = useWorld();
  const id = useId();
  const [text, setText] = useState(place?.path ?? '');
  const [fault, setFault] = useState('');
  useEffect(() => setText(place?.path ?? ''), [place?.path, place?.raw]);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text === place?.path) return;
    const isAbsolute = text === '' || text.startsWith('/');
    setFault(isAbsolute ? '' : 'A path begins with /');
    if (isAbsolute) onChange(text === '' ? undefined : { path: text.length > 1 ? text.replace(/\/+$/, '') || '/' : text });
  };
  return (
    <form class="place-field" onSubmit={submit}>
      <label for={id}>{label}</label>
      <input
        id={id} type="text" list={`${id}-roots`} value={text} placeholder={placeholder} autocomplete="off" spellcheck={false} dir="auto"
        aria-invalid={fault !== ''} aria-describedby={`${id}-fault`}
        onInput={(event) => setText(event.currentTarget.value)} onChange={submit}
      />
      <datalist id={`${id}-roots`}>
        {roots.filter((root) => root.raw === undefined).map((root) => <option key={root.path} value={root.path}>{visible(root.path)}</option>)}
      </datalist>
      <span id={`${id}-fault`} class="fault" role="status">{fault}</span>
    </form>
  );
}
