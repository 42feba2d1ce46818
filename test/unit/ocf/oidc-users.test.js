'use strict';
// Users of an OpenID provider: what a cloud answers to sign-ups, and how often it asks the provider.

const { randomUUID } = require('node:crypto');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { scenes } = require('../../fixtures/ocf/scenes');
const { OidcUsers, MOST_OPEN } = require('../../../nodes/lib/ocf/oidc/oidc-users');
const { loadClient } = require('../../../nodes/lib/ocf/oidc/client-package');
const settings = require('../../../nodes/lib/ocf/node/cloud-settings');
const { readSettings } = require('../../../nodes/lib/settings/migrations');
const { userId } = require('../../../nodes/lib/ocf/cloud/tokens');

const ISSUER = 'https://accounts.example';

/** A provider that takes each code once: the code `alice-1` is one of alice. */
class FakeIssuer {
  isDown = false;
  /** @type {string[]} */
  asked = [];
  /** @type {Set<string>} */
  #used = new Set();

  /** @param {string} code */
  async exchange(code) {
    this.asked.push(code);
    await new Promise((resolve) => setImmediate(resolve));
    if (this.isDown) throw new Error('down');
    if (!/^(alice|bob)-\d+$/.test(code) || this.#used.has(code)) return null;
    this.#used.add(code);
    return { issuer: ISSUER, sub: code.split('-')[0], refreshToken: '' };
  }
}

describe('sign-up with a code of the provider', () => {
  let cloud;
  const issuer = new FakeIssuer();
  beforeAll(async () => {
    cloud = await startControlPlane(
      {},
      { users: (store, now) => new OidcUsers({ issuer, provider: 'house', store, now }) }
    );
  });
  afterAll(async () => {
    await cloud?.stop();
    expect(cloud?.problems()).toEqual([]);
  });
  beforeEach(async () => {
    issuer.asked.length = 0;
    issuer.isDown = false;
    // Wrong attempts are counted by address.
    await cloud.pass(61000);
  });
  const { connected } = scenes(() => cloud);
  const signUp = async (code, more = {}) => {
    const client = await connected();
    return { client, answer: await client.signUp(code, { authprovider: 'house', ...more }) };
  };

  test('gives the user a stable id, another one than an access code with the same name', async () => {
    const first = await signUp('alice-1');
    const second = await signUp('alice-2');
    const own = await signUp(await cloud.codeFor('alice'));
    expect(first.answer.code).toBe('2.04');
    expect(first.answer.value).toMatchObject({ uid: userId(ISSUER, 'alice'), redirecturi: '' });
    expect(second.answer.value.uid).toBe(first.answer.value.uid);
    expect(own.answer.code).toBe('2.04');
    expect(own.answer.value.uid).not.toBe(first.answer.value.uid);
    expect(issuer.asked).toEqual(['alice-1', 'alice-2']);
    expect((await second.client.signIn()).code).toBe('2.04');
  });

  test('answers a wrong code with 4.01, and one that another device used', async () => {
    expect((await signUp('nonsense')).answer.code).toBe('4.01');
    expect((await signUp('bob-1')).answer.code).toBe('2.04');
    expect((await signUp('bob-1')).answer.code).toBe('4.01');
    // A provider revokes what a code gave when the code comes again.
    expect(issuer.asked).toEqual(['nonsense', 'bob-1']);
  });

  test('takes the same code from the same device for 10 minutes, and asks the provider once', async () => {
    const di = randomUUID();
    const first = await signUp('bob-2', { di });
    const again = await signUp('bob-2', { di });
    expect([first.answer.code, again.answer.code]).toEqual(['2.04', '2.04']);
    expect(again.answer.value.uid).toBe(first.answer.value.uid);
    expect(again.answer.value.accesstoken).not.toBe(first.answer.value.accesstoken);
    await cloud.pass(601000);
    expect((await signUp('bob-2', { di })).answer.code).toBe('4.01');
    expect(issuer.asked[0]).toBe('bob-2');
  });

  test('asks once for sign-ups of one device that arrive at the same time', async () => {
    const di = randomUUID();
    const all = await Promise.all([signUp('bob-3', { di }), signUp('bob-3', { di }), signUp('bob-3')]);
    expect(all.map(({ answer }) => answer.code).sort()).toEqual(['2.04', '2.04', '4.01']);
    expect(issuer.asked).toEqual(['bob-3']);
  });

  test('answers 5.03 with Max-Age while the provider is down, and takes the code afterwards', async () => {
    issuer.isDown = true;
    const { answer } = await signUp('bob-4');
    expect(answer.code).toBe('5.03');
    expect(answer.options).toEqual([[14, Buffer.from([30])]]);
    expect((await signUp(await cloud.codeFor('carol'))).answer.code).toBe('2.04');
    issuer.isDown = false;
    expect((await signUp('bob-4')).answer.code).toBe('2.04');
  });

  test('does not ask for a device that names another provider, nor with a code that cannot be one', async () => {
    expect((await signUp('bob-5', { authprovider: 'other' })).answer.code).toBe('4.01');
    expect((await signUp('bob-5\r\nX: 1')).answer.code).toBe('4.01');
    expect((await signUp('bób')).answer.code).toBe('4.01');
    expect(issuer.asked).toEqual([]);
    expect((await signUp('bob-5', { authprovider: '' })).answer.code).toBe('2.04');
  });

  test('counts wrong codes, so that an address cannot try many', async () => {
    for (let i = 0; i < 10; i++) expect((await signUp(`wrong-${i}`)).answer.code).toBe('4.01');
    expect((await signUp('alice-9')).answer.code).toBe('4.29');
    expect(issuer.asked).toHaveLength(10);
  });
});

test('has at most 32 questions open at the provider', async () => {
  let asked = 0;
  const issuer = { exchange: () => (asked++, new Promise(() => {})) };
  const users = new OidcUsers({ issuer, provider: '', store: { read: async () => '' } });
  const device = { di: randomUUID(), provider: '' };
  for (let i = 0; i < MOST_OPEN; i++) void users.exchange(`code-${i}`, device);
  await expect(users.exchange('one more', device)).rejects.toMatchObject({ code: '5.03', maxAge: 5 });
  expect(asked).toBe(MOST_OPEN);
});

test('names the command that installs the client', async () => {
  const missing = Object.assign(new Error("Cannot find package 'openid-client'"), {
    code: 'ERR_MODULE_NOT_FOUND'
  });
  await expect(loadClient(() => Promise.reject(missing))).rejects.toThrow(/npm install openid-client@6/);
  await expect(loadClient(() => Promise.reject(new Error('bad file')))).rejects.toThrow(
    /does not load \(bad file\)/
  );
});

describe('the settings of the issuer', () => {
  const right = {
    issuer: ISSUER,
    clientId: 'cloud',
    clientSecret: 's',
    redirectUri: 'https://accounts.example/code'
  };
  /** @param {object} change */
  const check = (change) => {
    const { values, problems } = readSettings({ ...right, ...change }, settings.schema);
    if (problems.length > 0) throw new Error(problems.join(' '));
    settings.check(values);
    return settings.oidcSettings(values);
  };

  test('are accepted unchanged', () => {
    expect(check({})).toEqual({ ...right, provider: '', asksAgain: false });
    expect(check({ issuer: 'http://127.0.0.1:3000', provider: 'house' })).toMatchObject({
      provider: 'house'
    });
    expect(check({ issuer: '' })).toBeNull();
  });

  test.each([
    [{ issuer: 'http://accounts.example' }, /must begin with https/],
    [{ issuer: 'accounts.example' }, /must be an address/],
    [{ issuer: 'https://u:p@accounts.example' }, /must be an address/],
    [{ clientId: '' }, /needs a client id/],
    [{ clientId: 'a b' }, /without spaces/],
    [{ clientSecret: '', asksAgain: true }, /with a client secret/],
    [{ redirectUri: '' }, /needs the redirect URI/],
    [{ redirectUri: '/code' }, /must be an address/],
    [{ provider: 'x'.repeat(65) }, /at most 64/]
  ])('%j is refused', (change, sentence) => {
    expect(() => check(change)).toThrow(sentence);
  });
});
