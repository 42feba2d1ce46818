'use strict';

const fs = require('fs');
const path = require('path');
const tls = require('tls');
const mqtt = require('mqtt');
const { demoCertificates } = require('../../flows/demo/certificates');
const { nextReading } = require('../../flows/demo/readings');
const { startCloud, stop } = require('../../flows/demo/demo');
const { run, temporaryFolder, isAlive, until, cleanUp } = require('./process');

afterEach(cleanUp);

const DAY_MS = 24 * 3600 * 1000;

/** @param {tls.ConnectionOptions} options @returns {Promise<string>} the protocol, or the error's code */
function handshake(options) {
  return new Promise((resolve) => {
    const socket = tls.connect({ host: '127.0.0.1', ...options });
    socket.once('secureConnect', () => {
      resolve(String(socket.getProtocol()));
      socket.destroy();
    });
    socket.once('error', (error) => resolve(String(/** @type {NodeJS.ErrnoException} */ (error).code)));
  });
}

describe('the certificates', () => {
  test('are made once, kept, and the key is private', async () => {
    const folder = path.join(temporaryFolder(), 'demo');
    const first = await demoCertificates(folder);
    expect(fs.statSync(path.join(folder, 'server-key.pem')).mode & 0o777).toBe(0o600);
    expect(await demoCertificates(folder)).toEqual(first);
  });

  test('are renewed before they expire, and when a file is torn', async () => {
    const folder = temporaryFolder();
    const first = await demoCertificates(folder);
    const later = Date.now() + 364 * DAY_MS;
    const renewed = await demoCertificates(folder, later);
    expect(renewed.cert).not.toBe(first.cert);
    expect(await demoCertificates(folder, later)).toEqual(renewed);
    fs.writeFileSync(path.join(folder, 'server.pem'), 'torn');
    expect((await demoCertificates(folder, later)).cert).not.toBe(renewed.cert);
  });
});

describe('the demo cloud', () => {
  test('speaks TLS 1.3 only, with a chain that verifies for 127.0.0.1 and localhost and for no other name', async () => {
    const { child, settings } = await startCloud(temporaryFolder(), () => {});
    const port = Number(new URL(settings.SEGANET_UPLINK_URL).port);
    const ca = fs.readFileSync(settings.SEGANET_UPLINK_CA);
    expect(await handshake({ port, ca })).toBe('TLSv1.3');
    expect(await handshake({ port, ca, servername: 'localhost', host: 'localhost' })).toBe('TLSv1.3');
    expect(await handshake({ port, ca, maxVersion: 'TLSv1.2' })).toMatch(/PROTOCOL_VERSION/);
    expect(await handshake({ port })).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    expect(await handshake({ port, ca, servername: 'other.example' })).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    stop(child);
  });

  test('takes a record with QoS 1, reports the first, and ends when its parent disconnects', async () => {
    /** @type {string[]} */
    const first = [];
    const { child, settings } = await startCloud(temporaryFolder(), (topic) => first.push(topic));
    const ca = fs.readFileSync(settings.SEGANET_UPLINK_CA);
    const client = await mqtt.connectAsync(settings.SEGANET_UPLINK_URL, { ca, protocolVersion: 4 });
    await client.publishAsync('gw/test/normal', 'one', { qos: 1 });
    await client.publishAsync('gw/test/normal', 'two', { qos: 1 });
    await client.endAsync();
    await until(() => first.length > 0);
    expect(first).toEqual(['gw/test/normal']);
    const pid = Number(child.pid);
    stop(child);
    await until(() => !isAlive(pid), { what: 'the end of the cloud' });
  });

  test('takes another port for a second one', async () => {
    const folder = temporaryFolder();
    const one = await startCloud(folder, () => {});
    const two = await startCloud(folder, () => {});
    expect(one.settings.SEGANET_UPLINK_URL).not.toBe(two.settings.SEGANET_UPLINK_URL);
    stop(one.child);
    stop(two.child);
  });

  test('ends with its parent, even after kill -9, and leaves signals to it', async () => {
    const script = `
      const { startCloud } = require('./flows/demo/demo');
      startCloud(${JSON.stringify(temporaryFolder())}, () => {}).then(({ child, settings }) => {
        console.log('cloud ' + child.pid + ' on ' + settings.SEGANET_UPLINK_URL);
      });`;
    const parent = run(process.execPath, ['-e', script]);
    const [, pid, port] = (await parent.says(/cloud (\d+) on .*:(\d+)/)).map(Number);
    process.kill(pid, 'SIGINT');
    process.kill(pid, 'SIGTERM');
    expect(await handshake({ port, rejectUnauthorized: false })).toBe('TLSv1.3');
    parent.child.kill('SIGKILL');
    await until(() => !isAlive(pid), { what: 'the end of the cloud' });
  });
});

test('sends readings as JSON of 100 to 1,000 bytes, and an alarm on its own topic', () => {
  const now = Date.now();
  for (let device = 1; device <= 64; device++) {
    for (const random of [0, 0.5]) {
      const { topic, payload } = nextReading(device, now + device * 1e6, random);
      expect(topic === 'alarm').toBe(random === 0);
      expect(JSON.parse(payload).unit).toMatch(new RegExp(`-${device}$`));
      expect(payload.length).toBeGreaterThanOrEqual(100);
      expect(payload.length).toBeLessThanOrEqual(1000);
    }
  }
});
