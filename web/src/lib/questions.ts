/** Questions in SQL: some that come with the page, and those that the user saves in the browser. */

import { load, save } from './storage.ts';

export interface Question {
  readonly name: string;
  readonly sql: string;
}

export const EXAMPLES: readonly Question[] = [
  {
    name: 'Largest owners',
    sql: "SELECT coalesce(user_name(uid), CAST(uid AS VARCHAR)) AS owner,\n       count(*) AS files, sum(blocks) * 512 AS disk_bytes\nFROM entries\nWHERE type = 'f'\nGROUP BY 1\nORDER BY disk_bytes DESC\nLIMIT 20",
  },
  {
    name: 'Written in the last week, by owner',
    sql: "SELECT coalesce(user_name(uid), CAST(uid AS VARCHAR)) AS owner,\n       count(*) AS files, sum(size) AS bytes\nFROM entries\nWHERE type = 'f' AND mtime > now() - INTERVAL '7 days'\nGROUP BY 1\nORDER BY bytes DESC",
  },
  {
    name: 'Files of owners that no longer exist',
    sql: 'SELECT uid, count(*) AS entries, sum(size) AS bytes, min(path) AS for_example\nFROM entries\nWHERE user_name(uid) IS NULL\nGROUP BY uid\nORDER BY bytes DESC',
  },
  {
    name: 'Directories with many small files',
    sql: "SELECT dir, count(*) AS small_files\nFROM entries\nWHERE type = 'f' AND size < 4096\nGROUP BY dir\nORDER BY small_files DESC, dir\nLIMIT 20",
  },
  {
    name: 'Bytes by year of modification',
    sql: "SELECT CAST(date_part('year', mtime) AS BIGINT) AS modified, count(*) AS files, sum(size) AS bytes\nFROM entries\nWHERE type = 'f'\nGROUP BY 1\nORDER BY 1",
  },
  {
    name: 'What could not be read',
    sql: 'SELECT * FROM issues LIMIT 100',
  },
];

const KEY = 'questions';

function isQuestion(value: unknown): value is Question {
  if (typeof value !== 'object' || value === null) return false;
  const { name, sql } = value as Record<string, unknown>;
  return typeof name === 'string' && typeof sql === 'string';
}

/** Returns the saved questions. */
export function savedQuestions(): Question[] {
  const stored = load(KEY);
  return Array.isArray(stored) ? stored.filter(isQuestion) : [];
}

/** Saves a question; one of the same name is replaced. Returns all. */
export function saveQuestion(question: Question): Question[] {
  const all = [...savedQuestions().filter(({ name }) => name !== question.name), question].sort((left, right) => left.name.localeCompare(right.name));
  save(KEY, all);
  return all;
}

/** Removes a saved question. Returns the others. */
export function removeQuestion(name: string): Question[] {
  const all = savedQuestions().filter((question) => question.name !== name);
  save(KEY, all);
  return all;
}
