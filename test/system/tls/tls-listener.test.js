'use strict';
// TLS and WebSocket into the real engine, with common clients.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const mqtt = require('mqtt');
const { promisify } = require('node:util');
const { Authority } = require('../../fixtures/devices/authority');
const { FrontBench } = require('../../fixtures/devices/tls-bench');
const { until } = require('../../fixtures/devices/tls-listener');
const { byPasswords } = require('../../../nodes/lib/login/login-checkers');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

const run = promisify(execFile);
const { describe } = needs('openssl');
const { test: mosquitto } = needs('openssl', 'mosquitto_pub');

let authority, server, device;
const benches = [];
const clients = [];
const ends = [];

beforeAll(() => {
  authority = new Authority();
  server = authority.issue();
  device = authority.issue({ name: 'pump-1' });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.end(true);
  for (const end of ends.splice(0)) end();
  for (const bench of benches.splice(0)) await bench.close();
});
afterAll(() => authority.remove());

const own = () => ({ cert: server.cert, key: server.key, ca: authority.ca });

async function start(options, check, settings) {
  const bench = new FrontBench(settings);
  benches.push(bench);
  const port = await bench.open({ tls: own(), ...options }, check);
  return { bench, port };
}

/** @returns {Promise<import('mqtt').MqttClient>} rejects with the client's error */
async function connect(url, options = {}) {
  const client = mqtt.connect(url, {
    ca: authority.ca,
    reconnectPeriod: 0,
    connectTimeout: 5000 * PATIENCE,
    ...options
  });
  clients.push(client);
  await new Promise((resolve, reject) => {
    client.once('connect', resolve);
    client.once('error', reject);
    client.once('close', () => reject(new Error('closed')));
  });
  return client;
}

async function passwords(lines) {
  const file = authority.file(`passwords-${Math.random()}`);
  const text = [];
  for (const [user, password] of lines)
    text.push(`${user}:${await hashPassword(Buffer.from(password), { ln: 10, r: 8, p: 1 })}\n`);
  fs.writeFileSync(file, text.join(''), { mode: 0o600 });
  const checker = byPasswords(file, 'user', (sentence) => {
    throw new Error(sentence);
  });
  ends.push(checker.endLogins);
  const member = /** @type {any} */ ({ host: { engine: null } });
  return (/** @type {import('../../../native').Login} */ login) => checker.checkLogin?.(login, member);
}

const holds = (bench, ...words) =>
  bench.records.some((record) => words.every((word) => record.includes(word)));

