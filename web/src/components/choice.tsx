/** A choice among a few values. */

import type { JSX } from 'preact';
import { useId } from 'preact/hooks';

interface Props {
  readonly label: string;
  readonly value: string;
  /** Values and their names. */
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: Props): JSX.Element {
  const id = useId();
  return (
    <span class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([one, name]) => <option key={one} value={one}>{name}</option>)}
      </select>
    </span>
  );
}
