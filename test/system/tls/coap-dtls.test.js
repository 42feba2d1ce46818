'use strict';
// CoAP over DTLS into the real engine: libcoap's client, and OpenSSL's with node-coap's packets.

const dgram = require('node:dgram');
const { Authority } = require('../../fixtures/devices/authority');
const { CoapEngine } = require('../../fixtures/devices/coap-engine');
const { DtlsDevice } = require('../../fixtures/devices/dtls-device');
const { Child } = require('../../../bench/harness/child');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

const KEY = '0123456789abcdef';
const HEX = Buffer.from(KEY).toString('hex');
const KEYS = {
  identities: ['pump-1', 'pump-2', 'observer'],
  keys: [Buffer.from(KEY), Buffer.from('fedcba9876543210'), Buffer.from(KEY)]
};

const { test: withOpenssl } = needs('openssl');
const { test: withLibcoap } = needs('coap-client-openssl', 'openssl');

jest.setTimeout(60000);

/** @type {Authority} */
let authority;
/** @type {CoapEngine} */
let engine;
/** @type {DtlsDevice[]} */
let devices;
beforeEach(() => {
  authority = new Authority();
  engine = new CoapEngine({}, { acknowledge: 'safe' });
  devices = [];
});
afterEach(async () => {
  await Promise.all(devices.map((each) => each.close()));
  engine.close();
  authority.remove();
});

/** @param {import('../../../native').DtlsOptions} dtls @param {object} [options] @returns {number} the port */
const listen = (dtls, options = {}) =>
  engine.engine.listen(1, { host: '127.0.0.1', port: 0, transport: 'dtls', dtls, ...options });
const own = () => {
  const { cert, key } = authority.issue();
  return { cert, key, ca: authority.ca };
};
/** @param {number} port @param {string[]} args */
function device(port, ...args) {
  const made = new DtlsDevice(port, args);
  devices.push(made);
  return made;
}
/** @param {string} identity @param {string} [hex] */
const psk = (identity, hex = HEX) => ['-cipher', 'PSK', '-psk_identity', identity, '-psk', hex];
const stats = () => engine.engine.stats();

/** @param {string[]} args @returns {Promise<string>} its output */
async function libcoap(...args) {
  const child = new Child('coap-client-openssl', ['-B', '10', '-v', '6', ...args]);
  await child.exited;
  return child.output;
}

withOpenssl('takes the identity of a key as the device, and serves no other to it', async () => {
  const pump = device(listen(KEYS), ...psk('pump-1'));
  expect(await pump.post('r/pump-1/temp', '21.5')).toBe('2.04');
  expect(await pump.post('r/pump-2/temp', '99')).toBe('4.03');
  expect(await engine.recordsOf('pump-1')).toMatchObject([
    { topic: 'r/pump-1/temp', payload: Buffer.from('21.5') }
  ]);
  expect(engine.take().length).toBe(1);
});

withOpenssl('speaks the suite that RFC 7252 requires of small devices', async () => {
  const [, , ...key] = psk('pump-1');
  const pump = device(listen(KEYS), '-cipher', 'PSK-AES128-CCM8:@SECLEVEL=0', ...key);
  expect(await pump.post('r/pump-1/temp', '21.5')).toBe('2.04');
});

withOpenssl('takes the name of a certificate as the device', async () => {
  const port = listen({ ...own(), deviceCertificate: 'required' });
  const { certFile, keyFile } = authority.issue({ name: 'pump-7' });
  const pump = device(port, '-cert', certFile, '-key', keyFile);
  expect(await pump.post('r/pump-7/temp', '1')).toBe('2.04');
  expect(await pump.post('r/pump-8/temp', '1')).toBe('4.03');
  await engine.recordsOf('pump-7');
});

withOpenssl(
  'refuses wrong keys, unknown identities and missing certificates, and serves others',
  async () => {
    const port = listen({ ...own(), ...KEYS });
    const wrong = device(port, ...psk('pump-1', HEX.replace('30', '31')));
    const unknown = device(port, ...psk('pump-3'));
    const keyless = device(port, '-cipher', 'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256');
    const pump = device(port, ...psk('pump-1'));
    expect(await pump.post('r/pump-1/temp', '1')).toBe('2.04');
    await eventually(() => stats().counters.dtlsRefused >= 2, { what: 'refusals' });
    expect(stats().counters.dtlsHandshakes).toBe(1);
    expect([wrong, unknown, keyless].flatMap(({ messages }) => messages)).toEqual([]);
  }
);

