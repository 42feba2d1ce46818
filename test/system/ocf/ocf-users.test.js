'use strict';
// Users of an OpenID provider, with the provider of flows/accounts and the ocf cloud node, each in a child process; and
// what the cloud makes of providers that lie.

const http = require('node:http');
const path = require('node:path');
const { once } = require('node:events');
const { fork } = require('node:child_process');
const { createSign, generateKeyPairSync } = require('node:crypto');
const { eventually } = require('../../../bench/harness/net');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { logIn } = require('../../fixtures/ocf/login');
const { passwordOf, startProvider } = require('../../fixtures/ocf/provider');
const { LIGHT, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(120000);

describe('a cloud with a provider', () => {
  /** @type {any} */
  let provider;
  /** @type {any} */
  let cloud;
  beforeAll(async () => {
    provider = await startProvider();
    cloud = await startGatewayCloud({ node: { ...provider.node, asksAgain: true } });
  });
  afterAll(async () => {
    const problems = cloud?.problems();
    await cloud?.stop();
    await provider?.stop();
    expect(problems).toEqual([]);
  });
  const { connected } = scenes(() => cloud);
  const codeOf = (/** @type {string} */ user) => logIn(provider.issuer, user, passwordOf(user));

  /** @param {string} user @param {string} [code] */
  async function signedUp(user, code) {
    const client = await connected();
    expect((await client.signUp(code ?? (await codeOf(user)))).code).toBe('2.04');
    expect((await client.signIn()).code).toBe('2.04');
    return client;
  }

  test('devices of one user find each other, and not those of another user', async () => {
    const [lamp, phone, stranger] = [await signedUp('alice'), await signedUp('alice'), await signedUp('bob')];
    expect((await lamp.publish([LIGHT])).code).toBe('2.04');
    expect(phone.uid).toBe(lamp.uid);
    expect(stranger.uid).not.toBe(lamp.uid);
    const linksOf = async (/** @type {any} */ client) => (await client.request('GET', '/oic/res')).value;
    expect(await linksOf(phone)).toHaveLength(1);
    expect(await linksOf(stranger)).toEqual([]);
    // A device of alice stays hers.
    const thief = await connected();
    expect((await thief.signUp(await codeOf('bob'), { di: lamp.di })).code).toBe('4.03');
  });

  test('a code is for one device; its sign-up can be repeated, and a wrong code is 4.01', async () => {
    const code = await codeOf('alice');
    const device = await signedUp('alice', code);
    expect((await device.signUp(code)).code).toBe('2.04');
    expect((await device.refresh()).code).toBe('2.04');
    expect((await (await connected()).signUp(code)).code).toBe('4.01');
    expect((await (await connected()).signUp(`${code}x`)).code).toBe('4.01');
  });

  test('while the provider is down, sign-ups are 5.03 and devices stay; afterwards the same code works', async () => {
    const device = await signedUp('bob');
    const code = await codeOf('bob');
    await provider.down();
    const next = await connected();
    const answer = await next.signUp(code);
    expect(answer.code).toBe('5.03');
    expect(answer.options.some(([number]) => number === 14)).toBe(true);
    expect((await device.refresh()).code).toBe('2.04');
    expect((await device.signIn()).code).toBe('2.04');
    expect((await (await connected()).signUp(await cloud.codeFor('carol'))).code).toBe('2.04');
    expect(cloud.gateway.output).toMatch(/The provider of users http:\S+ cannot be used: .*ECONNREFUSED/);
    await provider.up();
    await eventually(async () => (await next.signUp(code)).code === '2.04', {
      timeoutMs: 20000,
      what: 'the sign-up after the provider came back'
    });
    expect(next.uid).toBe(device.uid);
  });

  test('a user who is no longer in the password file gets 4.01 at a refresh; others continue', async () => {
    const [alice, bob] = [await signedUp('alice'), await signedUp('bob')];
    for (const each of [alice, bob]) expect((await each.refresh()).code).toBe('2.04');
    await provider.setUsers(['alice']);
    await eventually(async () => (await bob.refresh()).code === '4.01', {
      timeoutMs: 20000,
      what: 'the refusal of bob'
    });
    expect((await alice.refresh()).code).toBe('2.04');
  });
});

describe('a provider that lies', () => {
  const ec = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [own, other] = [ec(), ec()];
  /** What it answers next. @type {any} */
  let next = {};
  /** @type {http.Server} */
  let server;
  let issuer = '';
  /** @type {import('node:child_process').ChildProcess} */
  let client;

  /** @param {object} claims @param {{ key?: any, alg?: string }} [options] */
  function idToken(claims, { key = own.privateKey, alg = 'ES256' } = {}) {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: issuer, aud: 'cloud', sub: 'alice', iat: now, exp: now + 60, ...claims };
    const parts = [{ alg, kid: 'k' }, all].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url')
    );
    const sign = createSign('sha256').update(parts.join('.'));
    const signature = alg === 'none' ? '' : sign.sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url');
    return `${parts.join('.')}.${signature}`;
  }

  beforeAll(async () => {
    client = fork(path.join(__dirname, '..', '..', 'fixtures', 'ocf', 'exchange-code.js'));
    server = http.createServer((request, response) => {
      const json = (/** @type {number} */ status, /** @type {unknown} */ body) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      };
      if (request.url === '/.well-known/openid-configuration') {
        json(200, {
          issuer,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          authorization_endpoint: `${issuer}/auth`,
          id_token_signing_alg_values_supported: ['ES256'],
          ...next.metadata
        });
      } else if (request.url === '/keys') {
        json(200, {
          keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }]
        });
      } else if (next.hangs) {
        // No answer.
      } else {
        const tokens = { access_token: 'a', token_type: 'bearer', expires_in: 60, id_token: next.idToken };
        json(next.status ?? 200, next.body ?? tokens);
      }
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    issuer = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
  });
  afterAll(() => {
    client.disconnect();
    server.closeAllConnections();
    server.close();
  });

  async function exchange() {
    client.send({ issuer, code: 'code', seconds: 1 });
    const [result] = await once(client, 'message');
    return result;
  }

  test('identifies the user only with a valid ID token', async () => {
    next = { idToken: idToken({}) };
    expect(await exchange()).toMatchObject({ login: { issuer, sub: 'alice' }, trouble: '' });
    next = { status: 400, body: { error: 'invalid_grant' } };
    expect(await exchange()).toEqual({ login: null, trouble: '', warnings: [] });
  });

  const past = Math.floor(Date.now() / 1000) - 3600;
  test.each([
    ['a forged signature', () => ({ idToken: idToken({}, { key: other.privateKey }) })],
    ['no signature', () => ({ idToken: idToken({}, { alg: 'none' }) })],
    ['another audience', () => ({ idToken: idToken({ aud: 'another' }) })],
    ['another issuer', () => ({ idToken: idToken({ iss: 'https://evil.example' }) })],
    ['an expired ID token', () => ({ idToken: idToken({ exp: past, iat: past - 60 }) })],
    ['no ID token', () => ({})],
    ['a user with control characters', () => ({ idToken: idToken({ sub: 'a\u001b[2J' }) })],
    ['metadata of another issuer', () => ({ metadata: { issuer: 'https://evil.example' } })],
    ['an internal error', () => ({ status: 500, body: { error: 'server_error' } })],
    ['a refused client', () => ({ status: 401, body: { error: 'invalid_client' } })],
    ['no answer', () => ({ hangs: true })]
  ])('counts as unavailable with %s', async (_name, answer) => {
    next = answer();
    const { error, login, warnings } = await exchange();
    expect({ error, login }).toEqual({ error: 'Unavailable', login: undefined });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^The provider of users http:\S+ cannot be used: .+\. Sign-ups/);
  });
});
