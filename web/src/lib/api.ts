/**
 * The client of the API with the session of this tab. Requests carry what the browser knows of this
 * site, because certificates and proxies may say who asks.
 */

import { type Arguments, Client, type Format, Problem, type Whole } from '../../../clients/typescript/src/index.ts';
import { currentSession, refuseSession } from './session.ts';

export { Problem };

class OwnServer extends Client {
  protected override secretOf(): string | undefined {
    return currentSession().secret;
  }

  protected override async send(url: string, init: RequestInit): Promise<Response> {
    const { secret } = currentSession();
    const response = await super.send(url, init);
    if (response.status === 401) refuseSession(secret);
    return response;
  }
}

/** The server of this page. */
export const server = new OwnServer('');

/** A question whose whole answer can be downloaded. */
export type Downloadable = { [Name in Whole]: { readonly name: Name; readonly values: Arguments<Name> } }[Whole];

/** Questions that are answered as CSV. */
type AsCsv = { [Name in Whole]: 'csv' extends Format<Name> ? Name : never }[Whole];

/** The others. */
const ONLY_JSON: Readonly<Record<Exclude<Whole, AsCsv>, true>> = { grep: true, sources: true, stat: true };

/** Questions that are answered as Parquet. */
type AsParquet = { [Name in Whole]: 'parquet' extends Format<Name> ? Name : never }[Whole];
const PARQUET: Readonly<Record<AsParquet, true>> = { schema: true, sql: true };

/** Returns the formats in which a question can be downloaded, with their names for people. */
export function formatsOf(name: Whole): readonly (readonly [Format<AsCsv>, string])[] {
  if (name in ONLY_JSON) return [['jsonl', 'Download JSON']];
  return [['csv', 'Download CSV'], ['arrow', 'Arrow'], ...(name in PARQUET ? [['parquet', 'Parquet'] as const] : [])];
}

/** Title of the problem of a download that ended early. */
const BROKEN_OFF = 'The download is not complete';

/** Returns whether a download ended early, because something is missing. */
export function isBrokenOff(error: unknown): boolean {
  return error instanceof Problem && error.title === BROKEN_OFF;
}

/** Returns what went wrong as a problem, whatever was thrown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, 'The page failed', error instanceof Error ? error.message : String(error));
}

/**
 * Asks for a whole answer in a format.
 *
 * @throws Problem, also if the answer ends early, because something could not be read
 */
export async function download({ name, values }: Downloadable, format: Format<AsCsv>, partial: boolean): Promise<Blob> {
  // A name that begins with = must be no formula of a spreadsheet.
  const wishes = { ...(partial && { partial }), ...(format === 'csv' && { spreadsheet: true }) };
  const response = await server.download(name as AsCsv, { ...values, limit: null } as Arguments<AsCsv>, format, wishes);
  try {
    return await response.blob();
  } catch {
    throw new Problem(0, BROKEN_OFF, 'Something could not be read, or Trawl was stopped.');
  }
}

/** Drops the rest of an answer, which frees what it holds at the server. Errors do not matter. */
export function drop(cursor: string | undefined): void {
  if (cursor !== undefined) server.drop(cursor).catch(() => undefined);
}

/** Returns whether an error only says that a question was cancelled. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
