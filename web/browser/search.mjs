/** Checks of the search view. */
import { becomes, expect, rowsOf, settled, until } from './harness.mjs';

const findLine = (page) => page.getByLabel('Command line', { exact: true });

const lineHas = (page, text) => becomes(page, () => findLine(page).inputValue(), (line) => line.includes(text));

/** The button of a chip. */
const chip = (page, name) => page.locator('.chip-button', { hasText: name }).first();

export const checks = ({ tree }) => {
  const here = encodeURIComponent(tree);
  return [
    ['typing searches at once, and the address follows', `/search?path=${here}`, {}, async (page) => {
      await settled(page);
      await page.getByRole('searchbox').fill('');
      await page.getByRole('searchbox').pressSequentially('report', { delay: 20 });
      await becomes(page, () => rowsOf(page, 'Hits'), (rows) => rows.length === 1 && rows[0].includes('report.txt'));
      await becomes(page, () => page.url(), (address) => new URL(address).searchParams.get('q') === 'report');
      await lineHas(page, "-iname '*report*'");
    }],
    ['the start page searches from the first letter', '/', {}, async (page) => {
      await settled(page);
      await page.getByRole('searchbox').pressSequentially('image', { delay: 20 });
      await page.getByRole('gridcell', { name: /image\.png/ }).first().waitFor();
      await becomes(page, () => page.getByRole('searchbox').inputValue(), (typed) => typed === 'image');
    }],
    ['no letter is lost, however fast somebody types and however slow the machine is', '/', {}, async (page) => {
      await settled(page);
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Emulation.setCPUThrottlingRate', { rate: 20 });
      for (const text of ['a long text that is typed on the start page', 'and another that follows it in the search']) {
        await page.getByRole('searchbox').focus();
        await page.keyboard.press('Control+A');
        // Key by key and without waiting, as a keyboard sends them.
        await Promise.all([...text].map((letter) => page.keyboard.press(letter === ' ' ? 'Space' : letter)));
        // However long that takes: it has to come to this, and stay so.
        const isShown = (typed) => document.getElementById('search')?.value === typed;
        await page.waitForFunction(isShown, text).catch(() => undefined);
        await page.waitForTimeout(500);
        const shown = await page.getByRole('searchbox').inputValue();
        expect(shown === text, `letters were lost: ${shown}`);
      }
    }],
    ['chips filter, show in the line, and can be removed', `/search?path=${here}&q=file`, {}, async (page) => {
      await settled(page);
      await chip(page, 'Extension').click();
      await page.getByLabel('Extensions').fill('csv');
      await page.keyboard.press('Enter');
      await page.getByText('Nothing was found').waitFor();
      await page.getByRole('button', { name: 'Remove Extension' }).click();
      await page.getByRole('gridcell', { name: /file-0000/ }).waitFor();
      await chip(page, 'Size').click();
      await page.getByLabel('Larger than', { exact: true }).last().fill('600 b');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Escape');
      await page.getByText(/^9 hits/).waitFor();
      await lineHas(page, '-size +600c');
    }],
    ['a type chip', `/search?path=${here}`, {}, async (page) => {
      await settled(page);
      await chip(page, 'Type').click();
      await page.getByLabel('directory', { exact: true }).check();
      await page.keyboard.press('Escape');
      await page.getByText(/^7 hits/).waitFor();
    }],
    ['an age chip', `/search?path=${here}&type=f`, {}, async (page) => {
      await settled(page);
      await chip(page, 'Age').click();
      await page.getByRole('button', { name: 'not modified for 2 years' }).click();
      await becomes(page, () => rowsOf(page, 'Hits'), (rows) => rows.length === 1 && rows[0].includes('image.png'));
      await lineHas(page, '-mtime +730');
    }],
    ['an edited line becomes chips', `/search?path=${here}`, {}, async (page) => {
      await settled(page);
      await findLine(page).fill(`trawl find ${tree} -type f -size +800k`);
      await page.keyboard.press('Enter');
      await page.getByText(/^1 hit/).waitFor();
      await page.getByRole('button', { name: 'Type: file' }).waitFor();
      await page.getByRole('button', { name: 'Size: over 800 KiB' }).waitFor();
    }],
    ['an action in the line is refused, and said', `/search?path=${here}`, { allows: ['400'] }, async (page) => {
      await settled(page);
      await findLine(page).fill(`trawl find ${tree} -delete`);
      await page.keyboard.press('Enter');
      await page.getByRole('alert').filter({ hasText: '-delete' }).waitFor();
    }],
    ['a line that is no search is refused, and said', `/search?path=${here}`, {}, async (page) => {
      await settled(page);
      await findLine(page).fill('rm -rf /');
      await page.keyboard.press('Enter');
      await page.getByText('the line begins with').waitFor();
    }],
    ['columns sort the whole answer', `/search?path=${here}&type=f`, {}, async (page) => {
      await settled(page);
      await page.getByRole('columnheader', { name: 'Size' }).getByRole('button').click();
      await page.getByRole('columnheader', { name: 'Size' }).and(page.locator('[aria-sort=descending]')).waitFor();
      await page.locator('.window [role=row]').first().filter({ hasText: 'large.csv' }).waitFor();
      await page.getByRole('columnheader', { name: 'Size' }).getByRole('button').click();
      await page.locator('.window [role=row]').first().filter({ hasText: /1 B|10 B/ }).waitFor();
    }],
    ['scrolling reaches the last of many hits, few of which are in the document', `/search?path=${here}&q=file-`, {}, async (page) => {
      await settled(page);
      const grid = page.getByRole('grid', { name: 'Hits' });
      await until(page, 'the last row is not reached', async () => {
        await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        return (await page.getByText('file-0599.dat').count()) > 0;
      });
      await page.getByText(/^600 hits/).waitFor();
      expect((await rowsOf(page, 'Hits')).some((row) => row.includes('file-0599')), 'the last row is not there');
      expect((await rowsOf(page, 'Hits')).length < 200, 'too many rows are in the document');
    }],
    ['the keyboard walks the table, opens details and comes back', `/search?path=${here}&q=report`, {}, async (page) => {
      await settled(page);
      const grid = page.getByRole('grid', { name: 'Hits' });
      await grid.focus();
      await page.keyboard.press('ArrowDown');
      await page.locator('[role=grid][aria-activedescendant]').waitFor();
      await page.keyboard.press('Enter');
      const panel = page.getByRole('complementary', { name: 'Details' });
      await panel.getByText('may read and write').first().waitFor();
      await panel.getByRole('heading', { name: 'History' }).waitFor();
      await page.keyboard.press('Escape');
      await panel.waitFor({ state: 'detached' });
      await until(page, 'the focus is lost', () => grid.evaluate((element) => element === document.activeElement));
    }],
    ['a slash focuses the search', `/search?path=${here}`, {}, async (page) => {
      await settled(page);
      await page.getByRole('grid', { name: 'Hits' }).focus();
      await page.keyboard.press('/');
      await until(page, 'the search has no focus', () => page.getByRole('searchbox').evaluate((element) => element === document.activeElement));
    }],
    ['details: permissions in words, who may read, history', `/file?path=${encodeURIComponent(`${tree}/projects/apollo/report.txt`)}`, {}, async (page) => {
      await settled(page);
      const text = await page.locator('main').innerText();
      for (const part of ['The owner', 'may read and write', 'Who may read it', 'Only the owner', 'changed: ']) expect(text.includes(part), `without “${part}”: ${text}`);
    }],
    ['details are downloaded as JSON, since their command writes no CSV', `/file?path=${encodeURIComponent(`${tree}/projects/apollo/report.txt`)}`, {}, async (page) => {
      await settled(page);
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download JSON' }).click()]);
      expect(download.suggestedFilename() === 'trawl-stat.jsonl', download.suggestedFilename());
    }],
    ['the whole answer can be downloaded', `/search?path=${here}&q=report`, {}, async (page) => {
      await settled(page);
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download CSV' }).click()]);
      expect(download.suggestedFilename().endsWith('.csv'), download.suggestedFilename());
    }],
  ];
};
