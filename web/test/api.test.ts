/** The client of the API, against a fetch that is replaced. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { download, drop, formatsOf, isAbort, isBrokenOff, Problem, server } from '../src/lib/api.ts';

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

test('a question is a POST of its arguments', async () => {
  answer(200, { rows: [], complete: true, issues: [] });
  await server.ask('find', { paths: ['/a'], limit: 5 });
  assert.deepEqual([calls[0]?.url, calls[0]?.init.method], ['/api/v1/find', 'POST']);
  assert.deepEqual(JSON.parse(String(calls[0]?.init.body)), { paths: ['/a'], limit: 5 });
});

test('no request carries what the browser knows of other sites', async () => {
  answer(200, { rows: [], complete: true, issues: [] });
  await server.ask('find', {});
  drop('x');
  assert.deepEqual(calls.map(({ init }) => [init.credentials, init.cache]), Array(2).fill(['same-origin', 'no-store']));
});

test('a problem has its title and detail', async () => {
  answer(400, { type: 'about:blank', title: 'Refused', status: 400, detail: '‘-delete’: not allowed' });
  await assert.rejects(server.ask('find', {}), (error: unknown) => error instanceof Problem && error.status === 400 && error.detail === '‘-delete’: not allowed');
  answer(401, {});
  await assert.rejects(server.ask('find', {}), (error: unknown) => error instanceof Problem && error.status === 401);
});

test('a server that is gone is a problem, and a cancelled question is not', async () => {
  globalThis.fetch = () => Promise.reject(new TypeError('fetch failed'));
  await assert.rejects(server.ask('find', {}), (error: unknown) => error instanceof Problem && error.status === 0);
  const abort = new AbortController();
  abort.abort();
  answer(200, {});
  await assert.rejects(server.ask('find', {}, abort.signal), isAbort);
});

test('a download has no limit and names its format', async () => {
  answer(200, {});
  for (const [format, partial] of [['csv', false], ['arrow', true]] as const) {
    await download({ name: 'find', values: { paths: ['/a'], limit: 200 } }, format, partial);
  }
  assert.deepEqual(calls.map(({ init }) => JSON.parse(String(init.body)) as unknown), [
    { paths: ['/a'], limit: null, spreadsheet: true, format: 'csv' },
    { paths: ['/a'], limit: null, partial: true, format: 'arrow' },
  ]);
});

test('a download that ends early is broken off', async () => {
  const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) });
  globalThis.fetch = () => Promise.resolve(new Response(broken));
  await assert.rejects(download({ name: 'grep', values: { pattern: 'x' } }, 'jsonl', false), isBrokenOff);
});

test('what has no columns is downloaded as JSON', () => {
  assert.deepEqual(formatsOf('grep').map(([format]) => format), ['jsonl']);
  assert.deepEqual(formatsOf('find').map(([format]) => format), ['csv', 'arrow']);
  assert.deepEqual(formatsOf('sql').map(([format]) => format), ['csv', 'arrow', 'parquet']);
});

test('the rest of an answer is dropped', () => {
  answer(200, {});
  drop(undefined);
  assert.equal(calls.length, 0);
  drop('a&b');
  assert.equal(calls[0]?.url, '/api/v1/more?cursor=a%26b');
  assert.equal(calls[0]?.init.method, 'DELETE');
});