withOpenssl('resumes a session from another port with the identity that it proved', async () => {
  const port = listen(KEYS);
  const file = authority.file('session');
  const first = device(port, ...psk('pump-1'), '-sess_out', file);
  expect(await first.post('r/pump-1/temp', '1')).toBe('2.04');
  await first.close();
  const second = device(port, ...psk('pump-1'), '-sess_in', file);
  expect(await second.post('r/pump-1/temp', '2')).toBe('2.04');
  expect(await second.post('r/pump-2/temp', '2')).toBe('4.03');
  await eventually(() => stats().counters.dtlsResumed === 1, { what: 'a resumed session' });
  engine.engine.renewDtls(1, { identities: ['pump-2'], keys: [KEYS.keys[1]] });
  const third = device(port, ...psk('pump-1'), '-sess_in', file);
  await eventually(() => third.isClosed || /alert/.test(third.errors), { what: 'the refusal' });
});

withOpenssl('answers a flood of ClientHellos with cookies only, and serves others', async () => {
  const port = listen(KEYS);
  const sockets = Array.from({ length: 50 }, () => dgram.createSocket('udp4'));
  // A ClientHello as short as one can be: one suite, no extensions.
  const body = Buffer.concat([
    Buffer.from('fefd', 'hex'),
    Buffer.alloc(32, 90),
    Buffer.from('0000000400a800ff0100', 'hex')
  ]);
  const size = Buffer.from([0, 0, body.length]);
  const message = Buffer.concat([Buffer.from([1]), size, Buffer.from([0, 0, 0, 0, 0]), size, body]);
  const record = Buffer.concat([
    Buffer.from('16feff0000000000000000', 'hex'),
    Buffer.from([message.length >> 8, message.length & 255]),
    message
  ]);
  let answers = 0;
  let largest = 0;
  for (const socket of sockets) {
    socket.on('message', (bytes) => {
      answers++;
      largest = Math.max(largest, bytes.length);
    });
    for (let i = 0; i < 20; i++) socket.send(record, port, '127.0.0.1');
  }
  const pump = device(port, ...psk('pump-1'));
  expect(await pump.post('r/pump-1/temp', '1')).toBe('2.04');
  await eventually(() => answers > 100, { what: 'cookies' });
  expect(largest).toBeLessThan(record.length);
  expect(stats().counters.dtlsHandshakes).toBe(1);
  expect(stats().counters.dtlsRefused).toBe(0);
  for (const socket of sockets) socket.close();
});

withOpenssl('ends silent sessions', async () => {
  const pump = device(listen(KEYS, { sessionIdleS: 1 }), ...psk('pump-1'));
  expect(await pump.post('r/pump-1/temp', '1')).toBe('2.04');
  await eventually(() => pump.isClosed, { what: 'close_notify' });
  expect(stats().counters.dtlsEnded).toBe(1);
});

withOpenssl('rejects unusable files with the code of OpenSSL', () => {
  expect(() => listen({ cert: 'nothing', key: 'nothing' })).toThrow(/PEM|start line/i);
  expect(() => listen(/** @type {any} */ (null))).toThrow(/dtls must be an object/);
  expect(() => listen({ identities: ['a'], keys: [] })).toThrow(/same length/);
  expect(() => listen({ identities: ['a'], keys: [Buffer.alloc(65)] })).toThrow(/1 to 64/);
});

withLibcoap('serves libcoap with a key, and refuses another device to it', async () => {
  const url = `coaps://127.0.0.1:${listen(KEYS)}`;
  const args = ['-k', KEY, '-u', 'pump-1', '-m', 'post', '-e', '21.5'];
  expect(await libcoap(...args, `${url}/r/pump-1/temp`)).toMatch(/2\.04/);
  expect(await libcoap(...args, `${url}/r/pump-2/temp`)).toMatch(/4\.03/);
  await engine.recordsOf('pump-1');
});

withLibcoap('serves libcoap with a certificate', async () => {
  const port = listen({ ...own(), deviceCertificate: 'required' });
  const { certFile, keyFile } = authority.issue({ name: 'pump-7' });
  const args = ['-R', authority.caFile, '-c', certFile, '-j', keyFile, '-m', 'post', '-e', '21.5'];
  expect(await libcoap(...args, `coaps://localhost:${port}/r/pump-7/temp`)).toMatch(/2\.04/);
  await engine.recordsOf('pump-7');
});

withLibcoap('delivers a command to the session that has proven its device', async () => {
  const url = `coaps://127.0.0.1:${listen(KEYS)}/cmd/pump-1`;
  const child = new Child('coap-client-openssl', [
    ...['-k', KEY, '-u', 'pump-1', '-s', '5', '-B', '15', '-v', '6', url]
  ]);
  await engine.listening('pump-1');
  expect(await engine.command('pump-1', 'cmd/pump-1/valve', 'open')).toBe(0);
  await eventually(() => /open/.test(child.output), { what: 'the notification' });
  await child.exited;
});
