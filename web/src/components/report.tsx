/** The frame of a report about a directory: its heading, its place, further controls, its answer. */

import type { ComponentChildren, JSX } from 'preact';
import type { Asked } from '../hooks/use-answer.ts';
import type { Downloadable } from '../lib/api.ts';
import type { Place } from '../lib/api-types.ts';
import { AnswerBar } from './answer-bar.tsx';
import { Crumbs } from './crumbs.tsx';
import { PlaceField } from './place-field.tsx';
import { ProblemBox } from './problem.tsx';

interface Props {
  readonly title: string;
  readonly about?: ComponentChildren;
  readonly place: Place | undefined;
  /** Returns the address of the report about a place. */
  readonly to: (place: Place | undefined) => string;
  readonly onPlace: (place: Place | undefined) => void;
  readonly controls?: ComponentChildren;
  readonly asked: Asked<unknown>;
  readonly question: Downloadable | undefined;
  readonly children: ComponentChildren;
}

export function Report({ title, about, place, to, onPlace, controls, asked, question, children }: Props): JSX.Element {
  return (
    <>
      <h1>{title}</h1>
      {about !== undefined && <p class="about">{about}</p>}
      <div class="controls no-print">
        <PlaceField place={place} onChange={onPlace} />
        {controls}
      </div>
      {place !== undefined && <Crumbs place={place} to={to} />}
      <ProblemBox problem={asked.problem} />
      {question === undefined && <p class="hint">Nothing is indexed yet. Choose a directory.</p>}
      {asked.isLoading && asked.rows.length === 0 && asked.problem === undefined && <p class="hint" role="status">Loading …</p>}
      {children}
      {question !== undefined && <AnswerBar asked={asked} question={question} places={place === undefined ? [] : [place]} />}
    </>
  );
}
