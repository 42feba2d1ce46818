'use strict';
// Californium (Scandium) and aiocoap (tinydtls) over DTLS into the real engine (docs/use/coap.md, Interoperability).

const fs = require('node:fs');
const path = require('node:path');
const { Authority } = require('../../fixtures/devices/authority');
const { Californium, californiumTools } = require('../../fixtures/devices/californium');
const { CoapEngine } = require('../../fixtures/devices/coap-engine');
const { Child } = require('../../../bench/harness/child');
const { eventually } = require('../../../bench/harness/net');
const { needs, python } = require('../../../bench/harness/tools');

const KEY = '0123456789abcdef';
const HEX = Buffer.from(KEY).toString('hex');
const KEYS = { identities: ['pump-1'], keys: [Buffer.from(KEY)] };

const { test } = needs('openssl', ...californiumTools());
const aiocoap = needs('openssl', 'python:aiocoap', 'python:DTLSSocket');

jest.setTimeout(120000);

/** @type {Authority} */
let authority;
/** @type {CoapEngine} */
let engine;
/** @type {Californium | undefined} */
let shared;
beforeEach(() => {
  authority = new Authority();
  engine = new CoapEngine({}, { acknowledge: 'safe' });
});
afterEach(() => {
  engine.close();
  authority.remove();
});

/** @param {import('../../../native').DtlsOptions} dtls @returns {string} the address */
function listen(dtls) {
  const port = engine.engine.listen(1, { host: '127.0.0.1', port: 0, transport: 'dtls', dtls });
  return `coaps://127.0.0.1:${port}`;
}

afterAll(() => shared?.close());

/** @param {Record<string, string>} settings */
async function device(settings) {
  shared ??= new Californium();
  await shared.use(settings);
  return shared;
}

test('a key proves the device of Californium: posts, 4.03, large bodies, a command', async () => {
  const uri = listen(KEYS);
  // The suite that RFC 7252 requires of small devices.
  const pump = await device({ identity: 'pump-1', key: HEX, suite: 'TLS_PSK_WITH_AES_128_CCM_8' });
  const body = Buffer.alloc(20000, 'seganet ');
  expect((await pump.ask('POST', `${uri}/r/pump-1/temp`, { payload: '21.5' })).code).toBe('2.04');
  expect((await pump.ask('POST', `${uri}/r/pump-2/temp`, { payload: '99' })).code).toBe('4.03');
  expect((await pump.ask('POST', `${uri}/r/pump-1/file`, { payload: body })).code).toBe('2.04');
  const [first, large] = await engine.recordsOf('pump-1', 2);
  expect(first.payload).toEqual(Buffer.from('21.5'));
  expect(large.payload.equals(body)).toBe(true);
  expect((await pump.ask('OBSERVE', `${uri}/cmd/pump-1`)).code).toBe('2.05');
  await engine.listening('pump-1');
  expect(await engine.command('pump-1', 'cmd/pump-1/valve', 'open')).toBe(0);
  await eventually(() => pump.notified().some((each) => String(each) === 'open'), {
    timeoutMs: 30000,
    what: 'the command'
  });
});

test('a certificate proves the device of Californium', async () => {
  const { cert, key } = authority.issue();
  const uri = listen({ cert, key, ca: authority.ca, deviceCertificate: 'required' });
  const { certFile, keyFile } = authority.issue({ name: 'pump-7' });
  const pem = authority.file('pump-7.pem');
  fs.writeFileSync(pem, fs.readFileSync(keyFile, 'utf8') + fs.readFileSync(certFile, 'utf8'));
  const pump = await device({ pem, ca: authority.caFile });
  expect((await pump.ask('POST', `${uri}/r/pump-7/temp`, { payload: '1' })).code).toBe('2.04');
  expect((await pump.ask('POST', `${uri}/r/pump-8/temp`, { payload: '1' })).code).toBe('4.03');
});

aiocoap.test('a key proves the device of aiocoap: posts, 4.03, large bodies, a command', async () => {
  const uri = listen(KEYS);
  const steps = [
    { uri: `${uri}/r/pump-1/temp`, payload: '21.5' },
    { uri: `${uri}/r/pump-2/temp`, payload: '99' },
    { uri: `${uri}/r/pump-1/file`, size: 20000 },
    { uri: `${uri}/cmd/pump-1`, method: 'GET', observe: 1 }
  ];
  const dtls = { psk: { ascii: KEY }, 'client-identity': { ascii: 'pump-1' } };
  const script = path.join(__dirname, '../../fixtures/devices/coap-device.py');
  const child = new Child(python(), [
    script,
    JSON.stringify(steps),
    JSON.stringify({ [`${uri}/*`]: { dtls } })
  ]);
  await child.until((output) => output.includes('2.05'), 60000);
  await engine.listening('pump-1');
  expect(await engine.command('pump-1', 'cmd/pump-1/valve', 'open')).toBe(0);
  await child.exited;
  const lines = child.jsonLines();
  expect(lines.map(({ code = '', notified = '' }) => code.slice(0, 4) + notified)).toEqual([
    ...['2.04', '4.03', '2.04', '2.05'],
    'open'
  ]);
  const [first, large] = await engine.recordsOf('pump-1', 2);
  expect([String(first.payload), large.payload.length]).toEqual(['21.5', 20000]);
});
