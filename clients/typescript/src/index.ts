/**
 * Client of the API of `trawl web` and `trawl serve --http`. It only asks. A question is cancelled by
 * aborting its request. All types come from `schema.d.ts`, which is generated from the description of the
 * API.
 */

import type { components, paths } from '../schema.d.ts';

/** Arguments, answers and rows by their names in the description. */
export type Schemas = components['schemas'];

/** What is posted to a path. */
type Posted<Path extends keyof paths> = paths[Path] extends {
  post: {
    requestBody: { content: { 'application/json': infer Arguments } };
    responses: { 200: { content: { 'application/json': infer Answer } } };
  };
}
  ? { arguments: Arguments; answer: Answer }
  : never;

/** Questions by their names. */
type Questions = {
  [Path in keyof paths as Path extends `/api/v1/${infer Name}`
    ? [Posted<Path>] extends [never] ? never : Exclude<Name, 'session'>
    : never]: Posted<Path>;
};

/** The name of a question. */
export type Question = keyof Questions;

/** The name of a question that is answered with rows. */
export type Paged = { [Name in Question]: Answer<Name> extends Page<unknown> ? Name : never }[Question];

/** The name of a question whose whole answer can be downloaded. */
export type Whole = { [Name in Question]: Questions[Name]['arguments'] extends { format?: unknown } ? Name : never }[Question];

/** The arguments of a question. */
export type Arguments<Name extends Question> = Omit<Questions[Name]['arguments'], keyof Schemas['Format']>;

/** The answer to a question, or one page of it. */
export type Answer<Name extends Question> = Questions[Name]['answer'];

/** A page with rows of a type. */
export type Page<Row> = Schemas['Page'] & { readonly rows: readonly Row[] };

/** A row of the answer to a question. */
export type Row<Name extends Paged> = Answer<Name> extends Page<infer Row> ? Row : never;

/** Formats of a whole answer. */
export type Format<Name extends Whole> = Exclude<Questions[Name]['arguments'] extends { format?: infer Formats } ? Formats : never, 'json' | undefined>;

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
    this.name = 'Problem';
  }
}

/** The rows were all that could be found, and something is missing. */
export class Incomplete extends Error {
  constructor(
    /** The last page, whose `reason` and `issues` say what is missing. */
    readonly page: Schemas['Page'],
  ) {
    super([page.reason ?? 'the answer is not complete', ...page.issues].join('\n'));
    this.name = 'Incomplete';
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => undefined);
  const { title, detail } = (typeof body === 'object' && body !== null ? body : {}) as Partial<Record<'title' | 'detail', unknown>>;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const wait = response.headers.get('Retry-After') ?? '';
  return new Problem(response.status, text(title) || `Error ${response.status}`, text(detail), /^\d{1,9}$/.test(wait) ? Number(wait) : undefined);
}

/** A server. */
export class Client {
  /**
   * @param base address of the server, such as `http://127.0.0.1:8300`; empty for that of the page
   * @param secret a token or a session
   */
  constructor(
    readonly base: string,
    private secret?: string | undefined,
  ) {}

  /** Returns a client with the session that a one-time link gives. */
  static async fromLink(link: string): Promise<Client> {
    const { origin, hash } = new URL(link);
    const client = new Client(origin);
    await client.login({ token: new URLSearchParams(hash.slice(1)).get('token') ?? '' });
    return client;
  }

  /** Begins a session: with a user's password, with a token, or with the secret of a link. */
  async login(credentials: Schemas['Credentials']): Promise<Schemas['Session']> {
    const session = await this.json<Schemas['Session']>('session', { method: 'POST', ...jsonOf(credentials) });
    this.secret = session.session;
    return session;
  }

  /** Ends the session. */
  async logout(): Promise<void> {
    await this.request('session', { method: 'DELETE' });
    this.secret = undefined;
  }

  /** Returns the ways to log in. */
  ways(signal?: AbortSignal): Promise<Schemas['Ways']> {
    return this.json('login', { signal: signal ?? null });
  }

  /** Returns where the user logs in at the provider of OpenID Connect; `hash` is that of a secret. */
  beginOpenId(hash: string): Promise<Schemas['Address']> {
    return this.json('login', { method: 'POST', ...jsonOf({ hash }) });
  }

  /** Says as whom the server answers. */
  me(signal?: AbortSignal): Promise<Schemas['Me']> {
    return this.json('me', { signal: signal ?? null });
  }

  /**
   * Asks a question, and returns its answer or the first page of it.
   *
   * @throws Problem if it is refused or fails, and an `AbortError` if it is cancelled
   */
  ask<Name extends Question>(name: Name, values: Arguments<Name>, signal?: AbortSignal): Promise<Answer<Name>> {
    return this.json(name, { method: 'POST', signal: signal ?? null, ...jsonOf(values) });
  }

  /** Continues an answer with a cursor, which holds once. */
  more<Row>(cursor: string, limit?: number, signal?: AbortSignal): Promise<Page<Row>> {
    return this.ask('more', { cursor, ...(limit !== undefined && { limit }) }, signal) as Promise<Page<Row>>;
  }

  /** Drops the rest of an answer, which frees what it holds at the server. */
  async drop(cursor: string): Promise<void> {
    await this.request(`more?${new URLSearchParams({ cursor })}`, { method: 'DELETE', keepalive: true });
  }

  /**
   * Asks a question, and gives the rows of all pages.
   *
   * @throws Incomplete behind the last row, if something is missing
   */
  async *rows<Name extends Paged>(name: Name, values: Arguments<Name>, signal?: AbortSignal): AsyncGenerator<Row<Name>, void, undefined> {
    let page = (await this.ask(name, values, signal)) as Page<Row<Name>>;
    let open = page.cursor;
    try {
      yield* page.rows;
      while (open !== undefined) {
        const cursor: string = open;
        open = undefined;
        page = await this.more<Row<Name>>(cursor, undefined, signal);
        open = page.cursor;
        yield* page.rows;
      }
    } finally {
      if (open !== undefined) await this.drop(open).catch(() => undefined);
    }
    if (!page.complete) throw new Incomplete(page);
  }

  /** Asks for a whole answer. Reading the response fails if something is missing, unless `partial` is true. */
  download<Name extends Whole>(name: Name, values: Arguments<Name>, format: Format<Name>, wishes: Omit<Schemas['Format'], 'format'> = {}): Promise<Response> {
    return this.request(name, { method: 'POST', ...jsonOf({ ...values, ...wishes, format }) });
  }

  /** Returns the token or session that the next request names. */
  protected secretOf(): string | undefined {
    return this.secret;
  }

  /** Sends a request. */
  protected send(url: string, init: RequestInit): Promise<Response> {
    return fetch(url, init);
  }

  private async request(path: string, init: RequestInit): Promise<Response> {
    const secret = this.secretOf();
    const headers = { ...(secret !== undefined && { Authorization: `Bearer ${secret}` }), ...(init.headers as Record<string, string> | undefined) };
    let response: Response;
    try {
      response = await this.send(`${this.base}/api/v1/${path}`, { cache: 'no-store', credentials: 'same-origin', ...init, headers });
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      throw new Problem(0, 'Trawl does not answer', 'Is the server still running?');
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  private async json<Body>(path: string, init: RequestInit): Promise<Body> {
    return (await (await this.request(path, init)).json()) as Body;
  }
}

function jsonOf(value: unknown): Pick<RequestInit, 'body' | 'headers'> {
  return { body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } };
}
