/** A field for SQL with completion: Tab or Enter takes a proposal, Escape closes the list, Ctrl+Enter runs. */

import type { JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import type { Column } from '../lib/api-types.ts';
import { complete, type Proposal, wordAt } from '../lib/sql-complete.ts';

interface Props {
  readonly value: string;
  readonly schema: readonly Column[];
  readonly onInput: (sql: string) => void;
  readonly onRun: () => void;
}

export function SqlEditor({ value, schema, onInput, onRun }: Props): JSX.Element {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [proposals, setProposals] = useState<readonly Proposal[]>([]);
  const [chosen, setChosen] = useState(0);
  const isOpen = proposals.length > 0;

  const propose = (): void => {
    const element = area.current;
    setChosen(0);
    setProposals(element && element.selectionStart === element.selectionEnd ? complete(element.value, element.selectionStart, schema) : []);
  };
  const take = (proposal: Proposal): void => {
    const element = area.current;
    if (!element) return;
    const position = element.selectionStart;
    const { start } = wordAt(element.value, position);
    element.setRangeText(proposal.text, start, position, 'end');
    onInput(element.value);
    setProposals([]);
    element.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      setProposals([]);
      onRun();
      return;
    }
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault();
      propose();
      return;
    }
    if (!isOpen || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const proposal = proposals[chosen];
    if (event.key === 'ArrowDown') setChosen((chosen + 1) % proposals.length);
    else if (event.key === 'ArrowUp') setChosen((chosen + proposals.length - 1) % proposals.length);
    else if (event.key === 'Escape') setProposals([]);
    else if ((event.key === 'Tab' || event.key === 'Enter') && proposal) take(proposal);
    else return;
    event.preventDefault();
  };

  return (
    <div class="sql-editor">
      <label for={id}>SQL</label>
      <textarea
        ref={area} id={id} class="mono" rows={Math.min(16, Math.max(5, value.split('\n').length + 1))} value={value} spellcheck={false} autocapitalize="off" autocomplete="off"
        aria-autocomplete="list" aria-controls={`${id}-list`} aria-describedby={`${id}-hint`}
        {...(isOpen && { 'aria-activedescendant': `${id}-${chosen}` })}
        onInput={(event) => { onInput(event.currentTarget.value); propose(); }} onKeyDown={onKeyDown} onBlur={() => setProposals([])}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Proposals" class="proposals" hidden={!isOpen}>
        {proposals.map((proposal, index) => (
          <li key={proposal.text} id={`${id}-${index}`} role="option" aria-selected={index === chosen} onPointerDown={(event) => { event.preventDefault(); take(proposal); }}>
            <code>{proposal.text}</code> <span class="hint">{proposal.about}</span>
          </li>
        ))}
      </ul>
      <p id={`${id}-hint`} class="hint" role="status">
        {isOpen ? `${proposals.length} proposals: arrows choose, Tab takes one` : 'Ctrl+Enter runs, Ctrl+Space proposes. Only statements that read are allowed.'}
      </p>
    </div>
  );
}
