'use strict';
// An OpenID provider that is asked again about the user of a device, at each refresh.

const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { scenes } = require('../../fixtures/ocf/scenes');
const { OidcUsers } = require('../../../nodes/lib/ocf/oidc/oidc-users');
const { TokenSealer } = require('../../../nodes/lib/ocf/oidc/token-sealer');

const ISSUER = 'https://accounts.example';
const HOUR = 3600000;

/** A provider with refresh tokens; `state` is what it does with the next question. */
const issuer = {
  state: 'right',
  rotates: false,
  /** @type {string[]} */
  asked: [],
  count: 0,
  /** @param {string} code */
  async exchange(code) {
    if (code === 'wrong') return null;
    return { issuer: ISSUER, sub: 'alice', refreshToken: code === 'none' ? '' : `r-${code}` };
  },
  /** @param {string} token */
  async renew(token) {
    issuer.asked.push(token);
    await new Promise((resolve) => setImmediate(resolve));
    if (issuer.state === 'refused') return null;
    if (issuer.state === 'unsent') throw Object.assign(new Error('down'), { wasSent: false });
    if (issuer.state === 'lost') throw Object.assign(new Error('no answer'), { wasSent: true });
    return { refreshToken: issuer.rotates ? `rotated-${++issuer.count}` : '' };
  }
};
/** @type {string[]} */
const warnings = [];
const sealer = new TokenSealer('secret', ISSUER);
let cloud;
beforeAll(async () => {
  const warn = (sentence) => warnings.push(sentence);
  const users = (store, now) => new OidcUsers({ issuer, provider: '', sealer, store, warn, now });
  cloud = await startControlPlane({ accessSeconds: -1 }, { users });
});
afterAll(async () => {
  await cloud?.stop();
  expect(cloud?.problems()).toEqual([]);
});
beforeEach(() => {
  Object.assign(issuer, { state: 'right', rotates: false, asked: [] });
  warnings.length = 0;
});
const { connected } = scenes(() => cloud);
let codes = 0;

async function device(code = `c${++codes}`) {
  const client = await connected();
  expect((await client.signUp(code)).code).toBe('2.04');
  expect((await client.signIn()).code).toBe('2.04');
  return client;
}

test('is asked with its refresh token, and a replaced one is kept', async () => {
  const client = await device('one');
  issuer.rotates = true;
  for (let i = 0; i < 2; i++) expect((await client.refresh()).code).toBe('2.04');
  expect(issuer.asked).toEqual(['r-one', 'rotated-1']);
});

test('a refusal ends the session and is 4.01, until the provider allows the user again', async () => {
  const client = await device();
  issuer.state = 'refused';
  expect((await client.refresh()).code).toBe('4.01');
  await cloud.pass(29000);
  expect((await client.request('GET', '/oic/res')).code).toBe('2.05');
  await cloud.pass(2000);
  expect((await client.request('GET', '/oic/res')).code).toBe('4.01');
  issuer.state = 'right';
  expect((await client.refresh()).code).toBe('2.04');
  expect((await client.signIn()).code).toBe('2.04');
});

test('a provider that cannot be reached changes nothing for a day, and is then 5.03, never 4.01', async () => {
  const client = await device();
  issuer.state = 'unsent';
  await cloud.pass(23 * HOUR);
  expect((await client.refresh()).code).toBe('2.04');
  await cloud.pass(2 * HOUR);
  const answer = await client.refresh();
  expect([answer.code, answer.options]).toEqual(['5.03', [[14, Buffer.from([60])]]]);
  issuer.state = 'right';
  expect((await client.refresh()).code).toBe('2.04');
});

test('after a lost answer, a refusal counts as no answer, because the token may have been replaced', async () => {
  const client = await device();
  issuer.state = 'lost';
  expect((await client.refresh()).code).toBe('2.04');
  issuer.state = 'refused';
  expect((await client.refresh()).code).toBe('2.04');
  await cloud.pass(25 * HOUR);
  expect((await client.refresh()).code).toBe('5.03');
});

test('after a question that was not sent, a refusal counts', async () => {
  const client = await device();
  issuer.state = 'unsent';
  expect((await client.refresh()).code).toBe('2.04');
  issuer.state = 'refused';
  expect((await client.refresh()).code).toBe('4.01');
});

test('is not asked about devices with access codes, nor with a wrong refresh token', async () => {
  const own = await device(await cloud.codeFor('carol'));
  expect((await own.refresh()).code).toBe('2.04');
  const client = await device();
  expect((await client.refresh('wrong')).code).toBe('4.01');
  expect(issuer.asked).toEqual([]);
  const row = async () => cloud.store.read('providerToken', { di: client.di });
  expect(await row()).not.toBeNull();
  await cloud.cloud.deleteDevice(client.di);
  expect(await row()).toBeNull();
});

test('warns of a login without a refresh token, and does not ask then', async () => {
  const client = await device('none');
  expect((await client.refresh()).code).toBe('2.04');
  expect(issuer.asked).toEqual([]);
  expect(warnings.join()).toMatch(/gave no refresh token .* offline_access/);
});

test('does not ask with a token that another client secret encrypted: warns for 30 days, then refuses', async () => {
  const client = await device();
  const sealed = new TokenSealer('other secret', ISSUER).seal('r', client.di);
  const { asked } = await cloud.store.read('providerToken', { di: client.di });
  await cloud.store.write('confirmProviderToken', { di: client.di, sealed, now: asked });
  expect((await client.refresh()).code).toBe('2.04');
  await cloud.pass(29 * 24 * HOUR);
  expect((await client.refresh()).code).toBe('2.04');
  expect(warnings).toHaveLength(2);
  const day = new Date(asked + 30 * 24 * HOUR).toISOString().slice(0, 10);
  expect(warnings[1]).toMatch(
    new RegExp(`client secret was changed.* It must sign up again; it will be refused after ${day}`)
  );
  await cloud.pass(25 * HOUR);
  expect((await client.refresh()).code).toBe('4.01');
  expect(warnings.at(-1)).toMatch(/It is refused since/);
  await cloud.pass(31000);
  expect((await client.request('GET', '/oic/res')).code).toBe('4.01');
  expect(issuer.asked).toEqual([]);
});

test('asks one question at a time for a device', async () => {
  const client = await device();
  const [first, second] = [await connected(), await connected()];
  for (const each of [first, second]) each.as(client);
  const answers = await Promise.all([first.refresh(), second.refresh()]);
  expect(answers.map(({ code }) => code)).toEqual(['2.04', '2.04']);
  expect(issuer.asked).toHaveLength(1);
});

test('keeps a token encrypted, for one device', () => {
  const sealed = sealer.seal('a refresh token', 'a');
  expect(sealed.includes('refresh')).toBe(false);
  expect(sealer.seal('a refresh token', 'a').equals(sealed)).toBe(false);
  expect(sealer.open(sealed, 'a')).toBe('a refresh token');
  expect(sealer.open(sealed, 'b')).toBeNull();
  for (let i = 0; i < sealed.length; i++) {
    const damaged = Buffer.from(sealed);
    damaged[i] ^= 1;
    expect(sealer.open(damaged, 'a')).toBeNull();
    expect(sealer.open(sealed.subarray(0, i), 'a')).toBeNull();
  }
});
