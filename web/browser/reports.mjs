/** Checks of space, SQL and the reports. */
import { becomes, expect, rowsOf, settled, until, violations } from './harness.mjs';

export const checks = ({ tree, hasSql }) => {
  const here = encodeURIComponent(tree);
  const sql = (text, more = '') => `/sql?q=${encodeURIComponent(text)}${more}`;
  return [
    ['the treemap is walked by keyboard, and breadcrumbs lead back', `/space?path=${here}`, {}, async (page) => {
      await settled(page);
      const map = page.getByRole('application');
      await map.focus();
      await page.keyboard.press('Home');
      await map.getByRole('status').filter({ hasText: 'many/' }).waitFor();
      await page.keyboard.press('ArrowRight');
      await map.getByRole('status').filter({ hasText: 'projects/' }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.searchParams.get('path') === `${tree}/projects`);
      await settled(page);
      await page.locator('.space-list a', { hasText: 'gemini/' }).waitFor();
      await page.getByRole('application').focus();
      await page.keyboard.press('Backspace');
      await page.waitForURL((url) => url.searchParams.get('path') === tree);
      await settled(page);
      await page.locator('.space-list a', { hasText: 'projects/' }).click();
      await page.waitForURL((url) => url.searchParams.get('path') === `${tree}/projects`);
      await settled(page);
      const steps = page.getByRole('navigation', { name: 'Path' }).getByRole('link');
      expect((await steps.first().innerText()) === '/', 'the first step is not /');
      await steps.last().click();
      await page.waitForURL((url) => url.searchParams.get('path') === tree);
      await settled(page);
    }],
    ['the treemap is drawn, and a click opens a directory', `/space?path=${encodeURIComponent(`${tree}/projects`)}`, {}, async (page) => {
      await settled(page);
      const box = await page.locator('.chart canvas').boundingBox();
      expect(box !== null && box.width > 300 && box.height > 200, 'no canvas');
      // Tiles grow into their places, where a click finds them.
      await until(page, 'a click opens nothing', async () => {
        await page.mouse.click(box.x + 20, box.y + 8);
        const isThere = page.waitForURL((url) => url.searchParams.get('path') === `${tree}/projects/gemini`, { timeout: 5000 });
        return isThere.then(() => true, () => false);
      });
    }],
    ['the sunburst, and colours', `/space?path=${here}&as=sunburst&colour=type`, {}, async (page) => {
      await settled(page);
      await page.getByRole('application', { name: /Sunburst/ }).waitFor();
      await page.getByText('Archives').waitFor();
      await page.getByLabel('Coloured by').selectOption('owner');
      await page.waitForURL(/colour=owner/);
    }],
    ['the list of the space view has the focus of the keyboard', `/space?path=${here}`, {}, async (page) => {
      await settled(page);
      await page.locator('.space-list a', { hasText: 'projects/' }).focus();
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.searchParams.get('path') === `${tree}/projects`);
    }],
    ['top lists', `/top?path=${here}`, {}, async (page) => {
      await settled(page);
      expect((await rowsOf(page, 'Files'))[0]?.includes('large.csv'), `${(await rowsOf(page, 'Files'))[0]}`);
      await page.getByLabel('List').selectOption('extensions');
      await page.getByRole('gridcell', { name: '.iso' }).waitFor();
    }],
    ['histograms', `/stats?path=${here}&by=size`, {}, async (page) => {
      await settled(page);
      expect((await rowsOf(page, 'Groups')).length > 3, 'too few groups');
      await page.getByLabel('By', { exact: true }).selectOption('owner');
      await page.locator('.chart, .table').first().waitFor();
    }],
    ['quotas beside owners, as a bar and in words', `/top?path=${here}&subject=owners`, {}, async (page) => {
      const answer = (rows) => ({ json: { rows, complete: true, issues: [], asked_at: '2026-01-01T00:00:00.000000000Z', as_of: [], command: [] } });
      // The machine may keep quotas.
      await page.route('**/api/v1/quota', (route) => route.fulfill(answer([])));
      await page.reload();
      await settled(page);
      const owner = await page.getByRole('grid', { name: 'Groups' }).locator('.window [role=row]').first().locator('[role=gridcell]').first().innerText();
      expect((await page.getByRole('columnheader', { name: 'Quota' }).count()) === 0, 'a column without quotas');
      const amount = { used_inodes: 1, soft_inodes: null, hard_inodes: null, inodes_state: 'unlimited', inodes_grace_ends: null };
      const row = { mount: '/srv', kind: 'user', id: 1, name: owner, used_bytes: 3 << 20, soft_bytes: 2 << 20, hard_bytes: 4 << 20, space_state: 'over', space_grace_ends: null, ...amount };
      await page.route('**/api/v1/quota', (route) => route.fulfill(answer([row])));
      await page.reload();
      await settled(page);
      await page.getByRole('columnheader', { name: 'Quota' }).waitFor();
      await page.getByRole('gridcell', { name: /^over the limit: 3\.0 MiB of 2\.0 MiB \(150 %\).*quota of the file system \/srv, as it is now$/ }).waitFor();
      expect((await violations(page)) === '', await violations(page));
    }],
    ['growth over snapshots', `/growth?path=${here}`, {}, async (page) => {
      await settled(page);
      expect((await rowsOf(page, 'Sizes in each snapshot')).length === 2, `${await rowsOf(page, 'Sizes in each snapshot')}`);
      await page.locator('.chart canvas').waitFor();
    }],
    ['what changed', `/changes?path=${here}`, {}, async (page) => {
      await settled(page);
      await page.getByRole('gridcell', { name: /added\.bin/ }).waitFor();
      const rows = (await rowsOf(page, 'Changes')).join('\n');
      for (const part of ['added.bin', 'old.log', 'paper.txt', 'report.txt']) expect(rows.includes(part), `without ${part}: ${rows}`);
      await page.getByLabel('Show').selectOption('deleted');
      await becomes(page, () => rowsOf(page, 'Changes'), (shown) => shown.length === 1 && shown[0].includes('old.log'));
    }],
    ['duplicates', `/duplicates?path=${here}&least=64k&alike=content`, {}, async (page) => {
      await settled(page);
      await page.getByText('3 files of 146 KiB').waitFor();
      await page.getByRole('link', { name: /copy-3\.iso/ }).waitFor();
    }],
    ...(!hasSql ? [] : [
      ['cold data by project', `/cold?path=${encodeURIComponent(`${tree}/projects`)}`, {}, async (page) => {
        await settled(page);
        const rows = await rowsOf(page, 'Projects');
        expect(rows[0]?.includes('apollo'), `${rows}`);
      }],
      ['SQL: completion, a result, a chart', '/sql', {}, async (page) => {
        await settled(page);
        const area = page.getByLabel('SQL', { exact: true });
        await area.fill('');
        await area.pressSequentially("SELECT type, count(*) AS n FROM entri");
        await page.getByRole('option', { name: /^entries table/ }).waitFor();
        await page.keyboard.press('Tab');
        await becomes(page, () => area.inputValue(), (text) => text.endsWith('FROM entries'));
        await area.pressSequentially(` WHERE under(path, '${tree}') GROUP BY type ORDER BY n DESC`);
        await page.keyboard.press('Control+Enter');
        await page.getByRole('grid', { name: 'Result' }).getByRole('gridcell', { name: 'f', exact: true }).waitFor();
        await page.getByLabel('Result as').selectOption('chart');
        await page.locator('.chart canvas').waitFor();
      }],
      ['SQL: questions are saved in the browser', '/sql', {}, async (page) => {
        await settled(page);
        await page.getByLabel('SQL', { exact: true }).fill('SELECT 42 AS answer');
        await page.getByLabel('Name of the question').fill('my <b>question</b>');
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await page.reload();
        await page.getByRole('button', { name: 'my <b>question</b>', exact: true }).click();
        await page.getByRole('gridcell', { name: '42' }).waitFor();
      }],
      ['SQL: a fault is said, and writing refused', sql('DROP TABLE entries'), { allows: ['422', '400'] }, async (page) => {
        await page.getByRole('alert').waitFor();
      }],
    ]),
    ['every report says how old it is, and has its link, CSV and command line', `/stats?path=${here}`, {}, async (page) => {
      for (const view of ['search', 'space', 'top', 'stats', 'growth', 'changes', 'duplicates']) {
        await page.goto(new URL(`/${view}?path=${here}`, page.url()).href);
        await settled(page);
        await page.getByText(/^As of/).first().waitFor();
        await page.getByRole('button', { name: 'Download CSV' }).waitFor();
        await page.getByRole('button', { name: 'Copy link' }).waitFor();
        await page.getByText('Command line').first().waitFor();
      }
    }],
    ['print has the rows and no controls', `/top?path=${here}`, {}, async (page) => {
      await settled(page);
      await page.emulateMedia({ media: 'print' });
      expect(!(await page.locator('header').isVisible()), 'the navigation is printed');
      expect(await page.getByText('large.csv').isVisible(), 'rows are not printed');
    }],
  ];
};
