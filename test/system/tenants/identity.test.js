'use strict';
// A real gateway whose listeners take the tenant of a device from what it proved: the cloud sees tenant:device.

const { execFile } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const { promisify } = require('node:util');
const mqtt = require('mqtt');
const { Authority } = require('../../fixtures/devices/authority');
const { DtlsDevice } = require('../../fixtures/devices/dtls-device');
const { receive } = require('../../fixtures/devices/device');
const { homeWith } = require('../../fixtures/gateway/flow-home');
const { startCloud } = require('../../../bench/harness/cloud');
const { startGateway } = require('../../../bench/harness/gateway');
const { freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');

const { test } = needs('mosquitto', 'mosquitto_pub', 'openssl');
const run = promisify(execFile);
const KEY = '00112233445566778899aabbccddeeff';

jest.setTimeout(60000);

/** @type {Record<'users' | 'keys' | 'tls' | 'dtls' | 'own' | 'http', number>} */
const ports = { users: 0, keys: 0, tls: 0, dtls: 0, own: 0, http: 0 };
let authority, cloud, gateway, home, receiver;
/** @type {mqtt.MqttClient[]} */
const clients = [];

beforeAll(async () => {
  authority = new Authority();
  const server = authority.issue();
  const secret = await hashPassword(Buffer.from('secret'), { ln: 10, r: 8, p: 1 });
  const files = { passwords: authority.file('passwords'), keys: authority.file('keys'), tokens: authority.file('tokens') }; // prettier-ignore
  fs.writeFileSync(files.passwords, ['acme/gw', 'other/gw', 'plain'].map((user) => `${user}:${secret}\n`).join(''), { mode: 0o600 }); // prettier-ignore
  fs.writeFileSync(files.keys, `acme/meter:${KEY}\nplain:${KEY}\n`, { mode: 0o600 });
  const tokens = ['acme/cam', 'plain'].map((name) => {
    const hash = crypto.createHash('sha256').update(`token-of-${name}`).digest('hex');
    return `${name}:$sha256$${hash}:cam-*\n`;
  });
  fs.writeFileSync(files.tokens, tokens.join(''), { mode: 0o600 });
  for (const name of Object.keys(ports)) ports[name] = await freePort();
  const tls = {
    id: 'own-tls',
    type: 'tls-config',
    cert: server.certFile,
    key: server.keyFile,
    ca: authority.caFile,
    certType: 'files',
    // A configuration node has no place.
    x: undefined,
    y: undefined,
    z: undefined,
    wires: undefined
  };
  const mqttNode = (id, more) => ({ id, type: 'seganet-mqtt-devices', version: 2, port: String(ports[id]), ...more }); // prettier-ignore
  home = homeWith([
    tls,
    mqttNode('users', { login: 'passwords', passwordFile: files.passwords, identity: 'clientId', tenantFrom: 'user' }), // prettier-ignore
    mqttNode('keys', { transport: 'tls', tls: 'own-tls', login: 'psk', pskFile: files.keys, tenantFrom: 'psk' }), // prettier-ignore
    mqttNode('tls', { transport: 'tls', tls: 'own-tls', login: 'certificate', tenantFrom: 'certificate' }),
    mqttNode('own', { tenantFrom: 'port', tenantName: 'acme' }),
    { id: 'dtls', type: 'seganet-coap-devices', version: 1, transport: 'dtls', port: String(ports.dtls), tls: 'own-tls', login: 'psk', pskFile: files.keys, tenantFrom: 'psk' }, // prettier-ignore
    { id: 'http', type: 'seganet-http-devices', version: 1, port: String(ports.http), login: 'tokens', tokenFile: files.tokens, tenantFrom: 'user' } // prettier-ignore
  ]);
  cloud = await startCloud();
  receiver = await receive(cloud);
  gateway = await startGateway(cloud, { env: { SEGANET_HOME: home.home } });
  for (const name of ['users', 'keys', 'tls', 'own', 'http']) await waitForPort(ports[name]);
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.endAsync(true);
});
afterAll(async () => {
  await receiver?.close();
  await gateway?.stop();
  await cloud?.close();
  home?.remove();
  authority?.remove();
});

const connect = async (port, options) => {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, ...options });
  clients.push(client);
  return client;
};
const seen = (device, value) => receiver.record(({ d, p }) => d === device && p === value);

