/**
 * How a session begins and ends. `trawl web` gives one for a one-time link, whose address ends with
 * `#token=…`; a service, for a password, a token, or what a provider of OpenID Connect says. Other tabs of the page are asked for theirs, so
 * that links open in new tabs, and are given a new one if they wait for it.
 */

import type { Schemas } from '../../../clients/typescript/src/index.ts';
import { asProblem, Problem, server } from './api.ts';
import { plural } from './format.ts';
import { noteProviderFailure, takeReturn } from './provider.ts';
import { currentSession, forgetSession, openSession, storedSecret } from './session.ts';

/** A way to say who asks. With `proxy` and `certificate` the server knows it without a session. */
export type Way = Schemas['Ways']['ways'][number];

export type Credentials = Schemas['Credentials'];

const WAYS: Readonly<Record<Way, true>> = { link: true, password: true, oidc: true, token: true, proxy: true, certificate: true };

const CHANNEL = 'trawl.session';
/** Time that other tabs have for an answer, in milliseconds. */
const PATIENCE_MS = 250;

/** Seconds left at which screen readers say again how long to wait; above, each minute. */
const SPOKEN_S = [10, 30, 60];

let channel: BroadcastChannel | undefined;

export interface Offer {
  readonly ways: readonly Way[];
  /** The name of the provider of OpenID Connect. */
  readonly provider: string;
}

/** Returns the ways that the server offers. One that cannot say so knows the link alone. */
export async function loginOffer(signal?: AbortSignal): Promise<Offer> {
  try {
    const { ways, provider } = await server.ways(signal);
    const known = (Object.keys(WAYS) as Way[]).filter((way) => Array.isArray(ways) && ways.includes(way));
    return { ways: known, provider: typeof provider === 'string' ? provider : '' };
  } catch (error) {
    if (error instanceof Problem && (error.status === 401 || error.status === 404)) return { ways: ['link'], provider: '' };
    throw error;
  }
}

/** Returns only the ways. */
export async function loginWays(signal?: AbortSignal): Promise<readonly Way[]> {
  return (await loginOffer(signal)).ways;
}

async function exchange(credentials: Credentials): Promise<string> {
  const { session } = await server.login(credentials);
  if (typeof session !== 'string') throw new Problem(0, 'The server gave no session', '');
  return session;
}

/**
 * Begins a session, here and in tabs that wait for one.
 *
 * @throws Problem if the server refuses
 */
export async function login(credentials: Credentials): Promise<void> {
  const secret = await exchange(credentials);
  noteProviderFailure(undefined);
  openSession(secret);
  channel?.postMessage({ began: secret });
}

/** Takes the secret of a one-time link out of the address, so that it is not in the history. */
function takeLink(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined;
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

/**
 * Exchanges the secret of a link, if the server gives links. A service takes tokens, but not from a
 * link: whoever made it would have its reader ask as somebody else.
 */
async function exchangeLink(token: string): Promise<string | undefined> {
  return (await loginWays()).includes('link') ? exchange({ token }) : undefined;
}

/** Exchanges what a provider sent back with the address; undefined if there is nothing, or it is refused. */
async function exchangeReturn(): Promise<string | undefined> {
  try {
    const returned = takeReturn();
    return returned === undefined ? undefined : await exchange({ oidc: returned });
  } catch (error) {
    noteProviderFailure(asProblem(error));
    return undefined;
  }
}

function fieldOf(data: unknown, name: string): unknown {
  return typeof data === 'object' && data !== null ? (data as Record<string, unknown>)[name] : undefined;
}

/** Asks other tabs for their session; undefined if none answers. */
function fromOtherTab(tabs: BroadcastChannel): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
    tabs.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      const given = fieldOf(data, 'session');
      if (typeof given !== 'string') return;
      clearTimeout(timer);
      resolve(given);
    });
    tabs.postMessage({ wants: true });
  });
}

/** Begins the session: with the link, by a provider, from this tab, or from another one. Fails silently: questions say so. */
export async function beginSession(): Promise<void> {
  const tabs = new BroadcastChannel(CHANNEL);
  channel = tabs;
  tabs.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    const { secret, isRefused } = currentSession();
    if (fieldOf(data, 'wants') === true && secret !== undefined) tabs.postMessage({ session: secret });
    const began = fieldOf(data, 'began');
    if (typeof began === 'string' && isRefused) openSession(began);
  });
  const token = takeLink();
  const exchanged = token === undefined ? await exchangeReturn() : await exchangeLink(token).catch(() => undefined);
  if (exchanged !== undefined) tabs.postMessage({ began: exchanged });
  openSession(exchanged ?? storedSecret() ?? (await fromOtherTab(tabs)));
}

/** Ends the session at the server. */
export async function endSession(): Promise<void> {
  const ended = server.logout().catch(() => undefined);
  forgetSession();
  await ended;
}

/** Returns the seconds from now until a time; both in milliseconds. */
export function secondsLeft(until: number, now: number): number {
  return Math.max(0, Math.ceil((until - now) / 1000));
}

/** Returns a wait in words, such as `1 minute 5 seconds`. */
export function waitText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  return [...(minutes > 0 ? [plural(minutes, 'minute')] : []), ...(rest > 0 || minutes === 0 ? [plural(rest, 'second')] : [])].join(' ');
}

/** Returns the seconds that screen readers say: it changes at few steps, and is exact when it does. */
export function spokenSeconds(left: number, whole: number): number {
  return Math.min(whole, SPOKEN_S.find((step) => left <= step) ?? Math.ceil(left / 60) * 60);
}
