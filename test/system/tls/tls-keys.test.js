'use strict';
// A pre-shared key proves a device only where the handshake used it: every transport, with and without certificates,
// both versions of TLS, with and without an earlier session.

const fs = require('node:fs');
const { Authority } = require('../../fixtures/devices/authority');
const { FrontBench } = require('../../fixtures/devices/tls-bench');
const { until } = require('../../fixtures/devices/tls-listener');
const { KINDS, bring, mosquittoPub, sClient } = require('../../fixtures/devices/key-clients');
const { byCertificate } = require('../../../nodes/lib/login/login-checkers');
const { needs } = require('../../../bench/harness/tools');

const { describe, test: openssl } = needs('openssl');
const { test: mosquitto } = needs('openssl', 'mosquitto_pub');

const DEVICE = 'meter-000001';
const KEY = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
const WRONG = Buffer.from('ff112233445566778899aabbccddeeff', 'hex');
const VERSIONS = /** @type {const} */ (['TLSv1.2', 'TLSv1.3']);
const SHA256 = 'TLS_AES_128_GCM_SHA256';
const SHA384 = 'TLS_AES_256_GCM_SHA384';

let authority, server, pump, pskFile;
const benches = [];

beforeAll(() => {
  authority = new Authority();
  server = authority.issue();
  pump = authority.issue({ name: 'pump-1' });
  pskFile = authority.file('keys');
  fs.writeFileSync(pskFile, `${DEVICE}:${KEY.toString('hex')}\n`, { mode: 0o600 });
});
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});
afterAll(() => authority.remove());

/** The listener as the login "psk" makes it. */
async function listen(kind, { hasCert, clientCert = 'no' }) {
  const { transport, protocol, alpn } = KINDS[kind];
  const bench = new FrontBench({ source: { protocol } });
  benches.push(bench);
  const ca = clientCert === 'no' ? {} : { ca: authority.ca };
  const tls = { ...(hasCert && { cert: server.cert, key: server.key }), ...ca };
  const port = await bench.open(
    { transport, alpn, tls, pskFile, clientCert, certIsLogin: true },
    byCertificate().checkLogin
  );
  return { bench, port };
}

const devicesOf = (bench) => (bench.ring(), bench.records);

const LISTENERS = Object.keys(KINDS).flatMap(
  (kind) =>
  [false, true].flatMap((hasCert) => ['no', 'wanted', 'required'].map((clientCert) => [kind, hasCert, clientCert])) // prettier-ignore
);

describe('a device with a pre-shared key', () => {
  test.each(LISTENERS)(
    'connects with its own key alone over %s, certificate of the listener %s, client certificate %s',
    async (kind, hasCert, clientCert) => {
      const { bench, port } = await listen(kind, { hasCert, clientCert });
      const results = [];
      const wanted = [];
      let taken = 0;
      for (const version of VERSIONS) {
        const client = { version, ca: authority.ca };
        const honest = () => bring(kind, port, { ...client, identity: DEVICE, key: KEY });
        // A session that was made without any key: no device can connect with it, but the client has its ticket.
        const stranger = () => bring(kind, port, client).then((made) => made.session);
        const sessions = {
          fresh: async () => undefined,
          resumed: async () => (await honest()).session,
          ...(hasCert && { 'the session of another client': stranger })
        };
        for (const [name, session] of Object.entries(sessions)) {
          for (const [identity, key, isRight] of [
            [DEVICE, KEY, true],
            [DEVICE, WRONG, false],
            ['meter-000002', KEY, false]
          ]) {
            const before = await session();
            const made = await bring(kind, port, { ...client, identity, key, session: before });
            const row = `${version}, ${name}, ${identity} with key ${key.toString('hex', 0, 2)}`;
            results.push(`${row}: ${made.taken}`);
            wanted.push(`${row}: ${isRight && clientCert !== 'required'}`);
            taken += (made.taken ? 1 : 0) + (name === 'resumed' && clientCert !== 'required' ? 1 : 0);
          }
        }
      }
      expect(results).toEqual(wanted);
      await until(
        () => devicesOf(bench).join('').split('hello').length - 1 === taken,
        () => `${taken} records: ${devicesOf(bench).join()}`
      );
      expect(devicesOf(bench).every((record) => record.includes(DEVICE))).toBe(true);
    },
    60000
  );

  test.each(VERSIONS)(
    'may show a certificate instead of its key where one is requested (%s)',
    async (version) => {
      const { bench, port } = await listen('mqtts', { hasCert: true, clientCert: 'wanted' });
      const client = { version, ca: authority.ca, cert: pump.cert, certKey: pump.key };
      expect((await bring('mqtts', port, client)).taken).toBe(true);
      await until(
        () => devicesOf(bench).some((record) => record.includes('pump-1')),
        () => devicesOf(bench).join()
      );
      expect((await bring('mqtts', port, { ...client, identity: DEVICE, key: WRONG })).taken).toBe(false);
      expect((await bring('mqtts', port, { version, ca: authority.ca })).taken).toBe(false);
      expect(devicesOf(bench).some((record) => record.includes(DEVICE))).toBe(false);
    }
  );

  test('uses its key in TLS 1.3 although it prefers a suite of another hash', async () => {
    const { port } = await listen('mqtts', { hasCert: true });
    const device = { version: 'TLSv1.3', ca: authority.ca, identity: DEVICE, key: KEY };
    const made = await bring('mqtts', port, { ...device, ciphers: `${SHA384}:${SHA256}` });
    expect(made).toMatchObject({ taken: true, cipher: SHA256, resumed: true });
    expect(await bring('mqtts', port, { ...device, ciphers: SHA384 })).toMatchObject({ taken: false });
  });
});

describe('common clients', () => {
  const keys = [
    [DEVICE, KEY.toString('hex'), true],
    [DEVICE, WRONG.toString('hex'), false],
    ['meter-000002', KEY.toString('hex'), false]
  ];
  const rows = [false, true].flatMap(
    (hasCert) =>
    VERSIONS.flatMap((version) => keys.map(([identity, key, isRight]) => [version, hasCert, identity, key, isRight])) // prettier-ignore
  );

  openssl.each(rows)(
    'openssl s_client, %s, certificate of the listener %s, %s with the key %s: %s',
    async (version, hasCert, identity, key, isRight) => {
      const { port } = await listen('mqtts', { hasCert });
      const file = authority.file(`session-${Math.random()}`);
      const flag = version === 'TLSv1.3' ? '-tls1_3' : '-tls1_2';
      const as = (who, what, ...more) => sClient(port, flag, '-psk', what, '-psk_identity', who, ...more);
      expect(await as(identity, key)).toBe(isRight);
      expect(await as(DEVICE, KEY.toString('hex'), '-sess_out', file)).toBe(true);
      if (fs.existsSync(file)) expect(await as(identity, key, '-sess_in', file)).toBe(isRight);
    }
  );

  mosquitto.each(rows)(
    'mosquitto_pub, %s, certificate of the listener %s, %s with the key %s: %s',
    async (version, hasCert, identity, key, isRight) => {
      const { port } = await listen('mqtts', { hasCert });
      const args = ['--psk', key, '--psk-identity', identity, '--tls-version', version.toLowerCase()];
      expect(await mosquittoPub(port, ...args)).toBe(isRight);
    }
  );

  mosquitto.each(keys)('unmodified mosquitto_pub, %s with the key %s: %s', async (identity, key, isRight) => {
    const { port } = await listen('mqtts', { hasCert: true });
    expect(await mosquittoPub(port, '--psk', key, '--psk-identity', identity)).toBe(isRight);
  });
});
