'use strict';
// The test of a broker, against a real mosquitto and brokers that are wrong in one way.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');
const net = require('node:net');
const { once } = require('node:events');
const { Broker, freePort } = require('../../../bench/harness/broker');
const { needs } = require('../../../bench/harness/tools');
const { Authority } = require('../../fixtures/devices/authority');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { testConnection } = require('../../../nodes/lib/uplink/session/connection-test');

const TOPIC = 'gw/plant/normal';
const { describe, test } = needs('mosquitto', 'openssl');

/** @param {object} options @param {string[]} [topics] */
const run = (options, topics = [TOPIC]) =>
  testConnection(checkOptions({ gateway: 'plant', url: '', connectTimeoutMs: 3000, ...options }, ''), topics);

/** @param {Awaited<ReturnType<typeof testConnection>>} steps */
const shown = (steps) => steps.map(({ step, ok }) => `${step} ${ok ? 'ok' : 'failed'}`);

/** @param {Awaited<ReturnType<typeof testConnection>>} steps */
const last = (steps) => steps[steps.length - 1];

describe('the test of a connection', () => {
  /** @type {Broker} */
  let broker;
  let folder = '';
  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-acl-'));
    const acl = path.join(folder, 'acl');
    fs.writeFileSync(acl, 'topic read #\ntopic write gw/plant/#\n');
    broker = await Broker.start({ config: `acl_file ${acl}` });
  });
  afterAll(() => broker.remove());

  const trusted = () => ({ tls: { ca: broker.ca } });

  test('reports each step of a connection that works', async () => {
    const steps = await run({ url: broker.url, ...trusted() });
    expect(shown(steps)).toEqual(['name ok', 'connect ok', 'tls ok', 'login ok', 'publish ok']);
    expect(steps[0].text).toContain('127.0.0.1');
    expect(steps[2].text).toBe('TLSv1.3');
    expect(steps[3].text).toBe('MQTT 5, client id plant-test');
    expect(steps[4].text).toBe(TOPIC);
    expect(broker.received('plant-test')).toMatchObject([{ topic: TOPIC, qos: 1, retain: false, bytes: 0 }]);
  });

  test('has no step for a name or for TLS where there is none, and publishes nothing without a topic', async () => {
    const steps = await run({ url: broker.plainUrl, protocolVersion: 4 }, []);
    expect(shown(steps)).toEqual(['connect ok', 'login ok']);
    expect(last(steps).text).toBe('MQTT 3.1.1, client id plant-test');
  });

  test('names a closed port', async () => {
    const port = await freePort();
    const steps = await run({ url: `mqtt://127.0.0.1:${port}` });
    expect(shown(steps)).toEqual(['connect failed']);
    expect(last(steps)).toMatchObject({
      code: 'ECONNREFUSED',
      text: `Nothing listens at 127.0.0.1:${port}. Check the address and the port, and that the broker is running.`
    });
  });

  test('names a port that does not speak TLS', async () => {
    const steps = await run({ url: `mqtts://localhost:${broker.plainPort}`, ...trusted() });
    expect(shown(steps)).toEqual(['name ok', 'connect ok', 'tls failed']);
    expect(last(steps).text).toMatch(/Check that the port speaks the protocol in the URL|does not speak TLS/);
  });

  test('names an authority that is not trusted', async () => {
    const steps = await run({ url: broker.url });
    expect(shown(steps)).toEqual(['name ok', 'connect ok', 'tls failed']);
    expect(last(steps).text).toMatch(/signed by an authority that is not trusted here\. Add the authority's/);
  });

  test('names a certificate for another host', async () => {
    const steps = await run({ url: broker.url, tls: { ca: broker.ca, servername: 'cloud.example' } });
    expect(last(steps)).toMatchObject({ step: 'tls', ok: false });
    expect(last(steps).text).toContain('certificate is not for');
  });

  test('names a certificate that has expired', async () => {
    const authority = new Authority();
    const { cert, key } = authority.issue({ to: -0.5 });
    const server = tls.createServer({ cert, key });
    const port = await listen(server);
    const steps = await run({ url: `mqtts://localhost:${port}`, tls: { ca: authority.ca } });
    server.close();
    expect(last(steps)).toMatchObject({
      step: 'tls',
      ok: false,
      code: 'CERT_HAS_EXPIRED',
      text: "The broker's certificate has expired. Renew it on the broker, or correct this machine's clock."
    });
  });

  test('names the end of a certificate that is near', async () => {
    const authority = new Authority();
    const { cert, key } = authority.issue({ to: 13 });
    const server = tls.createServer({ cert, key });
    const port = await listen(server);
    const steps = await run({
      url: `mqtts://localhost:${port}`,
      tls: { ca: authority.ca },
      connectTimeoutMs: 500
    });
    server.close();
    const end = new Date(Date.now() + 13 * 86_400_000).toISOString().slice(0, 10);
    expect(steps[2]).toMatchObject({ step: 'tls', ok: true });
    expect(steps[2].text).toContain(`TLSv1.3; its certificate ends on ${end}`);
  });

  test('names a broker whose TLS is too old', async () => {
    const { certFile, keyFile } = broker.certificates;
    const server = tls.createServer({
      cert: fs.readFileSync(certFile),
      key: fs.readFileSync(keyFile),
      maxVersion: 'TLSv1.2'
    });
    const port = await listen(server);
    const steps = await run({ url: `mqtts://localhost:${port}`, ...trusted() });
    expect(last(steps)).toMatchObject({ step: 'tls', ok: false });
    expect(last(steps).text).toBe(
      'The broker does not speak TLS 1.3. Update the broker, or set the minimum TLS version to 1.2 in the broker node.'
    );
    server.close();
  });

  test('names a login that the broker refuses', async () => {
    const passwords = path.join(folder, 'passwords');
    fs.writeFileSync(passwords, '');
    const closed = await Broker.start({ config: `allow_anonymous false\npassword_file ${passwords}` });
    try {
      const steps = await run({ url: closed.plainUrl, username: 'plant', password: 'wrong' });
      expect(shown(steps)).toEqual(['connect ok', 'login failed']);
      expect(last(steps)).toMatchObject({
        code: 'CONNACK 135',
        text: 'The broker does not allow this client. Check the user name, the password and the rights of the client id.'
      });
    } finally {
      await closed.remove();
    }
  });

  test('names a topic to which this client may not publish', async () => {
    const steps = await run({ url: broker.plainUrl }, [TOPIC, 'gw/other/normal']);
    expect(shown(steps)).toEqual(['connect ok', 'login ok', 'publish failed']);
    expect(last(steps)).toMatchObject({
      code: 'PUBACK 135',
      text: 'The broker refused a message to gw/other/normal (not authorized for this topic). Allow this client to publish there, or change the topic of the uplink node.'
    });
  });

  test('names a program that is no MQTT broker, and one that never answers', async () => {
    const talker = net.createServer((socket) => void socket.on('error', () => {}).end('220 mail\r\n'));
    const mute = net.createServer((socket) => void socket.on('error', () => {}));
    const talks = await run({ url: `mqtt://127.0.0.1:${await listen(talker)}` });
    const silent = await run({ url: `mqtt://127.0.0.1:${await listen(mute)}`, connectTimeoutMs: 300 });
    talker.close();
    mute.close();
    expect(shown(talks)).toEqual(['connect ok', 'login failed']);
    expect(shown(silent)).toEqual(['connect ok', 'login failed']);
    expect(last(silent).text).toMatch(/does not answer as an MQTT broker\.$/);
  });

  test('ends with a sentence when a key file cannot be read', async () => {
    const steps = await run({ url: broker.url, tlsFiles: { ca: path.join(folder, 'missing.pem') } });
    expect(last(steps)).toMatchObject({ step: 'tls', ok: false });
    expect(last(steps).text).toContain('missing.pem');
  });
});

describe('the test of a connection without a network', () => {
  const { test: inNamespace } = needs('unshare');
  inNamespace('names a host to which there is no route', () => {
    const script = `
      const { checkOptions } = require('./nodes/lib/settings/uplink-options');
      const { testConnection } = require('./nodes/lib/uplink/session/connection-test');
      const options = checkOptions({ gateway: 'plant', url: 'mqtt://10.9.8.7:1883', connectTimeoutMs: 3000 }, '');
      testConnection(options, []).then((steps) => console.log(JSON.stringify(steps)));`;
    const cwd = path.join(__dirname, '../../..');
    const out = execFileSync('unshare', ['-rn', process.execPath, '-e', script], { cwd, encoding: 'utf8' });
    expect(JSON.parse(out)).toMatchObject([
      {
        step: 'connect',
        ok: false,
        code: 'ENETUNREACH',
        text: 'There is no route to 10.9.8.7. Check the network.'
      }
    ]);
  });
});

/** @param {net.Server} server */
async function listen(server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return /** @type {net.AddressInfo} */ (server.address()).port;
}
