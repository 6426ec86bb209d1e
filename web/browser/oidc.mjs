/**
 * Checks logins at a real provider of OpenID Connect in Chromium: oidc-provider, which is certified.
 * Starts the provider, prints `issuer URL`, and reads the service's address from standard input. Prints a
 * line for each check, and exits with 1 if something is wrong.
 *
 *   TRAWL_WEB_REDIRECT  address at which the service has the browser sent back
 *   TRAWL_WEB_CLIENT    ID:SECRET of the service
 *   TRAWL_WEB_TREE      a tree with `open/file`, which all users may read, and `closed/secret`
 *   TRAWL_WEB_USERS     NAME=USER=HITS lines: NAME is the user at the provider, HITS is what a search for "e"
 *                       finds below the tree
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline/promises';
import { Provider } from 'oidc-provider';
import { expect, launch, TIMEOUT_MS, violations } from './harness.mjs';

const tree = process.env.TRAWL_WEB_TREE;
const users = (process.env.TRAWL_WEB_USERS ?? '').split('\n').map((line) => line.split('='));
const [client_id, client_secret] = (process.env.TRAWL_WEB_CLIENT ?? '').split(':');

async function startProvider() {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [process.env.TRAWL_WEB_REDIRECT], grant_types: ['authorization_code'], response_types: ['code'] }],
    claims: { openid: ['sub'], profile: ['preferred_username'] },
    // As Keycloak and others do, the claims are in the ID token.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId, preferred_username: `${accountId}@company` }) }),
  });
  server.on('request', provider.callback());
  return { issuer, end: () => server.close().closeAllConnections() };
}

/** Opens the page at `deep`, and goes to the provider. */
async function atProvider(browser, deep) {
  // The certificate is of the test's own authority.
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(deep);
  const button = page.getByRole('button', { name: 'Log in with The Company' });
  await button.waitFor();
  const found = await violations(page);
  expect(found === '', found);
  await button.click();
  await page.locator('input[name=login]').waitFor();
  return { context, page, faults };
}

async function logIn(page, name) {
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

const kept = (page) => page.evaluate(() => sessionStorage.getItem('trawl.login'));

async function checkUser(browser, deep, [name, user, hits]) {
  const { context, page, faults } = await atProvider(browser, deep);
  await logIn(page, name);
  // The page goes on where its address was, and nothing of the login is left.
  await page.getByText(new RegExp(`^${hits} hits?`)).waitFor();
  await page.locator('header').getByText(`${user} on `).waitFor();
  expect(page.url() === deep, page.url());
  expect((await kept(page)) === null, 'the secret of the login is kept');
  expect((await context.cookies(new URL('/', deep).href)).every(({ domain }) => domain === '127.0.0.1'), 'the service set a cookie');
  await page.getByRole('button', { name: 'End this session' }).click();
  await page.getByRole('button', { name: 'Log in with The Company' }).waitFor();
  expect(faults.length === 0, faults.join('; '));
  await context.close();
}

async function checkStranger(browser, deep) {
  const { context, page } = await atProvider(browser, deep);
  await logIn(page, 'stranger');
  await page.getByRole('alert').getByText('belong to no user here').waitFor();
  expect(page.url() === deep, page.url());
  const found = await violations(page);
  expect(found === '', found);
  await context.close();
}

async function checkCancelled(browser, deep) {
  const { context, page } = await atProvider(browser, deep);
  await page.getByText('Cancel').click();
  await page.getByRole('alert').getByText('The provider did not log you in').waitFor();
  await page.getByRole('alert').getByText('access_denied').waitFor();
  expect(page.url() === deep, page.url());
  await context.close();
}

/** Somebody has another person's browser open the end of the own login. */
async function checkForeign(browser, deep) {
  const own = await atProvider(browser, deep);
  // Without its script, the page leaves the code in the address.
  await own.page.route('**/assets/app.js', (route) => route.abort());
  await logIn(own.page, users[0][0]);
  await own.page.waitForURL((address) => address.pathname === '/login/oidc');
  const address = own.page.url();
  const other = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await other.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(address);
  await page.getByRole('alert').getByText('This login did not begin in this tab').waitFor();
  expect(new URL(page.url()).search === '', page.url());
  expect((await page.evaluate(() => sessionStorage.getItem('trawl.session'))) === null, 'a session began');
  await other.close();
  await own.context.close();
}

const provider = await startProvider();
console.log(`issuer ${provider.issuer}`);
const input = createInterface({ input: process.stdin });
const [url] = await once(input, 'line');
input.close();
const deep = new URL(`/search?path=${encodeURIComponent(tree)}&q=e`, url).href;
const browser = await launch();
const checks = [
  ...users.map((user) => [user[0], () => checkUser(browser, deep, user)]),
  ['a stranger', () => checkStranger(browser, deep)],
  ['cancelled', () => checkCancelled(browser, deep)],
  ['the login of somebody else', () => checkForeign(browser, deep)],
];
let failures = 0;
for (const [name, check] of checks) {
  try {
    await check();
    console.log(`ok ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
await browser.close();
provider.end();
process.exit(failures === 0 ? 0 : 1);
