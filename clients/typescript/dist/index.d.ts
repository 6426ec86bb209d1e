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
        requestBody: {
            content: {
                'application/json': infer Arguments;
            };
        };
        responses: {
            200: {
                content: {
                    'application/json': infer Answer;
                };
            };
        };
    };
} ? {
    arguments: Arguments;
    answer: Answer;
} : never;
/** Questions by their names. */
type Questions = {
    [Path in keyof paths as Path extends `/api/v1/${infer Name}` ? [Posted<Path>] extends [never] ? never : Exclude<Name, 'session'> : never]: Posted<Path>;
};
/** The name of a question. */
export type Question = keyof Questions;
/** The name of a question that is answered with rows. */
export type Paged = {
    [Name in Question]: Answer<Name> extends Page<unknown> ? Name : never;
}[Question];
/** The name of a question whose whole answer can be downloaded. */
export type Whole = {
    [Name in Question]: Questions[Name]['arguments'] extends {
        format?: unknown;
    } ? Name : never;
}[Question];
/** The arguments of a question. */
export type Arguments<Name extends Question> = Omit<Questions[Name]['arguments'], keyof Schemas['Format']>;
/** The answer to a question, or one page of it. */
export type Answer<Name extends Question> = Questions[Name]['answer'];
/** A page with rows of a type. */
export type Page<Row> = Schemas['Page'] & {
    readonly rows: readonly Row[];
};
/** A row of the answer to a question. */
export type Row<Name extends Paged> = Answer<Name> extends Page<infer Row> ? Row : never;
/** Formats of a whole answer. */
export type Format<Name extends Whole> = Exclude<Questions[Name]['arguments'] extends {
    format?: infer Formats;
} ? Formats : never, 'json' | undefined>;
/** A question that was refused or failed, or a server that cannot be reached. */
export declare class Problem extends Error {
    /** HTTP status; 0 if there was no answer. */
    readonly status: number;
    readonly title: string;
    readonly detail: string;
    /** Seconds to wait before the next attempt, if the server says so. */
    readonly waitSeconds?: number | undefined;
    constructor(
    /** HTTP status; 0 if there was no answer. */
    status: number, title: string, detail: string, 
    /** Seconds to wait before the next attempt, if the server says so. */
    waitSeconds?: number | undefined);
}
/** The rows were all that could be found, and something is missing. */
export declare class Incomplete extends Error {
    /** The last page, whose `reason` and `issues` say what is missing. */
    readonly page: Schemas['Page'];
    constructor(
    /** The last page, whose `reason` and `issues` say what is missing. */
    page: Schemas['Page']);
}
/** A server. */
export declare class Client {
    readonly base: string;
    private secret?;
    /**
     * @param base address of the server, such as `http://127.0.0.1:8300`; empty for that of the page
     * @param secret a token or a session
     */
    constructor(base: string, secret?: string | undefined);
    /** Returns a client with the session that a one-time link gives. */
    static fromLink(link: string): Promise<Client>;
    /** Begins a session: with a user's password, with a token, or with the secret of a link. */
    login(credentials: Schemas['Credentials']): Promise<Schemas['Session']>;
    /** Ends the session. */
    logout(): Promise<void>;
    /** Returns the ways to log in. */
    ways(signal?: AbortSignal): Promise<Schemas['Ways']>;
    /** Returns where the user logs in at the provider of OpenID Connect; `hash` is that of a secret. */
    beginOpenId(hash: string): Promise<Schemas['Address']>;
    /** Says as whom the server answers. */
    me(signal?: AbortSignal): Promise<Schemas['Me']>;
    /**
     * Asks a question, and returns its answer or the first page of it.
     *
     * @throws Problem if it is refused or fails, and an `AbortError` if it is cancelled
     */
    ask<Name extends Question>(name: Name, values: Arguments<Name>, signal?: AbortSignal): Promise<Answer<Name>>;
    /** Continues an answer with a cursor, which holds once. */
    more<Row>(cursor: string, limit?: number, signal?: AbortSignal): Promise<Page<Row>>;
    /** Drops the rest of an answer, which frees what it holds at the server. */
    drop(cursor: string): Promise<void>;
    /**
     * Asks a question, and gives the rows of all pages.
     *
     * @throws Incomplete behind the last row, if something is missing
     */
    rows<Name extends Paged>(name: Name, values: Arguments<Name>, signal?: AbortSignal): AsyncGenerator<Row<Name>, void, undefined>;
    /** Asks for a whole answer. Reading the response fails if something is missing, unless `partial` is true. */
    download<Name extends Whole>(name: Name, values: Arguments<Name>, format: Format<Name>, wishes?: Omit<Schemas['Format'], 'format'>): Promise<Response>;
    /** Returns the token or session that the next request names. */
    protected secretOf(): string | undefined;
    /** Sends a request. */
    protected send(url: string, init: RequestInit): Promise<Response>;
    private request;
    private json;
}
export {};
