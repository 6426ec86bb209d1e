/** Checks of the login, against a stand-in for the service: it answers in the place of the server. */
import { becomes, expect, settled, until, violations, watchTraffic } from './harness.mjs';

const PASSWORD = 'the right one';
const DEEP = '/search?path=%2Fsrv&q=report';
const HOSTILE = '<img src=x onerror=alert(1)>\u202e{b|x}';
const options = { hasSession: false, allows: ['401', '403', '429', '503'] };

const problem = (status, title, detail, headers = {}) => ({ status, contentType: 'application/problem+json', headers, body: JSON.stringify({ status, title, detail }) });

/** Answers the API as the service does. The object that it returns can be changed while the page is open. */
async function standIn(page, given = {}) {
  const service = { ways: ['password', 'token'], user: 'ada', uid: 1000, secret: 'secret-1', knows: false, refusal: undefined, asked: [], ...given };
  const answer = (name, request) => {
    if (name === 'login') return { json: { ways: service.ways } };
    if (name === 'session' && request.method() === 'POST') {
      const typed = request.postDataJSON();
      service.asked.push(typed);
      if (service.refusal !== undefined) return service.refusal;
      const isRight = typed.password === PASSWORD || typed.token === 'right';
      return isRight ? { json: { session: service.secret } } : problem(403, 'Refused', HOSTILE);
    }
    if (!service.knows && request.headers().authorization !== `Bearer ${service.secret}`) return problem(401, 'No session', 'log in');
    if (name === 'session') {
      service.secret = 'none';
      return { status: 204 };
    }
    if (name === 'me') return { json: { user: service.user, uid: service.uid, host: 'h', version: '1', time: '2026-01-01T00:00:00Z' } };
    return { json: { rows: name === 'sql' ? [{ a: service.user }] : [], complete: true, issues: [], as_of: [], command: ['trawl', name] } };
  };
  await page.context().route('**/api/v1/**', (route) => route.fulfill(answer(new URL(route.request().url()).pathname.split('/').pop(), route.request())));
  return service;
}

const userField = (page) => page.getByLabel('User name');
const passwordField = (page) => page.getByLabel('Password', { exact: true });
const isFocused = (page, locator) => until(page, `${locator} has no focus`, () => locator.evaluate((element) => element === document.activeElement));

async function logIn(page, user = 'ada') {
  await userField(page).fill(user);
  await passwordField(page).fill(PASSWORD);
  await page.keyboard.press('Enter');
}

