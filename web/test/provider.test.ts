/** Logging in at a provider: hashes, and what is taken out of the address. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Problem } from '../src/lib/api.ts';
import { hashOf, takeReturn } from '../src/lib/provider.ts';

const ORIGIN = 'https://files.test';
const kept = new Map<string, string>();
let shown = '';

/** Opens the page at an address, in a tab that has kept this. */
function open(address: string, keeps?: unknown): void {
  kept.clear();
  if (keeps !== undefined) kept.set('trawl.login', JSON.stringify(keeps));
  const { pathname, search } = new URL(address, ORIGIN);
  shown = address;
  Object.assign(globalThis, {
    location: { origin: ORIGIN, pathname, search },
    history: { replaceState: (_state: unknown, _title: string, to: string) => { shown = to; } },
    sessionStorage: { getItem: (key: string) => kept.get(key) ?? null, removeItem: (key: string) => kept.delete(key) },
  });
}

function refusal(): Problem {
  try {
    takeReturn();
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error;
  }
  return assert.fail('it is not refused');
}

beforeEach(() => kept.clear());

test('the hash is SHA-256 in base64url', async () => {
  // RFC 7636, appendix B.
  assert.equal(await hashOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'), 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
});

test('the code is taken out of the address, which becomes the one before', () => {
  open('/login/oidc?code=c&state=s&iss=i', { secret: 'x', to: '/space?path=%2Fsrv#a' });
  assert.deepEqual(takeReturn(), { code: 'c', state: 's', secret: 'x', issuer: 'i' });
  assert.equal(shown, '/space?path=%2Fsrv#a');
  assert.equal(kept.size, 0);
  open('/search?code=c&state=s', { secret: 'x', to: '/' });
  assert.equal(takeReturn(), undefined);
  assert.equal(kept.size, 1);
});

test('a login of another tab is refused, and nobody is sent elsewhere', () => {
  open('/login/oidc?code=c&state=s&to=//evil.test');
  assert.match(refusal().message, /did not begin in this tab/);
  assert.equal(shown, '/');
  for (const to of ['//evil.test/', 'https:evil', 'https:\\\\evil.test', 'javascript:x']) {
    open('/login/oidc?code=c&state=s', { secret: 'x', to });
    takeReturn();
    assert.equal(new URL(shown, ORIGIN).origin, ORIGIN, to);
  }
});

test('what the provider says is a word or nothing', () => {
  open('/login/oidc?error=access_denied&state=s', { secret: 'x', to: '/' });
  assert.match(refusal().detail, /access_denied/);
  open('/login/oidc?error=%3Cb%3Eaccess%20denied&state=s', { secret: 'x', to: '/' });
  assert.equal(refusal().detail, '');
});
