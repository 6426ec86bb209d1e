/** Checks of safety and accessibility: hostile names, all views with axe, small screens, many rows. */
import { becomes, expect, rowsOf, settled, violations, until } from './harness.mjs';

/** Rows of the long answer. */
const MANY = 1_000_000;
const PAGE = 10_000;

function row(number) {
  return {
    path: `/m/${number}`, type: 'f', size: number, blocks: 8, mode: 33188, permissions: '0644', nlink: 1, uid: 0, user: 'root', gid: 0, group: 'root',
    mtime: '2026-01-01T00:00:00.000000000Z', atime: '2026-01-01T00:00:00.000000000Z',
  };
}

/** Answers find with a million rows, page by page. */
async function answerMany(page) {
  const answer = (start, count) => ({
    rows: Array.from({ length: Math.min(count, MANY - start) }, (_, index) => row(start + index)),
    complete: start + count >= MANY,
    ...(start + count < MANY && { cursor: String(start + count) }),
    issues: [], as_of: [], command: ['trawl', 'find'],
  });
  await page.route('**/api/v1/find', (route) => route.fulfill({ json: answer(0, 200) }));
  await page.route('**/api/v1/more*', (route) => {
    if (route.request().method() === 'DELETE') return route.fulfill({ status: 204 });
    return route.fulfill({ json: answer(Number(route.request().postDataJSON().cursor), PAGE) });
  });
}

