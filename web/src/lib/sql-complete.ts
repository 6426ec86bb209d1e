/** Completion of SQL: tables, columns, functions and keywords that fit the word at the cursor. */

import type { Column } from './api-types.ts';

/** A proposal. */
export interface Proposal {
  readonly text: string;
  /** What it is: `table`, `column of entries`, `keyword`, … */
  readonly about: string;
}

const KEYWORDS = [
  'SELECT', 'DISTINCT', 'FROM', 'WHERE', 'GROUP BY', 'ORDER BY', 'HAVING', 'LIMIT', 'OFFSET', 'JOIN', 'LEFT JOIN', 'ON', 'USING', 'AS',
  'AND', 'OR', 'NOT', 'IN', 'LIKE', 'ILIKE', 'BETWEEN', 'IS NULL', 'IS NOT NULL', 'CASE', 'WHEN', 'THEN', 'ELSE', 'END', 'UNION ALL',
  'WITH', 'DESC', 'ASC', 'INTERVAL', 'CAST', 'EXPLAIN', 'OVER', 'PARTITION BY',
];
const FUNCTIONS = [
  'count', 'sum', 'min', 'max', 'avg', 'ext', 'depth', 'under', 'glob', 'user_name', 'group_name', 'mode_text', 'human_size', 'size_bucket',
  'age', 'keyword', 'phrase', 'attr', 'attribute', 'score', 'now', 'coalesce', 'split_part', 'substr', 'strpos', 'length', 'lower',
  'upper', 'date_trunc', 'round', 'starts_with',
];

/** The word before a position: where it begins, and its text. */
export function wordAt(sql: string, position: number): { readonly start: number; readonly word: string } {
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(sql.slice(0, position))?.[0] ?? '';
  return { start: position - word.length, word };
}

/** Whether a position lies in a text or a comment. */
function isInText(sql: string, position: number): boolean {
  const before = sql.slice(0, position).replace(/--[^\n]*\n/g, '\n').replace(/'(?:[^']|'')*'/g, '');
  return before.includes("'") || /--[^\n]*$/.test(before);
}

/** Returns the table that a name before a dot means, by its alias or itself. */
function tableOf(sql: string, name: string, tables: ReadonlySet<string>): string | undefined {
  if (tables.has(name)) return name;
  for (const match of sql.matchAll(/\b(?:from|join|,)\s+([a-z_]+)\s+(?:as\s+)?([a-z_]+)/gi)) {
    if (match[2]?.toLowerCase() === name && match[1] !== undefined && tables.has(match[1].toLowerCase())) return match[1].toLowerCase();
  }
  return undefined;
}

/** Tables that a statement names. */
function used(sql: string, tables: ReadonlySet<string>): Set<string> {
  const words = sql.toLowerCase().match(/[a-z_]+/g) ?? [];
  return new Set(words.filter((word) => tables.has(word)));
}

/** Returns the proposals for a position, best first. */
export function complete(sql: string, position: number, schema: readonly Column[], most = 12): Proposal[] {
  if (isInText(sql, position)) return [];
  const { start, word } = wordAt(sql, position);
  const tables = new Set(schema.map((column) => column.table));
  const before = sql.slice(0, start);
  const qualifier = /([A-Za-z_][A-Za-z0-9_]*)\.$/.exec(before)?.[1]?.toLowerCase();
  if (qualifier === undefined && word === '') {
    if (!/\b(from|join)\s+$/i.test(before)) return [];
    return [...tables].slice(0, most).map((text) => ({ text, about: 'table' }));
  }
  const wanted = word.toLowerCase();
  const columns = (of: ReadonlySet<string>): Proposal[] => {
    const found = new Map<string, Proposal>();
    for (const { table, column, type } of schema) {
      if (of.has(table) && !found.has(column)) found.set(column, { text: column, about: `column of ${table}, ${type}` });
    }
    return [...found.values()];
  };
  const all: Proposal[] = [];
  if (qualifier !== undefined) {
    const table = tableOf(sql, qualifier, tables);
    all.push(...columns(new Set(table === undefined ? [] : [table])));
  } else if (/\b(from|join)\s+$/i.test(before)) {
    all.push(...[...tables].map((text) => ({ text, about: 'table' })));
  } else {
    const known = used(sql, tables);
    all.push(...columns(known.size > 0 ? known : new Set(['entries'])));
    all.push(...FUNCTIONS.map((text) => ({ text: `${text}(`, about: 'function' })));
    all.push(...[...tables].map((text) => ({ text, about: 'table' })));
    all.push(...KEYWORDS.map((text) => ({ text, about: 'keyword' })));
  }
  const fits = all.filter(({ text }) => text.toLowerCase().startsWith(wanted) && text.toLowerCase() !== wanted);
  return fits.slice(0, most);
}
