'use strict';
// The gateway as a user starts it, with devices that log in over TLS: environment → flow → TLS server → cloud.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const { promisify } = require('node:util');
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
