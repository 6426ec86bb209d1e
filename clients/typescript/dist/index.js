/**
 * Client of the API of `trawl web` and `trawl serve --http`. It only asks. A question is cancelled by
 * aborting its request. All types come from `schema.d.ts`, which is generated from the description of the
 * API.
 */
/** A question that was refused or failed, or a server that cannot be reached. */
export class Problem extends Error {
    status;
    title;
    detail;
    waitSeconds;
    constructor(
    /** HTTP status; 0 if there was no answer. */
    status, title, detail, 
    /** Seconds to wait before the next attempt, if the server says so. */
    waitSeconds) {
        super(detail === '' ? title : `${title}: ${detail}`);
        this.status = status;
        this.title = title;
        this.detail = detail;
        this.waitSeconds = waitSeconds;
        this.name = 'Problem';
    }
}
/** The rows were all that could be found, and something is missing. */
export class Incomplete extends Error {
    page;
    constructor(
    /** The last page, whose `reason` and `issues` say what is missing. */
    page) {
        super([page.reason ?? 'the answer is not complete', ...page.issues].join('\n'));
        this.page = page;
        this.name = 'Incomplete';
    }
}
async function problemOf(response) {
    const body = await response.json().catch(() => undefined);
    const { title, detail } = (typeof body === 'object' && body !== null ? body : {});
    const text = (value) => (typeof value === 'string' ? value : '');
    const wait = response.headers.get('Retry-After') ?? '';
    return new Problem(response.status, text(title) || `Error ${response.status}`, text(detail), /^\d{1,9}$/.test(wait) ? Number(wait) : undefined);
}
/** A server. */
export class Client {
    base;
    secret;
    /**
     * @param base address of the server, such as `http://127.0.0.1:8300`; empty for that of the page
     * @param secret a token or a session
     */
    constructor(base, secret) {
        this.base = base;
        this.secret = secret;
    }
    /** Returns a client with the session that a one-time link gives. */
    static async fromLink(link) {
        const { origin, hash } = new URL(link);
        const client = new Client(origin);
        await client.login({ token: new URLSearchParams(hash.slice(1)).get('token') ?? '' });
        return client;
    }
    /** Begins a session: with a user's password, with a token, or with the secret of a link. */
    async login(credentials) {
        const session = await this.json('session', { method: 'POST', ...jsonOf(credentials) });
        this.secret = session.session;
        return session;
    }
    /** Ends the session. */
    async logout() {
        await this.request('session', { method: 'DELETE' });
        this.secret = undefined;
    }
    /** Returns the ways to log in. */
    ways(signal) {
        return this.json('login', { signal: signal ?? null });
    }
    /** Returns where the user logs in at the provider of OpenID Connect; `hash` is that of a secret. */
    beginOpenId(hash) {
        return this.json('login', { method: 'POST', ...jsonOf({ hash }) });
    }
    /** Says as whom the server answers. */
    me(signal) {
        return this.json('me', { signal: signal ?? null });
    }
    /**
     * Asks a question, and returns its answer or the first page of it.
     *
     * @throws Problem if it is refused or fails, and an `AbortError` if it is cancelled
     */
    ask(name, values, signal) {
        return this.json(name, { method: 'POST', signal: signal ?? null, ...jsonOf(values) });
    }
    /** Continues an answer with a cursor, which holds once. */
    more(cursor, limit, signal) {
        return this.ask('more', { cursor, ...(limit !== undefined && { limit }) }, signal);
    }
    /** Drops the rest of an answer, which frees what it holds at the server. */
    async drop(cursor) {
        await this.request(`more?${new URLSearchParams({ cursor })}`, { method: 'DELETE', keepalive: true });
    }
    /**
     * Asks a question, and gives the rows of all pages.
     *
     * @throws Incomplete behind the last row, if something is missing
     */
    async *rows(name, values, signal) {
        let page = (await this.ask(name, values, signal));
        let open = page.cursor;
        try {
            yield* page.rows;
            while (open !== undefined) {
                const cursor = open;
                open = undefined;
                page = await this.more(cursor, undefined, signal);
                open = page.cursor;
                yield* page.rows;
            }
        }
        finally {
            if (open !== undefined)
                await this.drop(open).catch(() => undefined);
        }
        if (!page.complete)
            throw new Incomplete(page);
    }
    /** Asks for a whole answer. Reading the response fails if something is missing, unless `partial` is true. */
    download(name, values, format, wishes = {}) {
        return this.request(name, { method: 'POST', ...jsonOf({ ...values, ...wishes, format }) });
    }
    /** Returns the token or session that the next request names. */
    secretOf() {
        return this.secret;
    }
    /** Sends a request. */
    send(url, init) {
        return fetch(url, init);
    }
    async request(path, init) {
        const secret = this.secretOf();
        const headers = { ...(secret !== undefined && { Authorization: `Bearer ${secret}` }), ...init.headers };
        let response;
        try {
            response = await this.send(`${this.base}/api/v1/${path}`, { cache: 'no-store', credentials: 'same-origin', ...init, headers });
        }
        catch (error) {
            if (error instanceof DOMException && error.name === 'AbortError')
                throw error;
            throw new Problem(0, 'Trawl does not answer', 'Is the server still running?');
        }
        if (!response.ok)
            throw await problemOf(response);
        return response;
    }
    async json(path, init) {
        return (await (await this.request(path, init)).json());
    }
}
function jsonOf(value) {
    return { body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } };
}
