/** The client of the API, against a fetch that is replaced. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { ask, downloadUrl, drop, isAbort, parameters, Problem } from '../src/lib/api.ts';

const real = globalThis.fetch;
const calls: { url: string; init: RequestInit }[] = [];

function answer(status: number, body: unknown): void {
  calls.length = 0;
  globalThis.fetch = (url, init = {}) => {
    calls.push({ url: String(url), init });
    init.signal?.throwIfAborted();
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  };
}

afterEach(() => {
  globalThis.fetch = real;
});

test('arguments are parameters; lists are repeated, undefined is left out', () => {
  assert.equal(parameters({ paths: ['/a b', '/c&d'], follow: true, limit: 5, at: undefined }).toString(), 'paths=%2Fa+b&paths=%2Fc%26d&follow=true&limit=5');
});

test('a question is a GET, and a long one a POST', async () => {
  answer(200, { rows: [], complete: true, issues: [] });
  await ask('find', { paths: ['/a'] });
  assert.equal(calls[0]?.url, '/api/v1/find?paths=%2Fa');
  assert.equal(calls[0]?.init.method, undefined);
  await ask('sql', { query: 'x'.repeat(5000), at: undefined });
  assert.equal(calls[1]?.init.method, 'POST');
  assert.deepEqual(JSON.parse(String(calls[1]?.init.body)), { query: 'x'.repeat(5000) });
});

test('no request carries what the browser knows of other sites', async () => {
  answer(200, { rows: [], complete: true, issues: [] });
  await ask('find', {});
  drop('x');
  assert.deepEqual(calls.map(({ init }) => [init.credentials, init.cache]), [['same-origin', 'no-store'], ['same-origin', undefined]]);
});

test('a problem has its title and detail', async () => {
  answer(400, { type: 'about:blank', title: 'Refused', status: 400, detail: '‘-delete’: not allowed' });
  await assert.rejects(ask('find', {}), (error: unknown) => error instanceof Problem && error.status === 400 && error.detail === '‘-delete’: not allowed');
  answer(401, {});
  await assert.rejects(ask('find', {}), (error: unknown) => error instanceof Problem && error.needsLogin);
});

test('a server that is gone is a problem, and a cancelled question is not', async () => {
  globalThis.fetch = () => Promise.reject(new TypeError('fetch failed'));
  await assert.rejects(ask('find', {}), (error: unknown) => error instanceof Problem && error.status === 0);
  const abort = new AbortController();
  abort.abort();
  answer(200, {});
  await assert.rejects(ask('find', {}, abort.signal), isAbort);
});

test('a download has no limit and names its format', () => {
  assert.equal(downloadUrl('find', { paths: ['/a'], limit: 200 }, 'csv'), '/api/v1/find?paths=%2Fa&spreadsheet=true&format=csv');
  assert.equal(downloadUrl('find', { paths: ['/a'], limit: 200 }, 'arrow'), '/api/v1/find?paths=%2Fa&format=arrow');
});

test('the rest of an answer is dropped', () => {
  answer(200, {});
  drop(undefined);
  assert.equal(calls.length, 0);
  drop('a&b');
  assert.equal(calls[0]?.url, '/api/v1/more?cursor=a%26b');
  assert.equal(calls[0]?.init.method, 'DELETE');
});
