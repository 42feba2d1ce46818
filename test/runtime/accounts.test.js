'use strict';
// npm run accounts, for real: its command line, and its pages against a browser and against attackers.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { DatabaseSync } = require('node:sqlite');
const { eventually } = require('../../bench/harness/net');
const { readArguments } = require('../../flows/accounts/arguments');
const { MOST_ROWS, Storage } = require('../../flows/accounts/storage');
const { Browser, logIn, shownCode } = require('../fixtures/ocf/login');
const { SECRET, accounts, passwordOf, startProvider } = require('../fixtures/ocf/provider');

jest.setTimeout(60000);
const seed = Number(process.env.SEGANET_SEED ?? 1);

describe('the command line', () => {
  test.each([
    [[], {}, /--users is missing/],
    [['--users', 'x', '--speed', '1'], {}, /--speed/],
    [['--users', 'x', '--port', '70000'], {}, /--port takes a whole number/],
    [['--users', 'x', '--cert', 'c'], {}, /--cert and --key belong together/],
    [['--users', 'x', '--redirect', 'javascript:alert(1)'], {}, /--redirect takes an address/],
    [['--users', 'x', '--issuer', 'http://accounts.example'], {}, /--issuer takes an address/],
    [['--users', 'x', '--issuer', 'https://accounts.example'], {}, /needs TLS.*Set --cert and --key/],
    [
      ['--users', 'x', '--issuer', 'http://localhost:3000', '--cert', 'c', '--key', 'k'],
      {},
      /must begin with https/
    ],
    [['--users', 'x'], { SEGANET_ACCOUNTS_SECRET: 'short' }, /at least 16/],
    [['--users', 'x', '--host', '0.0.0.0'], { SEGANET_ACCOUNTS_SECRET: SECRET }, /Set --cert and --key/],
    [['--users', 'x', '--host', '0.0.0.0', '--cert', 'c', '--key', 'k'], {}, /SEGANET_ACCOUNTS_SECRET/]
  ])('%j with %j is refused', (args, env, sentence) => {
    expect(() => readArguments(args, /** @type {any} */ (env))).toThrow(sentence);
  });

  test('the issuer equals the Origin that browsers send', () => {
    const args = ['--users', 'x', '--issuer', 'HTTPS://Accounts.Example:443/', '--cert', 'c', '--key', 'k'];
    expect(readArguments(args, {})?.issuer).toBe('https://accounts.example');
    expect(readArguments(['--users', 'x'], {})?.issuer).toBe('');
  });

  test('a full provider refuses new logins, and not those in progress', async () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'accounts-')), 'store.db');
    const storage = new Storage(file);
    const logins = new storage.Adapter('Interaction');
    const db = new DatabaseSync(file);
    db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MOST_ROWS})
      INSERT INTO item (model, id, payload, expires) SELECT 'Interaction', i, '{}', 100000000000 FROM n`);
    db.close();
    await expect(logins.upsert('new', {}, 60)).rejects.toThrow('too many logins');
    await logins.upsert('7', { result: 'yes' }, 60);
    expect(await logins.find('7')).toEqual({ result: 'yes' });
    storage.close();
  });

  test('a wrong option ends with code 2, a missing file with 1, the help with 0', async () => {
    const all = [[], ['--users', '/nowhere/users'], ['--help']].map((args) => accounts(args));
    const ends = await Promise.all(all.map((child) => child.exited));
    expect(ends.map(({ code }) => code)).toEqual([2, 1, 0]);
    expect(all[0].output).toMatch(/--users is missing/);
    expect(all[1].output).toMatch(/\/nowhere\/users.*no such file/i);
    expect(all[2].output).toMatch(/--users FILE/);
  });
});

describe('the pages', () => {
  /** @type {any} */
  let provider;
  beforeAll(async () => {
    provider = await startProvider();
  });
  afterAll(async () => {
    const output = provider?.output();
    await provider?.stop();
    expect(output).not.toMatch(/failed/);
  });
  /** @param {Browser} browser */
  const form = (browser) => browser.go(`${provider.issuer}/login`);
  const alice = { user: 'alice', password: passwordOf('alice') };

  test('can be read without scripts, and cannot be framed, cached or scripted', async () => {
    const browser = new Browser();
    for (const page of [await browser.go(`${provider.issuer}/`), await form(browser)]) {
      expect(page.status).toBe(200);
      expect(page.html).toMatch(/^<!DOCTYPE html>\n<html lang="en">/);
      expect(page.html).toMatch(/<title>.+<\/title>[^]*<main>\n<h1>/);
      expect(page.html).not.toMatch(/<script|\son\w+=/);
      expect(page.headers.get('cache-control')).toBe('no-store');
      const policy = page.headers.get('content-security-policy');
      expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    }
    const { html } = await form(browser);
    for (const id of ['user', 'password']) {
      expect(html).toMatch(`<label for="${id}">`);
      expect(html).toMatch(`id="${id}"`);
    }
  });

  test('a second code needs a consent, and no password; another user can log in instead', async () => {
    const browser = new Browser();
    const first = shownCode(await browser.submit(await form(browser), alice));
    const consent = await form(browser);
    expect(consent.html).toMatch('<strong>alice</strong>');
    const second = shownCode(await browser.submit(consent, {}));
    expect(first).toMatch(/^[\w-]{20,}$/);
    expect(second).toMatch(/^[\w-]{20,}$/);
    expect(second).not.toBe(first);
    const other = await browser.go(`${provider.issuer}/login?as=other`);
    expect(other.html).toMatch(/<label for="password">/);
  });

  test('a wrong password and an unknown user get the same page', async () => {
    const browser = new Browser();
    const wrong = await browser.submit(await form(browser), { ...alice, password: 'wrong' });
    const unknown = await browser.submit(await form(browser), { user: 'alicia', password: 'wrong' });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.html).toMatch(/role="alert" id="problem">The user or the password is wrong/);
    const same = (/** @type {string} */ html) =>
      html.replace(/alicia|alice/g, '').replace(/interaction\/[\w-]+/, '');
    expect(same(wrong.html)).toBe(same(unknown.html));
    expect(shownCode(await browser.submit(wrong, alice))).not.toBe('');
  });

  test('a form of another site, and one without the cookies of its browser, is refused', async () => {
    const browser = new Browser();
    const page = await form(browser);
    const evil = { headers: { origin: 'https://evil.example' } };
    expect((await browser.submit(page, alice, evil)).status).toBe(403);
    expect((await browser.submit(page, alice, { headers: { origin: 'null' } })).status).toBe(403);
    expect((await new Browser().submit(page, alice)).status).toBe(400);
    const text = { headers: { 'content-type': 'text/plain' } };
    expect((await browser.submit(page, alice, text)).status).toBe(415);
    expect(shownCode(await browser.submit(page, alice))).not.toBe('');
  });

  test('a link cannot show a code of another user', async () => {
    const code = await logIn(provider.issuer, 'bob', passwordOf('bob'));
    const browser = new Browser();
    await form(browser);
    for (const state of ['', 'x', 'A'.repeat(43)]) {
      const page = await browser.go(`${provider.issuer}/code?code=${code}&state=${state}`);
      expect([page.status, shownCode(page)]).toEqual([400, '']);
    }
  });

  test('what a request says is shown as text', async () => {
    const browser = new Browser();
    const user = '"><script>alert(1)</script>';
    const page = await browser.submit(await form(browser), { user, password: 'x' });
    expect(page.html).toMatch('value="&quot;&gt;&lt;script&gt;');
    expect(page.html).not.toMatch('<script');
    const query = 'client_id=%3Cscript%3E&redirect_uri=https://evil.example';
    const wrong = await browser.go(`${provider.issuer}/auth?response_type=code&${query}`);
    expect(wrong.status).toBe(400);
    expect(wrong.html).not.toMatch('<script');
  });

  test('codes leave for known redirect URIs only', async () => {
    const query = 'client_id=seganet-cloud&response_type=code&scope=openid';
    for (const uri of [
      'https://evil.example/',
      `${provider.issuer}/code/../x`,
      `${provider.issuer}/code?x=1`
    ]) {
      const page = await new Browser().go(
        `${provider.issuer}/auth?${query}&redirect_uri=${encodeURIComponent(uri)}`
      );
      expect([uri, page.status]).toEqual([uri, 400]);
      expect(page.html).toMatch(/redirect_uri/);
    }
  });

  test('overlong input and injected headers are refused', async () => {
    const browser = new Browser();
    const page = await form(browser);
    const overlong = { ...alice, user: 'a'.repeat(9000) };
    const { status } = await browser.submit(page, overlong).catch(() => ({ status: 'closed' }));
    expect([413, 'closed']).toContain(status);
    expect((await browser.submit(page, { ...alice, user: 'a\r\nSet-Cookie: x=1' })).status).toBe(401);
    const state = encodeURIComponent('x\r\nSet-Cookie: evil=1');
    const redirect = encodeURIComponent(`${provider.issuer}/code`);
    const query = `client_id=seganet-cloud&response_type=id_token&redirect_uri=${redirect}&state=${state}`;
    const answer = await browser.go(`${provider.issuer}/auth?${query}`, { follow: false });
    expect(answer.headers.getSetCookie().join()).not.toMatch(/evil=/);
    const long = await browser.go(`${provider.issuer}/?${'x'.repeat(20000)}`);
    expect(long.status).toBe(431);
    for (const method of ['PUT', 'DELETE', 'POST']) {
      expect((await fetch(`${provider.issuer}/`, { method })).status).toBe(405);
    }
  });

  test(`random requests get an answer and end nothing (seed ${seed})`, async () => {
    let state = seed;
    const random = (/** @type {number} */ n) => (state = (state * 1103515245 + 12345) % 2 ** 31) % n;
    const pieces = [
      'GET ',
      'POST ',
      '/auth',
      '/token',
      '/interaction/',
      '/code',
      '/login',
      '/',
      '?',
      '&',
      '=',
      '%',
      '%00',
      '%ff'
    ];
    pieces.push(
      '\r\n',
      ' HTTP/1.1',
      'Host: x',
      'Cookie: ',
      '_interaction=',
      ';',
      '\0',
      'x'.repeat(300),
      '..',
      'a',
      ':',
      '//'
    );
    for (let i = 0; i < 150; i++) {
      const text = Array.from({ length: 1 + random(12) }, () => pieces[random(pieces.length)]).join('');
      const whole = random(2)
        ? `${text}\r\n\r\n`
        : `GET /${encodeURI(text)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      await new Promise((resolve) => {
        const socket = net.connect(provider.port, '127.0.0.1', () => socket.end(whole));
        socket.on('error', () => {});
        socket.on('data', () => {});
        socket.on('close', resolve);
      });
    }
    expect((await new Browser().go(`${provider.issuer}/`)).status).toBe(200);
  });

  test('a user who is no longer in the file cannot log in', async () => {
    const old = new Browser();
    expect(
      shownCode(await old.submit(await form(old), { user: 'bob', password: passwordOf('bob') }))
    ).not.toBe('');
    await provider.setUsers(['alice']);
    await eventually(
      async () => {
        const browser = new Browser();
        const page = await browser.submit(await form(browser), { user: 'bob', password: passwordOf('bob') });
        return page.status === 401;
      },
      { timeoutMs: 20000, what: 'the file is read again' }
    );
    // The session of the removed user gets the form again, in which another user can log in.
    const again = await form(old);
    expect([again.status, /<label for="password">/.test(again.html)]).toEqual([200, true]);
    const end = await old.submit(again, alice);
    const hidden = [...end.html.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
    const fields = Object.fromEntries(hidden.map(([, name, value]) => [name, value]));
    expect(shownCode(await old.submit(end, fields))).not.toBe('');
    expect(await logIn(provider.issuer, 'alice', passwordOf('alice'))).not.toBe('');
  });

  test('many wrong passwords of an address are slowed down', async () => {
    const browser = new Browser();
    let page = await form(browser);
    const times = [];
    for (let i = 0; i < 3; i++) {
      const start = performance.now();
      page = await browser.submit(page, { user: 'alice', password: `wrong-${i}` });
      times.push(performance.now() - start);
    }
    expect(times.at(-1)).toBeGreaterThan(400);
  });

  test('a second one on the same port says which port is taken', async () => {
    const users = path.join(provider.folder, 'users');
    const child = accounts(['--users', users, '--port', `${provider.port}`]);
    expect((await child.exited).code).toBe(1);
    expect(child.output).toMatch(`Port ${provider.port} is taken`);
  });
});
