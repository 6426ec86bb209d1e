/**
 * Checks a running service for many users in Chromium: two users log in by their passwords, and each is
 * shown the own part of a tree. Prints a line for each user, and exits with 1 if something is wrong.
 *
 *   TRAWL_WEB_URL       address of the service
 *   TRAWL_WEB_TREE      a tree with `open/file`, which all users may read, and `closed/secret`
 *   TRAWL_WEB_USERS     USER=PASSWORD=HITS lines: HITS is what a search for "e" finds below the tree
 *   CHROMIUM            the browser (default: /usr/bin/chromium)
 */
import { expect, launch, TIMEOUT_MS, violations } from './harness.mjs';

const url = process.env.TRAWL_WEB_URL;
const tree = process.env.TRAWL_WEB_TREE;
const users = (process.env.TRAWL_WEB_USERS ?? '').split('\n').map((line) => line.split('='));
const deep = new URL(`/search?path=${encodeURIComponent(tree)}&q=e`, url).href;

async function check(browser, [user, password, hits]) {
  // The certificate is of the test's own authority.
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(deep);
  const name = page.getByLabel('User name');
  const secret = page.getByLabel('Password', { exact: true });
  await name.fill(user);
  await secret.fill('not this one');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('the user name or the password is wrong').waitFor();
  const found = await violations(page);
  expect(found === '', found);
  await secret.fill(password);
  await page.keyboard.press('Enter');
  // The page goes on where its address was.
  await page.getByText(new RegExp(`^${hits} hits?`)).waitFor();
  await page.locator('header').getByText(`${user} on `).waitFor();
  expect(page.url() === deep, page.url());
  const other = await context.newPage();
  await other.goto(new URL('/', url).href);
  await other.getByRole('searchbox').waitFor();
  await page.getByRole('button', { name: 'End this session' }).click();
  await name.waitFor();
  expect(faults.length === 0, faults.join('; '));
  await context.close();
}

const browser = await launch();
let failures = 0;
for (const user of users) {
  try {
    await check(browser, user);
    console.log(`ok ${user[0]}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED ${user[0]}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
await browser.close();
process.exit(failures === 0 ? 0 : 1);
