/**
 * Logging in at a provider of OpenID Connect. The tab keeps a secret, shows the server its hash, and
 * goes to the provider, which sends it back with a code. The page takes the code out of the address and
 * exchanges it, with the secret, for a session. Storage of a tab is read by this origin alone, so a code
 * that somebody else brings begins no session here; and nothing in an address says where to go next.
 */

import type { Schemas } from '../../../clients/typescript/src/index.ts';
import { Problem, server } from './api.ts';

/** Where the provider sends the browser back. */
const BACK = '/login/oidc';
const KEY = 'trawl.login';

/** What the server exchanges for a session. */
export type Returned = Schemas['Returned'];

let failure: Problem | undefined;

/** Returns why the login failed that this page was loaded for. */
export function providerFailure(): Problem | undefined {
  return failure;
}

export function noteProviderFailure(problem: Problem | undefined): void {
  failure = problem;
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Returns the hash of a secret: SHA-256, in base64url. */
export async function hashOf(secret: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret))));
}

/**
 * Goes to the provider.
 *
 * @throws Problem if the server refuses
 */
export async function goToProvider(): Promise<void> {
  const secret = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const { address } = await server.beginOpenId(await hashOf(secret));
  const target = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  if (target === undefined || !['https:', 'http:'].includes(target.protocol)) throw new Problem(0, 'The server gave no address', '');
  sessionStorage.setItem(KEY, JSON.stringify({ secret, to: location.pathname + location.search + location.hash }));
  location.assign(target);
}

/** Returns what this tab kept, and forgets it. */
function takeKept(): { readonly secret?: string; readonly to: string } {
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (text === null) return { to: '/' };
  const { secret, to } = JSON.parse(text) as { readonly secret: string; readonly to: string };
  return { secret, to: new URL(to, location.origin).origin === location.origin ? to : '/' };
}

/**
 * Takes what the provider sent back out of the address, which becomes the one where the login began.
 * Returns undefined if the page was loaded for something else.
 *
 * @throws Problem if the provider refused, or the login began elsewhere
 */
export function takeReturn(): Returned | undefined {
  if (location.pathname !== BACK) return undefined;
  const query = new URLSearchParams(location.search);
  const { secret, to } = takeKept();
  history.replaceState(null, '', to);
  const error = query.get('error');
  if (error !== null) {
    throw new Problem(0, 'The provider did not log you in', /^[a-z_]{1,64}$/.test(error) ? `It says: ${error}` : '');
  }
  const [code, state, issuer] = [query.get('code'), query.get('state'), query.get('iss')];
  if (secret === undefined || code === null || state === null) {
    throw new Problem(0, 'This login did not begin in this tab', 'Log in here.');
  }
  return { code, state, secret, ...(issuer === null ? {} : { issuer }) };
}
