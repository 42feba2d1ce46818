'use strict';
// Access tokens of an OpenID provider over HTTP: those of oidc-provider in a child process, and hand-made ones.

const path = require('node:path');
const { fork } = require('node:child_process');
const { once } = require('node:events');
const { createHmac, createSign, generateKeyPairSync } = require('node:crypto');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { newCode } = require('../../../nodes/lib/ocf/cloud');
const { newUserToken } = require('../../../nodes/lib/ocf/cloud/user-tokens');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { ask, listen } = require('../../fixtures/ocf/http-client');
const { LIGHT, asLamp, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(120000);

const AUDIENCE = 'seganet-cloud';
const CHALLENGE = 'Bearer realm="seganet", error="invalid_token"';
const [own, other] = [1, 2].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
const seconds = () => Math.floor(Date.now() / 1000);
const encoded = (/** @type {unknown} */ part) => Buffer.from(JSON.stringify(part)).toString('base64url');

let provider, issuer, cloud, http;
beforeAll(async () => {
  provider = fork(path.join(__dirname, '..', '..', 'fixtures', 'ocf', 'token-provider.js'));
  const key = { ...own.privateKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
  provider.send({ key, audience: AUDIENCE });
  [{ issuer }] = await once(provider, 'message');
  http = { port: await freePort() };
  cloud = await startGatewayCloud({
    node: {
      httpPort: String(http.port),
      issuer,
      clientId: AUDIENCE,
      clientSecret: 'a-secret',
      redirectUri: 'https://accounts.example/code'
    }
  });
  await waitForPort(http.port, '127.0.0.1', 30000);
});
afterAll(async () => {
  const problems = cloud?.problems();
  await cloud?.stop();
  if (provider?.connected) provider.disconnect();
  expect(problems).toEqual([]);
});
const { connected } = scenes(() => cloud);

/** A token of the provider. @param {string} client */
async function tokenOf(client) {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client}:${client}-secret`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'devices' })
  });
  const tokens = await answer.json();
  if (!tokens.access_token) throw new Error(JSON.stringify(tokens));
  return tokens.access_token;
}

/** @param {object} [claims] @param {object} [header] @param {any} [key] */
function madeToken(claims = {}, header = {}, key = own.privateKey) {
  const all = { iss: issuer, aud: AUDIENCE, sub: 'alice', iat: seconds(), exp: seconds() + 60, ...claims };
  const text = [{ alg: 'ES256', kid: 'k', typ: 'at+jwt', ...header }, all].map(encoded).join('.');
  const sign = () => createSign('sha256').update(text).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url');
  return `${text}.${sign()}`;
}

/** A lamp of a user of the provider. @param {string} sub */
async function lampOf(sub) {
  const { code } = await newCode(cloud.store, sub, { issuer });
  const device = await connected();
  expect((await device.signUp(code)).code).toBe('2.04');
  expect((await device.signIn()).code).toBe('2.04');
  await asLamp(device).publish([LIGHT]);
  return { device, href: `/hc/${device.di}${LIGHT.href}` };
}

test('an access token of the provider reaches the devices of its user, and no others', async () => {
  const { href } = await lampOf('alice');
  const token = await tokenOf('alice');
  expect(JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString())).toMatchObject({
    typ: 'at+jwt'
  });
  expect(await ask(http, href, { token })).toMatchObject({ status: 200, json: { on: false } });
  expect((await ask(http, href, { token: await tokenOf('bob') })).status).toBe(403);
  // A user of access codes with the same name is another one.
  const { token: opaque } = await newUserToken(cloud.store, 'alice');
  expect((await ask(http, href, { token: opaque })).status).toBe(403);
  const { token: same } = await newUserToken(cloud.store, 'alice', { issuer });
  expect((await ask(http, href, { token: same })).status).toBe(200);
});

const secret = () => own.publicKey.export({ type: 'spki', format: 'pem' });
const PAST = seconds() - 3600;
const WRONG = [
  ['expired', () => madeToken({ exp: seconds() - 60 })],
  ['not valid yet', () => madeToken({ nbf: seconds() + 60 })],
  ['for another audience', () => madeToken({ aud: 'another' })],
  ['without an audience', () => madeToken({ aud: undefined })],
  ['of another issuer', () => madeToken({ iss: 'https://evil.example' })],
  ['without an end', () => madeToken({ exp: undefined })],
  ['with an end that is no number', () => madeToken({ exp: '9999999999' })],
  ['without a user', () => madeToken({ sub: undefined })],
  ['with a user that is no text', () => madeToken({ sub: 7 })],
  ['with control characters in the user', () => madeToken({ sub: 'alice\u0007' })],
  ['with a forged signature', () => madeToken({}, {}, other.privateKey)],
  ['with a key that is not known', () => madeToken({}, { kid: 'x' })],
  ['without a signature', () => madeToken({}, { alg: 'none' }).replace(/[^.]*$/, 'AA')],
  [
    'signed with the public key as a secret',
    () => {
      const text = madeToken({}, { alg: 'HS256' }).replace(/\.[^.]*$/, '');
      return `${text}.${createHmac('sha256', secret()).update(text).digest('base64url')}`;
    }
  ],
  ['an ID token', () => madeToken({ at_hash: 'x' }, { typ: 'JWT' })],
  ['an ID token with a nonce', () => madeToken({ scope: 'a', nonce: 'x' }, { typ: 'JWT' })],
  ['a refresh token of Keycloak', () => madeToken({ scope: 'a', typ: 'Refresh' }, { typ: 'JWT' })],
  [
    'with changed claims',
    () => madeToken().replace(/\.[^.]*\./, `.${encoded({ sub: 'bob', exp: PAST * 2 })}.`)
  ],
  ['with a critical extension', () => madeToken({}, { crit: ['x'], x: 1 })],
  ['that is no JSON', () => `${Buffer.from('{').toString('base64url')}.e30.AA`],
  [
    'that names its own key',
    () => madeToken({}, { kid: undefined, jwk: other.publicKey.export({ format: 'jwk' }) }, other.privateKey)
  ],
  ['that is very long', () => 'x'.repeat(9000)]
];
test('a token that is wrong in any way is 401 with error="invalid_token"', async () => {
  const { href } = await lampOf('alice');
  // Each wrong one counts for the limit of the address, so each half has an address of its own.
  for (const [index, [name, make]] of WRONG.entries()) {
    const from = `127.0.0.${2 + Math.trunc(index / 9)}`;
    const answer = await ask(http, href, { token: make(), from });
    expect([name, answer.status, answer.headers['www-authenticate']]).toEqual([name, 401, CHALLENGE]);
  }
  for (const right of [
    madeToken(),
    madeToken({ aud: ['x', AUDIENCE] }),
    madeToken({}, { typ: 'application/at+jwt', kid: undefined }),
    madeToken({ scope: 'openid', typ: 'Bearer' }, { typ: 'JWT' })
  ]) {
    expect((await ask(http, href, { token: right })).status).toBe(200);
  }
});

test('a stream ends with its access token; without the provider, tokens work with the keys that are known', async () => {
  const { href } = await lampOf('alice');
  // The clocks may differ by 10 s.
  const stream = await listen(http, href, madeToken({ exp: seconds() - 7 }));
  expect(stream.status).toBe(200);
  provider.disconnect();
  await once(provider, 'exit');
  expect((await ask(http, href, { token: madeToken({ jti: 'new' }) })).status).toBe(200);
  await eventually(() => stream.isOver, { timeoutMs: 20000, what: 'the end of the stream' });
  expect(stream.events().at(-1)).toMatchObject({ event: 'end', data: { status: 401 } });
  // What was known is gone with the gateway.
  cloud = await cloud.restart();
  await waitForPort(http.port, '127.0.0.1', 30000);
  const unknown = await ask(http, href, { token: madeToken({ jti: 'later' }) });
  expect([unknown.status, Number(unknown.headers['retry-after']) > 0]).toEqual([503, true]);
});
