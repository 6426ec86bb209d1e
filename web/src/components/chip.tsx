/** A chip: a filter as a button that opens a small panel, and a button that removes it. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

interface Props {
  readonly label: string;
  /** What is chosen; empty if nothing is. */
  readonly value: ComponentChildren;
  readonly onClear?: (() => void) | undefined;
  readonly children: (close: () => void) => ComponentChildren;
}

export function Chip({ label, value, onClear, children }: Props): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return undefined;
    root.current?.querySelector<HTMLElement>('.panel input, .panel button, .panel select')?.focus();
    const outside = (event: Event): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) !== true) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('focusin', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    };
  }, [isOpen]);
  const isSet = value !== '';
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopPropagation();
    close();
  };
  return (
    <div class={`chip ${isSet ? 'set' : ''}`} ref={root} onKeyDown={onKeyDown}>
      <button ref={button} type="button" class="chip-button" aria-expanded={isOpen} aria-controls={`${id}-panel`} onClick={() => setOpen(!isOpen)}>
        {label}
        {isSet && <>: <strong>{value}</strong></>}
        <span aria-hidden="true"> ▾</span>
      </button>
      {isSet && onClear !== undefined && (
        <button type="button" class="chip-clear" aria-label={`Remove ${label}`} onClick={() => { onClear(); button.current?.focus(); }}>×</button>
      )}
      <div id={`${id}-panel`} class="panel" hidden={!isOpen}>{isOpen && children(close)}</div>
    </div>
  );
}

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly hint?: string;
  /** Returns what is wrong with a text; undefined if nothing is. */
  readonly check?: (text: string) => string | undefined;
  readonly onApply: (text: string) => void;
}

/** A field of a panel: Enter or the button applies it. */
export function PanelField({ label, value, hint, check, onApply }: TextProps): JSX.Element {
  const id = useId();
  const [text, setText] = useState(value);
  const [fault, setFault] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    const wrong = text.trim() === '' ? undefined : check?.(text.trim());
    setFault(wrong ?? '');
    if (wrong === undefined) onApply(text.trim());
  };
  return (
    <form class="panel-field" onSubmit={submit}>
      <label for={id}>{label}</label>
      <span class="row-of">
        <input id={id} type="text" value={text} placeholder={hint ?? ''} autocomplete="off" spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} aria-invalid={fault !== ''} />
        <button type="submit" class="button">Apply</button>
      </span>
      {fault !== '' && <span class="fault" role="alert">{fault}</span>}
    </form>
  );
}
