/**
 * Client of the API. It only asks: every request is a GET or a POST of a question, or drops the rest
 * of an answer. A question is cancelled by aborting its request. Requests carry what the browser
 * knows of this site, because certificates and proxies may say who asks.
 */

import type { Answer, Argument, Arguments, Me } from './api-types.ts';
import { currentSession, refuseSession, sessionHeaders } from './session.ts';

/** Formats of a whole answer as a download. */
export type Format = 'csv' | 'jsonl' | 'arrow';

/** Questions whose commands write neither CSV nor Arrow. */
const ONLY_JSON: ReadonlySet<string> = new Set(['grep', 'sources', 'stat']);

/** Returns the formats in which a question can be downloaded, with their names for people. */
export function formatsOf(name: string): readonly (readonly [Format, string])[] {
  return ONLY_JSON.has(name) ? [['jsonl', 'Download JSON']] : [['csv', 'Download CSV'], ['arrow', 'Arrow']];
}

/** A question that was refused or failed, or a server that cannot be reached. */
export class Problem extends Error {
  constructor(
    /** HTTP status; 0 if there was no answer. */
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    /** Seconds to wait before the next attempt, if the server says so. */
    readonly waitSeconds?: number | undefined,
  ) {
    super(detail === '' ? title : `${title}: ${detail}`);
  }

  /** Whether a download ended early, because something is missing. */
  get isBrokenOff(): boolean {
    return this.title === BROKEN_OFF;
  }

  /** Whether the server does not know who asks. */
  get needsLogin(): boolean {
    return this.status === 401;
  }
}

const BASE = '/api/v1/';

/** Title of the problem of a download that ended early. */
const BROKEN_OFF = 'The download is not complete';

/** Longer addresses become a POST. */
const MAX_URL = 4000;

function entriesOf(values: Arguments): [string, Argument][] {
  return Object.entries(values).filter(([, value]) => value !== undefined);
}

/** Returns arguments as query parameters: lists are repeated. */
export function parameters(values: Arguments): URLSearchParams {
  const found = new URLSearchParams();
  for (const [name, value] of entriesOf(values)) {
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) {
      found.append(name, String(one));
    }
  }
  return found;
}

/** Returns the address of a question's whole answer in a format. */
export function downloadUrl(name: string, values: Arguments, format: Format): string {
  // A name that begins with = must be no formula of a spreadsheet.
  const query = parameters({ ...values, limit: undefined, spreadsheet: format === 'csv' ? true : undefined });
  query.set('format', format);
  return `${BASE}${name}?${query.toString()}`;
}

async function problemOf(response: Response): Promise<Problem> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    body = undefined;
  }
  const field = (key: string): string => {
    const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[key] : undefined;
    return typeof value === 'string' ? value : '';
  };
  const wait = response.headers.get('Retry-After') ?? '';
  return new Problem(response.status, field('title') || `Error ${response.status}`, field('detail'), /^\d{1,9}$/.test(wait) ? Number(wait) : undefined);
}

/** Returns what went wrong as a problem, whatever was thrown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, 'The page failed', error instanceof Error ? error.message : String(error));
}

async function responseOf(url: string, init: RequestInit): Promise<Response> {
  const { secret } = currentSession();
  let response: Response;
  try {
    const headers = { ...sessionHeaders(), ...(init.headers as Record<string, string> | undefined) };
    response = await fetch(url, { cache: 'no-store', ...init, credentials: 'same-origin', headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Problem(0, 'Trawl does not answer', 'Is the server still running?');
  }
  if (response.status === 401) refuseSession(secret);
  if (!response.ok) throw await problemOf(response);
  return response;
}

/**
 * Sends a request and returns the JSON of its answer.
 *
 * @throws Problem if the server refuses or does not answer
 */
export async function request<T>(url: string, init: RequestInit): Promise<T> {
  return (await (await responseOf(url, init)).json()) as T;
}

/**
 * Asks for a whole answer in a format.
 *
 * @throws Problem, also if the answer ends early, because something could not be read
 */
export async function download(name: string, values: Arguments, format: Format): Promise<Blob> {
  const response = await responseOf(downloadUrl(name, values, format), {});
  try {
    return await response.blob();
  } catch {
    throw new Problem(0, BROKEN_OFF, 'Something could not be read, or Trawl was stopped.');
  }
}

/**
 * Asks a question.
 *
 * @throws Problem if it is refused or fails, and an `AbortError` if it is cancelled
 */
export function ask<Row>(name: string, values: Arguments, signal?: AbortSignal): Promise<Answer<Row>> {
  const query = parameters(values).toString();
  const init: RequestInit = signal === undefined ? {} : { signal };
  if (query.length <= MAX_URL) return request(`${BASE}${name}${query === '' ? '' : `?${query}`}`, init);
  return request(`${BASE}${name}`, {
    ...init,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(Object.fromEntries(entriesOf(values))),
  });
}

/** Continues an answer. A cursor holds once. */
export function more<Row>(cursor: string, limit: number, signal?: AbortSignal): Promise<Answer<Row>> {
  return ask('more', { cursor, limit }, signal);
}

/** Drops the rest of an answer, which frees what it holds at the server. Errors do not matter. */
export function drop(cursor: string | undefined): void {
  if (cursor === undefined) return;
  const url = `${BASE}more?${parameters({ cursor }).toString()}`;
  fetch(url, { method: 'DELETE', credentials: 'same-origin', keepalive: true, headers: sessionHeaders() }).catch(() => undefined);
}

/** Asks who the user is. */
export function me(signal?: AbortSignal): Promise<Me> {
  return request(`${BASE}me`, signal === undefined ? {} : { signal });
}

/** Returns whether an error only says that a question was cancelled. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
