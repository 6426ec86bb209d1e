/**
 * Checks the page in Chromium against a running server, and prints a line for each check. Exits with
 * 1 if one fails.
 *
 *   TRAWL_WEB_URL    address of the server, such as http://127.0.0.1:8080
 *   TRAWL_WEB_LOGIN  the link that `trawl web` printed, or `/#token=…`; it holds once
 *   TRAWL_WEB_TREE   the tree of browser/tree.mjs, indexed before and after its changes
 *   TRAWL_WEB_SQL    0 if the server has no SQL
 *   CHROMIUM         the browser (default: /usr/bin/chromium)
 *
 * An argument is a part of the names of the checks to run.
 */
import { open } from './harness.mjs';
import { checks as login } from './login.mjs';
import { checks as reports } from './reports.mjs';
import { checks as safety } from './safety.mjs';
import { checks as search } from './search.mjs';

/** Checks that run at a time: most of them wait for the page. */
const AT_ONCE = 2;

const url = process.env.TRAWL_WEB_URL;
const link = process.env.TRAWL_WEB_LOGIN;
const tree = process.env.TRAWL_WEB_TREE;
if (!url || !link || !tree) {
  console.error('TRAWL_WEB_URL, TRAWL_WEB_LOGIN and TRAWL_WEB_TREE must be set');
  process.exit(2);
}

const given = { url, tree, hasSql: process.env.TRAWL_WEB_SQL !== '0' };
const wanted = process.argv[2] ?? '';
const session = await open({ url, login: link });
const queue = [search, reports, safety, login].flatMap((checks) => checks(given)).filter(([name]) => name.includes(wanted));
let failures = 0;

/** Runs checks until none is left. Each has a browser context of its own. */
async function work() {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [name, address, options, check] = next;
    try {
      await session.withPage(address, options, check);
      console.log(`ok ${name}`);
    } catch (error) {
      failures += 1;
      console.log(`FAILED ${name}: ${(error instanceof Error ? error.message : String(error)).split('\n').slice(0, 12).join('; ').slice(0, 1500)}`);
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
await session.close();
process.exit(failures === 0 ? 0 : 1);
