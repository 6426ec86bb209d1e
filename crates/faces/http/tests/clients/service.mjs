/** Asks a service for many users as whom it answers, by a token, a password and a session of a token. */

import { Client } from '../../../../../clients/typescript/dist/index.js';

const [base, , token] = process.argv.slice(2);
const byToken = new Client(base, token);
const found = { token: (await byToken.me()).user };
found.scope = await byToken.ask('sql', { query: 'SELECT 1' }).then(() => 0, (problem) => problem.status);
const client = new Client(base);
found.ways = (await client.ways()).ways;
await client.login({ token });
found.session = (await client.me()).user;
await client.logout();
for (const password of ['wrong', 'R1ght']) {
  found[password] = await client.login({ user: 'u60001', password }).then(async () => (await client.me()).user, (problem) => problem.status);
}
console.log(JSON.stringify(found));