describe('mqtt.js', () => {
  test.each([
    ['tls', 'mqtts', '', 4],
    ['tls', 'mqtts', '', 5],
    ['ws', 'ws', '/mqtt', 4],
    ['ws', 'ws', '/mqtt', 5],
    ['wss', 'wss', '/mqtt', 5]
  ])(
    'sends its records over %s and gets acknowledgements',
    async (transport, scheme, path, protocolVersion) => {
      const { bench, port } = await start({ transport });
      const client = await connect(`${scheme}://127.0.0.1:${port}${path}`, {
        clientId: 'meter-1',
        protocolVersion
      });
      const payloads = Array.from({ length: 200 }, (_, i) => `reading-${i}-${'x'.repeat(500)}`);
      await Promise.all(payloads.map((payload) => client.publishAsync('d/meter-1/t', payload, { qos: 1 })));
      await until(
        () => bench.records.join('').split('reading-').length === 201,
        () => bench.records.length
      );
      expect(holds(bench, 'meter-1', 'd/meter-1/t', 'reading-199-')).toBe(true);
      await client.endAsync();
      await until(
        () => bench.engine.stats().devices === 0,
        () => 'devices'
      );
    }
  );

  test("takes a certificate's name as the device, whatever it calls itself, without a login", async () => {
    const asked = [];
    const { bench, port } = await start({ clientCert: 'wanted' }, async (login) => (asked.push(login), null));
    const options = { clientId: 'i-am-root', cert: device.cert, key: device.key };
    const client = await connect(`mqtts://127.0.0.1:${port}`, options);
    await client.publishAsync('t', 'x', { qos: 1 });
    await until(
      () => holds(bench, 'pump-1'),
      () => bench.records.join()
    );
    expect(holds(bench, 'i-am-root')).toBe(false);
    expect(asked).toEqual([]);
  });

  test.each([4, 5])(
    'takes the user name as the device, and reports a wrong password as such (MQTT %d)',
    async (protocolVersion) => {
      const check = await passwords([['pump-2', 'right']]);
      const { bench, port } = await start({}, check);
      const url = `mqtts://127.0.0.1:${port}`;
      const as = (username, password) => connect(url, { clientId: 'c', username, password, protocolVersion });
      const client = await as('pump-2', 'right');
      await client.publishAsync('t', 'x', { qos: 1 });
      await until(
        () => holds(bench, 'pump-2'),
        () => bench.records.join()
      );
      const code = protocolVersion === 5 ? 134 : 4;
      for (const [user, password] of [
        ['pump-2', 'wrong'],
        ['nobody', 'right'],
        ['pump-2', undefined],
        [undefined, undefined]
      ]) {
        await expect(as(user, password)).rejects.toMatchObject({ code });
      }
      expect(bench.engine.stats().devices).toBe(1);
    }
  );

  test('connects 100 devices over TLS at once, each with its own password', async () => {
    const check = await passwords(Array.from({ length: 100 }, (_, i) => [`d-${i}`, `p-${i}`]));
    const { bench, port } = await start({}, check);
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        connect(`mqtts://127.0.0.1:${port}`, { clientId: `c-${i}`, username: `d-${i}`, password: `p-${i}` })
      )
    );
    await Promise.all(all.map((client, i) => client.publishAsync(`t/${i}`, `from-${i}`, { qos: 1 })));
    expect(bench.engine.stats().devices).toBe(100);
    await until(
      () => bench.state?.open === 100,
      () => JSON.stringify(bench.state)
    );
  }, 20000);

  test("notifies devices of the engine's end by closing their connection, and nothing hangs", async () => {
    const { bench, port } = await start({});
    const client = await connect(`mqtts://127.0.0.1:${port}`, { clientId: 'a' });
    const closed = new Promise((resolve) => client.once('close', resolve));
    benches.length = 0;
    const before = performance.now();
    await Promise.all([bench.close(), closed]);
    expect(performance.now() - before).toBeLessThan(900 * PATIENCE);
  });

  test('closes the devices of a closed listener, and opens another port', async () => {
    const { bench, port } = await start({});
    const client = await connect(`mqtts://127.0.0.1:${port}`, { clientId: 'a' });
    const closed = new Promise((resolve) => client.once('close', resolve));
    bench.closeFront();
    bench.engine.unlisten(1);
    await closed;
    const again = await bench.open({ transport: 'ws' });
    await connect(`ws://127.0.0.1:${again}/mqtt`, { clientId: 'a' });
  });

  test('reports a thread that dies, and a new one serves', async () => {
    const { bench } = await start({});
    await bench.front.thread.worker.terminate();
    await until(
      () => bench.lost.length === 1,
      () => 'lost'
    );
    bench.engine.unlisten(1);
    const port = await bench.open({ tls: own() });
    await connect(`mqtts://127.0.0.1:${port}`, { clientId: 'a' });
  });

  test('reports a port in use with the code of the system', async () => {
    const { port } = await start({});
    await expect(start({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('mosquitto_pub', () => {
  const publish = (port, ...args) => run('mosquitto_pub', ['-h', '127.0.0.1', '-p', String(port), '-q', '1', '-t', 't', '-m', 'hello', ...args]); // prettier-ignore

  mosquitto('publishes over TLS with a password, by MQTT 3.1.1 and 5', async () => {
    const check = await passwords([['pump-3', 'right']]);
    const { bench, port } = await start({}, check);
    const tls = ['--cafile', authority.caFile, '-u', 'pump-3'];
    await publish(port, ...tls, '-P', 'right');
    await publish(port, ...tls, '-P', 'right', '-V', '5', '-i', 'x');
    await until(
      () => bench.records.length >= 1 && holds(bench, 'pump-3', 'hello'),
      () => bench.records.join()
    );
    await expect(publish(port, ...tls, '-P', 'wrong')).rejects.toThrow(/not authorised|bad user|refused/i);
  });

  mosquitto('publishes over TLS with a certificate, and with none', async () => {
    const { bench, port } = await start({ clientCert: 'required' });
    const cert = ['--cafile', authority.caFile, '--cert', device.certFile, '--key', device.keyFile];
    await publish(port, ...cert, '-i', 'x');
    await until(
      () => holds(bench, 'pump-1', 'hello'),
      () => bench.records.join()
    );
    await expect(publish(port, '--cafile', authority.caFile)).rejects.toThrow();
  });

  mosquitto('with a pre-shared key', async () => {
    const key = '00112233445566778899aabbccddeeff';
    const pskFile = authority.file('psk');
    fs.writeFileSync(pskFile, `meter-7:${key}\n`);
    const { bench, port } = await start({ tls: {}, pskFile });
    await publish(port, '--psk', key, '--psk-identity', 'meter-7');
    await until(
      () => holds(bench, 'meter-7', 'hello'),
      () => bench.records.join()
    );
    await expect(
      publish(port, '--psk', key.replace('0', '1'), '--psk-identity', 'meter-7')
    ).rejects.toThrow();
  });
});
