/** Asks questions with the client, and prints a line of JSON for each: the rows. Then what else it can. */

import assert from 'node:assert/strict';
import { Client, Incomplete, Problem } from '../../../../../clients/typescript/dist/index.js';

const [link, given] = [process.argv[2], JSON.parse(process.argv[3])];

async function all(rows) {
  const found = [];
  for await (const row of rows) found.push(row);
  return found;
}

const failure = (promise) => promise.then(() => undefined, (error) => error);
const status = async (promise) => {
  const error = await failure(promise);
  assert.ok(error instanceof Problem, String(error));
  return error.status;
};

const client = await Client.fromLink(link);
for (const { name, arguments: values } of given.questions) console.log(JSON.stringify(await all(client.rows(name, values))));

const refused = await failure(all(client.rows('find', { paths: ['/'], expression: ['-delete'] })));
const incomplete = await failure(all(client.rows('find', { paths: [`${given.file}/none`, given.file] })));
// What is not read is dropped.
const folder = given.file.replace(/\/[^/]*$/, '');
const page = await client.ask('find', { paths: [folder], limit: 1 });
await client.drop(page.cursor);
assert.equal(await status(client.more(page.cursor)), 409);
const abort = new AbortController();
abort.abort();
assert.equal((await failure(client.ask('find', { paths: [folder] }, abort.signal))).name, 'AbortError');
const found = {
  uid: (await client.me()).uid,
  ways: (await client.ways()).ways,
  content: (await client.ask('read', { path: given.file })).content,
  csv: await (await client.download('find', { paths: [folder.replace(/\/docs$/, '')] }, 'csv')).text(),
  refused: [refused.status, refused.title],
  incomplete: incomplete instanceof Incomplete,
  again: await status(Client.fromLink(link)),
};
await client.logout();
console.log(JSON.stringify({ ...found, ended: await status(client.me()) }));