test('takes the tenant from the user, and equal client ids of two tenants are two devices', async () => {
  const login = (username) => ({ username, password: 'secret', clientId: 'pump-1' });
  const acme = await connect(ports.users, login('acme/gw'));
  const other = await connect(ports.users, login('other/gw'));
  await acme.publishAsync('d/pump-1/t', '1', { qos: 1 });
  await other.publishAsync('d/pump-1/t', '2', { qos: 1 });
  await acme.publishAsync('d/pump-1/t', '3', { qos: 1 });
  await seen('acme:pump-1', 1);
  await seen('other:pump-1', 2);
  await seen('acme:pump-1', 3);
  expect([acme.connected, other.connected]).toEqual([true, true]);
  expect(receiver.records().filter(({ t }) => t !== 'd/pump-1/t')).toEqual([]);
});

test('takes a client id with the name of another tenant as a name in the own tenant', async () => {
  const victim = await connect(ports.users, { username: 'acme/gw', password: 'secret', clientId: 'pump-2' });
  for (const clientId of ['acme:pump-2', 'acme/pump-2']) {
    const forger = await connect(ports.users, { username: 'other/gw', password: 'secret', clientId });
    await forger.publishAsync('x', '4', { qos: 1 });
    await seen(`other:${clientId}`, 4);
  }
  expect(victim.connected).toBe(true);
  expect(receiver.records().filter(({ d, p }) => d === 'acme:pump-2' && p === 4)).toEqual([]);
});

test('refuses a user without a tenant', async () => {
  const login = { username: 'plain', password: 'secret', clientId: 'acme:pump-1' };
  await expect(connect(ports.users, login)).rejects.toThrow(/Not authorized|Bad user/i);
});

test('puts every device of a port into the tenant of the port', async () => {
  const device = await connect(ports.own, { clientId: 'other:pump-1' });
  await device.publishAsync('x', '5', { qos: 1 });
  await seen('acme:other:pump-1', 5);
});

test('takes the tenant from the organization of a certificate', async () => {
  const { certFile, keyFile } = authority.issue({ name: 'pump-3', organization: 'acme' });
  const publish = (cert, key, id, message) =>
    run('mosquitto_pub', ['-h', 'localhost', '-p', String(ports.tls), '--cafile', authority.caFile, '--cert', cert, '--key', key, '-i', id, '-q', '1', '-t', 'x', '-m', message]); // prettier-ignore
  await publish(certFile, keyFile, 'other:pump-3', '6');
  await seen('acme:pump-3', 6);
  const none = authority.issue({ name: 'acme:pump-3' });
  await expect(publish(none.certFile, none.keyFile, 'pump-3', '66')).rejects.toThrow();
});

test('takes the tenant from the identity of a key, over TLS and DTLS', async () => {
  const publish = (identity, message) =>
    run('mosquitto_pub', ['-h', 'localhost', '-p', String(ports.keys), '-i', 'any', '-q', '1', '-t', 'x', '-m', message, '--psk', KEY, '--psk-identity', identity]); // prettier-ignore
  await publish('acme/meter', '7');
  await seen('acme:meter', 7);
  await expect(publish('plain', '77')).rejects.toThrow();
  const device = new DtlsDevice(ports.dtls, ['-cipher', 'PSK', '-psk_identity', 'acme/meter', '-psk', KEY]);
  try {
    expect(await device.post('r/meter/t', '8')).toBe('2.04');
    expect(await device.post('r/acme:meter/t', '88')).toBe('4.03');
    await seen('acme:meter', 8);
  } finally {
    await device.close();
  }
});

test('takes the tenant of an HTTP device from the name of its token', async () => {
  const post = (name, device, body) =>
    fetch(`http://127.0.0.1:${ports.http}/r/${device}`, {
      method: 'POST',
      headers: { Authorization: `Bearer token-of-${name}` },
      body
    });
  expect((await post('acme/cam', 'cam-1', '9')).status).toBe(200);
  expect(await seen('acme:cam-1', 9)).toMatchObject({ t: 'r/cam-1' });
  expect((await post('acme/cam', 'acme:cam-1', '99')).status).toBe(403);
  expect((await post('plain', 'cam-1', '99')).status).toBe(403);
});