export const checks = ({ url }) => {
  const at = (address) => new URL(address, url).href;
  const looks = ['light', 'dark'].flatMap((colorScheme) => [1280, 320].map((width) => [`login: axe, hostile text (${colorScheme}, ${width} pixels)`, undefined, { ...options, colorScheme, viewport: { width, height: 640 } }, async (page) => {
    await standIn(page);
    await page.goto(at(DEEP));
    for (const isWrong of [false, true]) {
      await userField(page).waitFor();
      if (isWrong) {
        await userField(page).fill('ada');
        await passwordField(page).fill('wrong');
        await page.keyboard.press('Enter');
        await page.getByRole('alert').getByText('<img src=x onerror=alert(1)>\\u202e').waitFor();
        expect((await page.locator('main img').count()) === 0, 'a detail made an element');
      }
      const found = await violations(page);
      expect(found === '', found);
      const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(scroll <= width, `${scroll} pixels`);
    }
  }]));
  return [
    ['login: by keyboard, after a wrong password, to where the address was', undefined, options, async (page) => {
      const service = await standIn(page);
      await page.goto(at(DEEP));
      await userField(page).waitFor();
      await isFocused(page, userField(page));
      await page.keyboard.press('Enter');
      expect(service.asked.length === 0, 'an empty form is sent');
      await page.keyboard.type('ada');
      await page.keyboard.press('Tab');
      await page.keyboard.type('wrong');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Space');
      await becomes(page, () => passwordField(page).getAttribute('type'), (type) => type === 'text');
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await isFocused(page, passwordField(page));
      await becomes(page, () => passwordField(page).inputValue(), (typed) => typed === '');
      await page.keyboard.type(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByText('Nothing was found').waitFor();
      expect(page.url() === at(DEEP), page.url());
      expect(JSON.stringify(service.asked.at(-1)) === JSON.stringify({ user: 'ada', password: PASSWORD }), JSON.stringify(service.asked));
      expect((await page.evaluate(() => sessionStorage.getItem('trawl.session'))) === 'secret-1', 'the session is not kept');
      await isFocused(page, page.locator('main'));
      const tab = await page.context().newPage();
      await tab.goto(at('/'));
      await tab.getByRole('searchbox').waitFor();
    }],
    ['login: with a token', undefined, options, async (page) => {
      const service = await standIn(page);
      await page.goto(at('/'));
      await page.getByRole('button', { name: 'Use a token instead' }).click();
      await isFocused(page, page.getByLabel('Token', { exact: true }));
      await page.keyboard.type('right');
      await page.keyboard.press('Enter');
      await page.getByRole('searchbox').waitFor();
      expect(JSON.stringify(service.asked) === '[{"token":"right"}]', JSON.stringify(service.asked));
    }],
    ['login: a link begins no session of somebody else', undefined, options, async (page) => {
      const service = await standIn(page);
      await page.goto(at('/space#token=right'));
      await userField(page).waitFor();
      expect(service.asked.length === 0 && page.url() === at('/space'), page.url());
    }],
    ['login: a link begins a session where the server gives links', undefined, options, async (page) => {
      await standIn(page, { ways: ['link'] });
      await page.goto(at(`${DEEP}#token=right`));
      await page.getByText('ada on h').waitFor();
      expect(page.url() === at(DEEP), page.url());
    }],
    ['login: too many attempts are counted down', undefined, options, async (page) => {
      const service = await standIn(page, { refusal: problem(429, 'Too many attempts', '', { 'Retry-After': '65' }) });
      await page.clock.install();
      await page.goto(at('/'));
      await logIn(page);
      await page.getByRole('alert').getByText('Too many attempts').waitFor();
      await page.getByRole('status').getByText('You can try again in 1 minute').waitFor();
      expect(await page.getByRole('button', { name: 'Log in' }).isDisabled(), 'it can be tried again at once');
      await page.keyboard.press('Enter');
      expect(service.asked.length === 1, 'it was tried again at once');
      await page.clock.fastForward(70_000);
      await page.getByRole('status').getByText('You can try again now').waitFor();
      service.refusal = problem(503, 'Busy', 'come back later');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('come back later').waitFor();
      expect((await passwordField(page).inputValue()) === PASSWORD, 'the password is forgotten');
      service.refusal = undefined;
      await page.keyboard.press('Enter');
      await page.getByRole('searchbox').waitFor();
    }],
    ['login: a session that ends leaves the view as it was', undefined, options, async (page) => {
      const service = await standIn(page);
      await page.goto(at('/sql?q=SELECT+1'));
      await logIn(page);
      const editor = page.getByLabel('SQL', { exact: true });
      await editor.fill('SELECT 2 -- typed');
      const tab = await page.context().newPage();
      watchTraffic(tab);
      await tab.goto(at('/sql?q=SELECT+1'));
      await tab.getByLabel('SQL', { exact: true }).waitFor();
      // A question that is still on its way would end the session before the click.
      for (const one of [page, tab]) await settled(one);
      service.secret = 'secret-2';
      for (const one of [tab, page]) {
        await one.getByRole('button', { name: 'Run' }).click();
        await one.getByText('The session has ended').waitFor();
        expect(!(await one.getByRole('button', { name: 'Run' }).isVisible()), 'the view is still shown');
      }
      await logIn(page);
      await page.getByRole('button', { name: 'Run' }).waitFor();
      expect((await editor.inputValue()) === 'SELECT 2 -- typed', await editor.inputValue());
      await page.getByText(/^1 row/).waitFor();
      // The other tab was given the new session.
      await tab.getByRole('button', { name: 'Run' }).waitFor();
    }],
    ['login: another user sees nothing of the one before', undefined, options, async (page) => {
      const service = await standIn(page);
      await page.goto(at('/sql?q=SELECT+1'));
      await logIn(page);
      const editor = page.getByLabel('SQL', { exact: true });
      await editor.fill('SELECT 2 -- typed');
      await settled(page);
      Object.assign(service, { secret: 'secret-2', user: 'bob', uid: 1001 });
      await page.getByRole('button', { name: 'Download CSV' }).click();
      await logIn(page, 'bob');
      await page.getByText('bob on h').waitFor();
      await editor.waitFor();
      expect((await editor.inputValue()) === 'SELECT 1', await editor.inputValue());
    }],
    ['login: the end of a session leads to the form', undefined, options, async (page) => {
      await standIn(page);
      await page.goto(at('/'));
      await logIn(page);
      await page.getByRole('button', { name: 'End this session' }).click();
      await userField(page).waitFor();
      expect((await page.evaluate(() => sessionStorage.getItem('trawl.session'))) === null, 'the session stays');
    }],
    ['login: none where the server knows who asks', undefined, options, async (page) => {
      const service = await standIn(page, { ways: ['proxy'], knows: true });
      await page.goto(at(DEEP));
      await settled(page);
      await page.getByText('ada on h').waitFor();
      expect((await page.getByRole('button', { name: 'End this session' }).count()) === 0, 'there is no session to end');
      service.knows = false;
      await page.reload();
      await page.getByText('A certificate, or a proxy').waitFor();
      service.knows = true;
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('ada on h').waitFor();
    }],
    ...looks,
  ];
};
