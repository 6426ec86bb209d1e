/**
 * What the checks share: one session, pages whose errors, dialogs and foreign requests are noted, and
 * axe.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Standards whose rules hold. */
const STANDARDS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** How long a check waits for something before it fails. */
export const TIMEOUT_MS = Number(process.env.TRAWL_WEB_TIMEOUT_MS ?? 60_000);

/** Where the page keeps its session. */
const SESSION = 'trawl.session';

export class Failure extends Error {}

/** Fails unless a condition holds. */
export function expect(condition, message) {
  if (!condition) throw new Failure(message);
}

/** Starts the browser. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // The sandbox of Chromium does not work for root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
}

/** Opens the browser and the session. `login` is a link that holds once. */
export async function open({ url, login }) {
  const browser = await launch();
  const first = await browser.newContext();
  const page = await first.newPage();
  await page.goto(new URL(login, url).href);
  await page.waitForFunction((key) => sessionStorage.getItem(key) !== null, SESSION);
  const secret = await page.evaluate((key) => sessionStorage.getItem(key), SESSION);
  expect(!page.url().includes('token'), 'the secret of the link stays in the address');
  await first.close();

  /** Opens a page of its own and hands it to `work`; fails for anything that it must not do. */
  const withPage = async (address, options, work) => {
    const { allows = [], hasSession = true, isShared = false, ...contextOptions } = options;
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...contextOptions });
    context.setDefaultTimeout(TIMEOUT_MS);
    const faults = [];
    const target = await context.newPage();
    // Shared: only this tab has the session at first.
    if (hasSession) await (isShared ? target : context).addInitScript(([key, value]) => sessionStorage.setItem(key, value), [SESSION, secret]);
    watchTraffic(target);
    target.on('console', (message) => {
      if (message.type() === 'error' && !allows.some((allowed) => message.text().includes(allowed))) faults.push(`console: ${message.text()}`);
    });
    target.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    target.on('dialog', (dialog) => {
      faults.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    target.on('request', (request) => {
      const to = new URL(request.url());
      if (to.protocol !== 'data:' && to.protocol !== 'blob:' && to.origin !== new URL(url).origin) faults.push(`request to ${to.origin}`);
    });
    await target.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
    });
    try {
      if (address !== undefined) await target.goto(new URL(address, url).href);
      await work(target, faults);
      expect(faults.length === 0, faults.join('; '));
    } finally {
      await context.close();
    }
  };
  return { browser, withPage, close: () => browser.close() };
}

/** Requests of each page: how many are on their way, and when that changed last. */
const traffic = new WeakMap();

/** How long a page that asks for nothing is taken to have asked everything, in milliseconds. */
const QUIET_MS = 700;

/** Counts the requests of a page, for `settled`. */
export function watchTraffic(page) {
  const seen = { open: 0, since: Date.now() };
  const note = (change) => () => {
    seen.open += change;
    seen.since = Date.now();
  };
  page.on('request', note(1));
  page.on('requestfinished', note(-1));
  page.on('requestfailed', note(-1));
  traffic.set(page, seen);
}

/** Waits until the page has drawn itself, asks for nothing and shows its answers. */
export async function settled(page) {
  const seen = traffic.get(page);
  const isDrawn = () => document.querySelector('main')?.innerText.trim() && !/Loading …|Searching …|Running …/.test(document.body.innerText);
  const until = Date.now() + TIMEOUT_MS;
  for (;;) {
    await page.waitForFunction(isDrawn);
    if (seen.open === 0 && Date.now() - seen.since > QUIET_MS && (await page.evaluate(isDrawn))) return;
    if (Date.now() > until) throw new Failure(`the page does not settle: ${seen.open} requests are on their way`);
    await page.waitForTimeout(50);
  }
}

/** Repeats a step until it returns true. */
export async function until(page, what, step) {
  const end = Date.now() + TIMEOUT_MS;
  while (!(await step())) {
    if (Date.now() > end) throw new Failure(typeof what === 'function' ? what() : what);
    await page.waitForTimeout(50);
  }
}

/** Waits until what `read` returns is as expected: the page may show the former state for a moment. */
export async function becomes(page, read, isExpected) {
  let seen;
  await until(page, () => `${seen}`, async () => isExpected((seen = await read())));
}

/** Returns the violations that axe finds, as text. */
export async function violations(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async (standards) => {
    const result = await globalThis.axe.run(document, { runOnly: { type: 'tag', values: standards } });
    return result.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join(', ')}`);
  }, STANDARDS);
  return found.join('\n');
}

/** Returns the text of all rows of a table that are in the document. */
export function rowsOf(page, label) {
  return page.getByRole('grid', { name: label }).locator('.window [role=row]').allInnerTexts();
}
