/** SQL: a statement with completion, saved questions, and the result as a table or chart. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { AnswerBar, CopyLine } from '../components/answer-bar.tsx';
import { Choice } from '../components/choice.tsx';
import { ProblemBox } from '../components/problem.tsx';
import { SqlEditor } from '../components/sql-editor.tsx';
import { SqlResult } from '../components/sql-result.tsx';
import { useAnswer } from '../hooks/use-answer.ts';
import type { Column } from '../lib/api-types.ts';
import { formatCount } from '../lib/format.ts';
import { EXAMPLES, type Question, removeQuestion, savedQuestions, saveQuestion } from '../lib/questions.ts';
import { link, navigate, type Parameters, type Route } from '../lib/router.ts';
import { join } from '../lib/shell.ts';

export function SqlView({ route }: { readonly route: Route }): JSX.Element {
  const query = route.query.get('q') ?? '';
  const [text, setText] = useState(query || (EXAMPLES[0]?.sql ?? ''));
  const [run, setRun] = useState(0);
  useEffect(() => {
    if (query !== '') setText(query);
  }, [query]);
  const schema = useAnswer('schema', {}, { limit: 1000 });
  const values = query === '' ? undefined : { query };
  const asked = useAnswer('sql', values, { limit: 1000 + (run % 2) });
  const isChart = route.query.get('as') === 'chart';
  const state = (change: Parameters): string =>
    link('sql', { q: query, as: isChart ? 'chart' : '', x: route.query.get('x') ?? '', y: route.query.get('y') ?? '', ...change });
  const start = (sql: string): void => {
    if (sql.trim() === '') return;
    setText(sql);
    if (sql === query) setRun(run + 1);
    else navigate(link('sql', { q: sql, as: isChart ? 'chart' : '' }));
  };
  return (
    <>
      <h1>Ask in SQL</h1>
      <div class="sql-layout">
        <div>
          <SqlEditor value={text} schema={schema.rows} onInput={setText} onRun={() => start(text)} />
          <div class="controls no-print">
            <button type="button" class="button primary" onClick={() => start(text)}>Run</button>
            <Choice label="Result as" value={isChart ? 'chart' : 'table'} options={[['table', 'Table'], ['chart', 'Chart']]} onChange={(as) => navigate(state({ as: as === 'chart' ? as : '' }))} />
          </div>
        </div>
        <Questions current={text} onChoose={start} />
      </div>
      <ProblemBox problem={asked.problem} />
      <p class="count" role="status">
        {asked.isLoading && asked.rows.length === 0 ? 'Running …' : asked.page !== undefined ? `${formatCount(asked.rows.length)} ${asked.rows.length === 1 ? 'row' : 'rows'}${asked.hasMore ? ' so far' : ''}` : ''}
      </p>
      {values && asked.page && !asked.isStale && (
        <SqlResult rows={asked.rows} version={asked.version} hasMore={asked.hasMore} loadMore={asked.loadMore} isChart={isChart}
          x={route.query.get('x') ?? ''} y={route.query.get('y') ?? ''} onAxes={(axes) => navigate(state(axes), 'replace')} />
      )}
      {values && (
        <AnswerBar asked={asked} question={{ name: 'sql', values }}>
          <details class="parquet">
            <summary class="button">Parquet</summary>
            <p>Run this where Trawl is:</p>
            <CopyLine text={join(['trawl', 'sql', '--format', 'parquet', '-o', 'result.parquet', '--', query])} />
          </details>
        </AnswerBar>
      )}
      <Tables schema={schema.rows} />
    </>
  );
}

interface QuestionsProps {
  readonly current: string;
  readonly onChoose: (sql: string) => void;
}

function Questions({ current, onChoose }: QuestionsProps): JSX.Element {
  const [saved, setSaved] = useState<readonly Question[]>(savedQuestions);
  const [name, setName] = useState('');
  const add = (event: Event): void => {
    event.preventDefault();
    if (name.trim() === '' || current.trim() === '') return;
    setSaved(saveQuestion({ name: name.trim(), sql: current }));
    setName('');
  };
  return (
    <section class="questions no-print">
      <h2>Questions</h2>
      <ul>
        {EXAMPLES.map((question) => <li key={question.name}><button type="button" class="link" onClick={() => onChoose(question.sql)}>{question.name}</button></li>)}
        {saved.map((question) => (
          <li key={`saved ${question.name}`}>
            <button type="button" class="link" onClick={() => onChoose(question.sql)}>{question.name}</button>
            <button type="button" class="chip-clear" aria-label={`Remove the question ${question.name}`} onClick={() => setSaved(removeQuestion(question.name))}>×</button>
          </li>
        ))}
      </ul>
      <form class="row-of" onSubmit={add}>
        <label for="question-name" class="hidden">Name of the question</label>
        <input id="question-name" type="text" value={name} placeholder="Name" onInput={(event) => setName(event.currentTarget.value)} />
        <button type="submit" class="button">Save</button>
      </form>
      <p class="hint">Saved in this browser.</p>
    </section>
  );
}

function Tables({ schema }: { readonly schema: readonly Column[] }): JSX.Element | null {
  const tables = [...new Set(schema.map((column) => column.table))];
  if (tables.length === 0) return null;
  return (
    <details class="tables no-print">
      <summary>Tables and columns</summary>
      {tables.map((table) => (
        <p key={table}><strong>{table}</strong>: {schema.filter((column) => column.table === table).map((column) => column.column).join(', ')}</p>
      ))}
    </details>
  );
}
