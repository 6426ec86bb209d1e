/** Sessions: the contract with the server, and the arithmetic of waiting. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Problem, server } from '../src/lib/api.ts';
import { login, loginWays, secondsLeft, spokenSeconds, waitText } from '../src/lib/login.ts';
import { currentSession, openSession, refuseSession, watchSession } from '../src/lib/session.ts';

const real = globalThis.fetch;
const calls: { url: string; init: RequestInit }[] = [];

function answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
  calls.length = 0;
  globalThis.fetch = (url, init = {}) => {
    calls.push({ url: String(url), init });
    return Promise.resolve(new Response(JSON.stringify(body), { status, headers }));
  };
}

/** Returns the problem of a login that fails. */
async function refusal(): Promise<Problem> {
  const error: unknown = await login({ token: 'x' }).then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof Problem);
  return error;
}

afterEach(() => {
  globalThis.fetch = real;
});

test('the server says its ways; unknown ones are left out', async () => {
  answer(200, { ways: ['token', 'password', 'telepathy', 7] });
  assert.deepEqual(await loginWays(), ['password', 'token']);
  assert.equal(calls[0]?.url, '/api/v1/login');
  answer(200, { ways: 'link' });
  assert.deepEqual(await loginWays(), []);
});

test('a server that cannot say its ways knows the link', async () => {
  for (const status of [401, 404]) {
    answer(status, { title: 'Not found' });
    assert.deepEqual(await loginWays(), ['link']);
  }
  answer(503, { title: 'Busy' });
  await assert.rejects(loginWays(), (error: unknown) => error instanceof Problem && error.status === 503);
});

test('a login sends what was typed, and begins a session', async () => {
  for (const credentials of [{ user: 'ada', password: ' p"\u00e4 ' }, { token: 't' }]) {
    const before = currentSession().begun;
    answer(200, { session: 'secret' });
    await login(credentials);
    assert.deepEqual([calls[0]?.url, calls[0]?.init.method], ['/api/v1/session', 'POST']);
    assert.deepEqual(JSON.parse(String(calls[0]?.init.body)), credentials);
    assert.deepEqual(currentSession(), { secret: 'secret', begun: before + 1, isRefused: false });
  }
});

test('a refused login is a problem, and begins nothing', async () => {
  const before = currentSession();
  answer(403, { title: 'Refused', detail: 'the password is wrong' });
  assert.equal((await refusal()).detail, 'the password is wrong');
  answer(200, { session: 7 });
  assert.equal((await refusal()).title, 'The server gave no session');
  assert.equal(currentSession(), before);
});

test('too many attempts say how long to wait', async () => {
  answer(429, {}, { 'Retry-After': '65' });
  assert.equal((await refusal()).waitSeconds, 65);
  for (const text of ['', '-1', '1.5', 'Wed, 21 Oct 2026 07:28:00 GMT', '9'.repeat(400)]) {
    answer(429, {}, { 'Retry-After': text });
    assert.equal((await refusal()).waitSeconds, undefined);
  }
});

test('a refused question ends its session, and no newer one', async () => {
  openSession('one');
  const seen: boolean[] = [];
  const stop = watchSession(({ isRefused }) => seen.push(isRefused));
  answer(401, {});
  await assert.rejects(server.ask('find', {}));
  assert.equal(currentSession().secret, undefined);
  await assert.rejects(server.ask('find', {}));
  openSession('two');
  refuseSession('one');
  assert.deepEqual([currentSession().secret, currentSession().isRefused], ['two', false]);
  stop();
  assert.deepEqual(seen, [true, false]);
});

test('seconds are rounded up, and never below zero', () => {
  assert.deepEqual([0, 1, 1000, 1001, 64_999].map((ms) => secondsLeft(ms, 0)), [0, 1, 1, 2, 65]);
  assert.equal(secondsLeft(1000, 5000), 0);
});

test('waits in words', () => {
  assert.deepEqual([0, 1, 59, 60, 61, 125, 3600].map(waitText), ['0 seconds', '1 second', '59 seconds', '1 minute', '1 minute 1 second', '2 minutes 5 seconds', '60 minutes']);
});

test('screen readers hear few steps, each of which is true when it is said', () => {
  const said: number[] = [];
  for (let left = 200; left > 0; left -= 1) {
    const spoken = spokenSeconds(left, 200);
    if (spoken !== said.at(-1)) {
      assert.equal(spoken, left);
      said.push(spoken);
    }
  }
  assert.deepEqual(said, [200, 180, 120, 60, 30, 10]);
  assert.equal(spokenSeconds(45, 45), 45);
});
