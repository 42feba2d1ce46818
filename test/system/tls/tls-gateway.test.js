'use strict';
// The gateway as a user starts it, with devices that log in over TLS: environment → flow → TLS server → cloud.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const { promisify } = require('node:util');
const mqtt = require('mqtt');
const { Authority } = require('../../fixtures/devices/authority');
const { startCloud } = require('../../../bench/harness/cloud');
const { receive } = require('../../fixtures/devices/device');
const { startGateway } = require('../../../bench/harness/gateway');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { needs } = require('../../../bench/harness/tools');

const { test } = needs('mosquitto', 'mosquitto_pub', 'openssl');
const run = promisify(execFile);

let authority, server, passwords, cloud, gateway;

beforeAll(async () => {
  authority = new Authority();
  server = authority.issue();
  passwords = authority.file('passwords');
  const hash = await hashPassword(Buffer.from('secret'), { ln: 10, r: 8, p: 1 });
  fs.writeFileSync(passwords, `pump-1:${hash}\n`, { mode: 0o600 });
  cloud = await startCloud();
}, 30000);
afterEach(async () => {
  if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
  gateway = null;
}, 30000);
afterAll(async () => {
  await cloud?.close();
  authority.remove();
});

const environment = (transport) => ({
  SEGANET_DEVICE_TRANSPORT: transport,
  SEGANET_DEVICE_TLS_CERT: server.certFile,
  SEGANET_DEVICE_TLS_KEY: server.keyFile,
  SEGANET_DEVICE_LOGIN: 'passwords',
  SEGANET_DEVICE_PASSWORD_FILE: passwords,
  'seganet-batch.maxDelayMs': '50'
});

test('delivers acknowledged records of a device with a password over TLS under its user name', async () => {
  const receiver = await receive(cloud);
  gateway = await startGateway(cloud, { env: environment('tls') });
  const publish = (...more) =>
    run('mosquitto_pub', ['-h', '127.0.0.1', '-p', String(gateway.port), '--cafile', authority.caFile, '-i', 'c', '-q', '1', '-t', 'd/x/t', '-m', '21', ...more]); // prettier-ignore
  await publish('-u', 'pump-1', '-P', 'secret');
  await receiver.record(({ d }) => d === 'pump-1');
  await expect(publish('-u', 'pump-1', '-P', 'wrong')).rejects.toThrow();
  await expect(publish()).rejects.toThrow();
  expect(receiver.records()).toHaveLength(1);
  await receiver.close();
}, 60000);

test('wrong passwords of a device delay no device of another IPv4 address, also at a listener on ::', async () => {
  const env = { ...environment('tcp'), SEGANET_DEVICE_HOST: '::' };
  gateway = await startGateway(cloud, { env });
  /** Resolves to 'connect' or 'close'. */
  const logIn = async (localAddress, password) => {
    const socket = () => net.connect({ port: gateway.port, host: '127.0.0.1', localAddress });
    const client = new mqtt.MqttClient(socket, { clientId: localAddress, username: 'pump-1', password, reconnectPeriod: 0 }); // prettier-ignore
    client.on('error', () => {});
    const event = await new Promise((resolve) => {
      for (const name of ['connect', 'close']) client.once(name, () => resolve(name));
    });
    await client.endAsync(true);
    return event;
  };
  for (let i = 0; i < 8; i++) expect(await logIn('127.0.0.2', 'wrong')).toBe('close');
  // These wait for their turn, 2 and 4 s.
  const guesses = [1, 2].map(() => logIn('127.0.0.2', 'wrong'));
  const beganAt = performance.now();
  expect(await logIn('127.0.0.3', 'secret')).toBe('connect');
  expect(performance.now() - beganAt).toBeLessThan(1500);
  await Promise.all(guesses);
}, 120000);

test('accepts a device with a pre-shared key beside a certificate of the listener, but not one that only knows the identity', async () => {
  const key = '00112233445566778899aabbccddeeff';
  const keys = authority.file('keys');
  fs.writeFileSync(keys, `meter-7:${key}\n`, { mode: 0o600 });
  const receiver = await receive(cloud);
  const env = { ...environment('tls'), SEGANET_DEVICE_LOGIN: 'psk', SEGANET_DEVICE_PSK_FILE: keys };
  gateway = await startGateway(cloud, { env });
  const publish = (secret) =>
    run('mosquitto_pub', ['-h', 'localhost', '-p', String(gateway.port), '-i', 'c', '-q', '1', '-t', 'd/x/t', '-m', '21', '--psk', secret, '--psk-identity', 'meter-7']); // prettier-ignore
  await expect(publish('deadbeefdeadbeefdeadbeefdeadbeef')).rejects.toThrow();
  await publish(key);
  await receiver.record(({ d }) => d === 'meter-7');
  expect(receiver.records()).toHaveLength(1);
  await receiver.close();
}, 60000);