export const checks = ({ tree, hasSql, url }) => {
  const here = encodeURIComponent(tree);
  const hostile = `${tree}/hostile`;
  const file = (name) => `/file?path=${encodeURIComponent(`${hostile}/${name}`)}`;
  const views = [
    '/', `/search?path=${here}&q=o`, `/search?path=${here}&q=report&open=${encodeURIComponent(`${tree}/projects/apollo/report.txt`)}`, `/search?path=${encodeURIComponent(hostile)}`,
    `/space?path=${here}`, `/space?path=${encodeURIComponent(hostile)}&as=sunburst&colour=type`, `/top?path=${here}`, `/top?path=${here}&subject=owners`, `/stats?path=${here}&by=age`,
    `/growth?path=${here}&by=directory`, `/changes?path=${here}`, `/duplicates?path=${here}&least=1c`, file('<img src=x onerror=alert(1)>.html'), '/nothing',
    ...(hasSql ? [`/cold?path=${here}`, `/sql?q=${encodeURIComponent(`SELECT name, size FROM entries WHERE under(path, '${hostile}')`)}`, `/sql?q=${encodeURIComponent(`SELECT name, size FROM entries WHERE under(path, '${hostile}')`)}&as=chart`] : []),
  ];
  return [
    ['hostile names are text in every view', undefined, {}, async (page) => {
      for (const view of views) {
        await page.goto(new URL(view, url).href);
        await settled(page);
        const made = await page.evaluate(() => document.querySelectorAll('main img, main svg, main script, main iframe, main b, main [onload], main [onerror]').length);
        expect(made === 0, `${view} made elements`);
      }
      await page.goto(new URL(`/search?path=${encodeURIComponent(hostile)}`, url).href);
      await page.getByText('<img src=x onerror=alert(1)>.html').first().waitFor();
    }],
    ['hidden characters are shown as escapes', `/search?path=${encodeURIComponent(hostile)}`, {}, async (page) => {
      await settled(page);
      const grid = page.getByRole('grid', { name: 'Hits' });
      const parts = ['\\u202egnp.exe', 'zero\\u200bwidth.txt', '\\u2066isolate\\u2069.txt', 'red\\x1b[31m.txt', 'new\\nline.txt', 'tab\\there.txt', 'caf\\xe9.txt', '␠space at both ends␠', 'שלום עולם.txt'];
      const seen = new Set();
      const missing = () => parts.filter((part) => ![...seen].some((text) => text.includes(part)));
      await until(page, () => `without ${missing().join(', ')}: ${[...seen].join('\n')}`, async () => {
        for (const text of await rowsOf(page, 'Hits')) seen.add(text);
        // Down to the end, and again from the top.
        await grid.evaluate((element) => {
          const isAtEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 1;
          element.scrollTo(0, isAtEnd ? 0 : element.scrollTop + 300);
        });
        return missing().length === 0;
      });
      expect(!/[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(await page.locator('main').innerText()), 'a hidden character is in the page');
    }],
    ['a name that is not UTF-8 leads to its details', `/search?path=${encodeURIComponent(hostile)}&q=caf`, {}, async (page) => {
      await settled(page);
      await page.getByRole('gridcell', { name: /caf/ }).first().click();
      const panel = page.getByRole('complementary', { name: 'Details' });
      await panel.getByText('The owner').waitFor();
      await panel.getByText('characters that are not visible text').waitFor();
      await becomes(page, () => page.url(), (address) => new URL(address).searchParams.get('openraw')?.endsWith('636166e92e747874'));
    }],
    ['a right-to-left override does not turn the details around', file('\u202egnp.exe'), {}, async (page) => {
      await settled(page);
      expect((await page.getByRole('heading', { level: 1 }).innerText()).includes('\\u202egnp.exe'), await page.getByRole('heading', { level: 1 }).innerText());
    }],
    ['hostile addresses do nothing', undefined, { allows: ['400', '422', '404'] }, async (page) => {
      for (const address of [
        '/search?q=%3Cscript%3Ealert(1)%3C/script%3E&rest=%22&sort=%3Cx%3E&type=x', '/space?path=javascript:alert(1)', '/space?raw=zz', '/file?path=//evil.example/x',
        '/search?open=javascript:alert(1)', '/top?subject=%3Cimg%20src=x%20onerror=alert(1)%3E', '/sql?q=%3Cimg%20src=x%20onerror=alert(1)%3E&as=chart&x=__proto__&y=constructor', '/%3Cimg%20src=x%3E', '/__proto__',
      ]) {
        await page.goto(new URL(address, url).href);
        await page.waitForLoadState('networkidle');
        await page.locator('main h1').first().waitFor();
      }
    }],
    ...views.flatMap((view) => ['light', 'dark'].map((colorScheme) => [`axe: ${view.replaceAll(here, 'TREE')} (${colorScheme})`, view, { colorScheme }, async (page) => {
      await settled(page);
      // Colours that fade in are not yet what people read.
      await page.waitForFunction(() => document.getAnimations().every((one) => one.playState !== 'running'));
      const found = await violations(page);
      expect(found === '', found);
    }])),
    ['axe: an open chip, proposals of SQL', `/search?path=${here}`, { allows: hasSql ? [] : ['422'] }, async (page) => {
      await settled(page);
      await page.locator('.chip-button', { hasText: 'Age' }).click();
      const chip = await violations(page);
      expect(chip === '', chip);
      await page.goto(new URL('/sql', url).href);
      await settled(page);
      await page.getByLabel('SQL', { exact: true }).fill('SEL');
      const proposals = await violations(page);
      expect(proposals === '', proposals);
    }],
    ['no view scrolls sideways at 320 pixels', undefined, { viewport: { width: 320, height: 640 } }, async (page) => {
      for (const view of views) {
        await page.goto(new URL(view, url).href);
        await settled(page);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(width <= 320, `${view}: ${width} pixels`);
      }
    }],
    ['a wall screen', `/space?path=${here}`, { viewport: { width: 3840, height: 2160 } }, async (page) => {
      await settled(page);
      const size = await page.evaluate(() => getComputedStyle(document.documentElement).fontSize);
      expect(Number.parseFloat(size) > 16, `letters of ${size}`);
    }],
    ['the theme can be chosen, and stays', '/', {}, async (page) => {
      await settled(page);
      const surface = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await surface();
      await page.getByRole('button', { name: /^Theme/ }).click();
      await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
      const dark = await surface();
      expect(light !== dark, 'dark is as light');
      await page.reload();
      await settled(page);
      await becomes(page, surface, (colour) => colour === dark);
    }],
    ['a million rows can be scrolled to the last', undefined, {}, async (page) => {
      await answerMany(page);
      await page.goto(new URL(`/search?path=${here}`, url).href);
      const grid = page.getByRole('grid', { name: 'Hits' });
      await grid.focus();
      await page.getByText('/m/0', { exact: false }).first().waitFor();
      await until(page, 'the last row is not reached', async () => {
        await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        return (await page.getByText(/^1,000,000 hits/).count()) > 0;
      });
      await page.keyboard.press('End');
      await page.getByRole('row', { name: /999999/ }).waitFor();
      expect((await rowsOf(page, 'Hits')).length < 200, 'too many rows are in the document');
      await page.keyboard.press('Home');
      await page.locator('[role=row][aria-rowindex="2"].active').waitFor();
    }],
    ['a new tab asks another one for the session', '/', { isShared: true }, async (page) => {
      await settled(page);
      const tab = await page.context().newPage();
      await tab.goto(new URL('/space', url).href);
      await tab.getByRole('heading', { name: 'Where has the space gone' }).waitFor();
      expect((await tab.evaluate(() => document.cookie)) === '', 'there is a cookie');
      expect((await tab.evaluate(() => localStorage.getItem('trawl.session'))) === null, 'the session outlives its tabs');
    }],
    ['without a session the page says what to do', '/', { hasSession: false, allows: ['401'] }, async (page) => {
      await page.getByText('Open the link that').waitFor();
      const found = await violations(page);
      expect(found === '', found);
    }],
  ];
};
