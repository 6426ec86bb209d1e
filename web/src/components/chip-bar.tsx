/** The chips of a search: path, type, size, age, owner, group, extension. */

import type { JSX } from 'preact';
import { formatType, plural } from '../lib/format.ts';
import type { Search } from '../lib/search-state.ts';
import { parseSize, sizeInWords } from '../lib/sizes.ts';
import { visible } from '../lib/text.ts';
import { Chip, PanelField } from './chip.tsx';

interface Props {
  readonly search: Search;
  readonly onChange: (change: Partial<Search>) => void;
}

const TYPES = ['f', 'd', 'l', 'p', 's', 'b', 'c'] as const;
const SIZES = ['1M', '10M', '100M', '1G', '10G'] as const;
const DAYS = [1, 7, 30, 90, 365, 730] as const;
const VERBS: Readonly<Record<string, readonly [string, string]>> = {
  m: ['modified in the last', 'not modified for'],
  a: ['read in the last', 'not read for'],
  c: ['changed in the last', 'not changed for'],
};

function days(count: number): string {
  return count % 365 === 0 ? plural(count / 365, 'year') : plural(count, 'day');
}

/** Returns an age in words. */
export function ageInWords(age: string): string {
  const [recent, old] = VERBS[age[0] ?? ''] ?? ['', ''];
  return `${age[1] === '-' ? recent : old} ${days(Number(age.slice(2)))}`;
}

function checkSize(text: string): string | undefined {
  return parseSize(text) === undefined ? 'Write a number and a unit, such as 100 MB' : undefined;
}

/** Extensions as typed: separated by commas or spaces, with or without a dot. */
function extensions(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).map((one) => one.replace(/^\*?\.?/, '')).filter((one) => one !== '' && !/[/*]/.test(one)))];
}

export function ChipBar({ search, onChange }: Props): JSX.Element {
  const place = search.places.map(({ path, raw }) => visible(path, raw !== undefined)).join(', ');
  const size = [search.larger && `over ${sizeInWords(search.larger)}`, search.smaller && `under ${sizeInWords(search.smaller)}`].filter(Boolean).join(', ');
  const pathFault = (text: string): string | undefined => (text.startsWith('/') ? undefined : 'A path begins with /');
  return (
    <div class="chips" role="group" aria-label="Filters">
      <Chip label="Path" value={place} onClear={() => onChange({ places: [] })}>
        {(close) => (
          <PanelField label="Directory" hint="/home/ann" value={search.places[0]?.path ?? ''} check={pathFault}
            onApply={(text) => { if (text !== search.places[0]?.path) onChange({ places: text === '' ? [] : [{ path: text.length > 1 ? text.replace(/\/+$/, '') || '/' : text }] }); close(); }} />
        )}
      </Chip>
      <Chip label="Type" value={search.types.map(formatType).join(', ')} onClear={() => onChange({ types: [] })}>
        {() => (
          <fieldset>
            <legend>Type</legend>
            {TYPES.map((type) => (
              <label key={type} class="check">
                <input type="checkbox" checked={search.types.includes(type)}
                  onChange={(event) => onChange({ types: event.currentTarget.checked ? [...search.types, type] : search.types.filter((one) => one !== type) })} />
                {formatType(type)}
              </label>
            ))}
          </fieldset>
        )}
      </Chip>
      <Chip label="Size" value={size} onClear={() => onChange({ larger: '', smaller: '' })}>
        {(close) => (
          <>
            <div class="choices" role="group" aria-label="Larger than">
              {SIZES.map((one) => <button type="button" key={one} class="button" aria-pressed={search.larger === one} onClick={() => { onChange({ larger: one }); close(); }}>over {sizeInWords(one)}</button>)}
            </div>
            <PanelField label="Larger than" hint="100 MB" value={search.larger} check={checkSize} onApply={(text) => onChange({ larger: parseSize(text) ?? '' })} />
            <PanelField label="Smaller than" hint="4 KB" value={search.smaller} check={checkSize} onApply={(text) => onChange({ smaller: parseSize(text) ?? '' })} />
          </>
        )}
      </Chip>
      <Chip label="Age" value={search.ages.map(ageInWords).join(', ')} onClear={() => onChange({ ages: [] })}>
        {(close) => <AgePanel onApply={(age) => { onChange({ ages: [...search.ages.filter((one) => one.slice(0, 2) !== age.slice(0, 2)), age] }); close(); }} />}
      </Chip>
      <Chip label="Owner" value={search.owner === '' ? '' : visible(search.owner)} onClear={() => onChange({ owner: '' })}>
        {(close) => <PanelField label="Name or number of the owner" value={search.owner} onApply={(owner) => { onChange({ owner }); close(); }} />}
      </Chip>
      <Chip label="Group" value={search.group === '' ? '' : visible(search.group)} onClear={() => onChange({ group: '' })}>
        {(close) => <PanelField label="Name or number of the group" value={search.group} onApply={(group) => { onChange({ group }); close(); }} />}
      </Chip>
      <Chip label="Extension" value={search.extensions.map((one) => `.${visible(one)}`).join(', ')} onClear={() => onChange({ extensions: [] })}>
        {(close) => <PanelField label="Extensions" hint="jpg, png" value={search.extensions.join(', ')} onApply={(text) => { onChange({ extensions: extensions(text) }); close(); }} />}
      </Chip>
      {search.rest.length > 0 && (
        <span class="chip set">
          <span class="chip-button">Also: <strong>{visible(search.rest.join(' '))}</strong></span>
          <button type="button" class="chip-clear" aria-label="Remove further tests" onClick={() => onChange({ rest: [] })}>×</button>
        </span>
      )}
    </div>
  );
}

function AgePanel({ onApply }: { readonly onApply: (age: string) => void }): JSX.Element {
  return (
    <div class="ages">
      {Object.entries(VERBS).filter(([letter]) => letter !== 'c').flatMap(([letter, [recent, old]]) =>
        ([['-', recent], ['+', old]] as const).map(([sign, verb]) => (
          <div class="choices" role="group" aria-label={verb} key={letter + sign}>
            <span>{verb}</span>
            {DAYS.map((count) => (
              <button type="button" class="button" key={count} aria-label={`${verb} ${days(count)}`} onClick={() => onApply(`${letter}${sign}${count}`)}>{days(count)}</button>
            ))}
          </div>
        )),
      )}
    </div>
  );
}
