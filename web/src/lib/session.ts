/**
 * The session: a secret that each request names in a header; there are no cookies. It is kept for this
 * tab. `login.ts` begins and ends it.
 */

const KEY = 'trawl.session';

export interface Session {
  /** The secret; undefined where the server knows without it who asks, and until somebody logs in. */
  readonly secret: string | undefined;
  /** Grows with each session: then every question is asked again. */
  readonly begun: number;
  /** Whether the server refused a question because it does not know who asks. */
  readonly isRefused: boolean;
}

let session: Session = { secret: undefined, begun: 0, isRefused: false };
const watchers = new Set<(session: Session) => void>();

function change(next: Session): void {
  session = next;
  try {
    if (next.secret === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, next.secret);
  } catch {
    // Without storage the session lasts until the page is loaded again.
  }
  for (const watcher of watchers) watcher(next);
}

/** Returns the secret that this tab kept when the page was loaded again. */
export function storedSecret(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

export function currentSession(): Session {
  return session;
}

/** Calls a function whenever the session changes. Returns a function that stops it. */
export function watchSession(watcher: (session: Session) => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Begins a session; without a secret where the server may know who asks. */
export function openSession(secret: string | undefined): void {
  change({ secret, begun: session.begun + 1, isRefused: false });
}

/** Forgets the secret. */
export function forgetSession(): void {
  change({ ...session, secret: undefined });
}

/** Notes that the server refused a question that named a secret. A newer session stays. */
export function refuseSession(secret: string | undefined): void {
  if (secret === session.secret && !session.isRefused) change({ ...session, secret: undefined, isRefused: true });
}

/** Returns the headers that name the session. */
export function sessionHeaders(): Record<string, string> {
  return session.secret === undefined ? {} : { Authorization: `Bearer ${session.secret}` };
}
