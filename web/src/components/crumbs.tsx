/** The way from the root to a place, each step a link. */

import type { JSX } from 'preact';
import type { Place } from '../lib/api-types.ts';
import { chain } from '../lib/places.ts';
import { baseName } from '../lib/text.ts';
import { Name } from './name.tsx';

interface Props {
  readonly place: Place;
  /** Returns the address of a step. */
  readonly to: (place: Place) => string;
}

export function Crumbs({ place, to }: Props): JSX.Element {
  const steps = chain(place);
  return (
    <nav class="crumbs" aria-label="Path">
      <ol>
        {steps.map((step, index) => {
          const name = <Name text={step.path === '/' ? '/' : baseName(step.path)} isRaw={step.raw !== undefined} />;
          const isLast = index === steps.length - 1;
          return <li key={step.raw ?? step.path}>{isLast ? <span aria-current="page">{name}</span> : <a href={to(step)}>{name}</a>}</li>;
        })}
      </ol>
    </nav>
  );
}
