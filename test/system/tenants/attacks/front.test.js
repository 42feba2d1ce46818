'use strict';
// Attacks on a front and its tenants by strangers, by a device of another tenant, and by a tenant itself. The front and
// the keeper are real; the tenants are small programs that do what the test says.

const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const tls = require('node:tls');
const mqtt = require('mqtt');
const { eventually } = require('../../../../bench/harness/net');
const { RealFront, PASSWORD, TOKEN } = require('../../../fixtures/tenants/real-front');

jest.setTimeout(120_000);

const LONG = { timeoutMs: 60_000 };
/** The tenant "crash" ends at once while its volume has no such file. */
const REPAIRED = 'repaired';

/** @type {RealFront} */
let front;
/** @type {mqtt.MqttClient[]} */
let clients = [];

beforeAll(async () => {
  front = new RealFront({ acme: [], blue: [], crash: ['--crash-without', REPAIRED] });
  await front.start(['acme/evil', 'acme/good', 'blue/good', 'crash/good', 'gone/good']);
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.endAsync(true)));
  clients = [];
});
afterAll(() => front?.stop());

/** @param {string} username @param {string} clientId @param {object} [more] @returns {Promise<mqtt.MqttClient>} */
async function connect(username, clientId, more) {
  const options = {
    username,
    password: PASSWORD,
    clientId,
    reconnectPeriod: 0,
    protocolVersion: /** @type {5} */ (5)
  };
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${front.ports.mqtt}`, { ...options, ...more });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

/** @param {mqtt.MqttClient} client @param {string} topic @param {string} payload */
const publish = (client, topic, payload) => client.publishAsync(topic, payload, { qos: 1 });

/**
 * Sends bytes, and waits until the front closes or a moment has passed.
 * @param {number} port
 * @param {Buffer | string} bytes
 */
function send(port, bytes) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes, () => socket.end()));
    socket.on('error', () => {}).on('data', () => {});
    socket.setTimeout(200, () => socket.destroy());
    socket.once('close', resolve);
  });
}

/** @returns {Promise<Buffer>} the first flight of a TLS handshake */
function clientHello() {
  return new Promise((resolve) => {
    const server = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (bytes) => {
        socket.destroy();
        server.close();
        resolve(bytes);
      });
    });
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      tls.connect({ port, host: '127.0.0.1', servername: 'acme.localhost' }).on('error', () => {});
    });
  });
}

/** @param {number} port @param {object} options @param {string} [body] @returns {Promise<number>} status */
function request(port, options, body = '') {
  return new Promise((resolve, reject) => {
    const asked = http.request({ host: '127.0.0.1', port, agent: false, ...options }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

const basic = (/** @type {string} */ user, password = PASSWORD) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

test('no stranger wakes a tenant: scans, half handshakes, wrong passwords, garbage, requests without a login', async () => {
  const ports = Object.values(front.ports);
  for (const port of ports) await Promise.all(Array.from({ length: 20 }, () => send(port, '')));
  const hello = await clientHello();
  const garbage = [
    hello,
    hello.subarray(0, hello.length / 2),
    Buffer.alloc(2000, 0xff),
    '\0',
    'GET / HTTP/1.1\r\n\r\n'
  ];
  for (const port of ports) for (const bytes of garbage) await send(port, bytes);
  // A CONNECT that is cut.
  await send(front.ports.mqtt, Buffer.from('101a00044d51545405c2000a0000', 'hex'));
  for (const password of ['wrong', '', undefined]) {
    await expect(connect('acme/good', 'x', { password })).rejects.toThrow();
  }
  for (const user of ['nobody', 'acme', 'acme/', '/good', 'acme/nobody', '../acme/good']) {
    await expect(connect(user, 'x')).rejects.toThrow();
  }
  const post = (/** @type {object} */ headers, where = '/r/cam-1') =>
    request(front.ports.http, { method: 'POST', path: where, headers }, '1');
  expect(await post({})).toBe(401);
  expect(await post({ authorization: `Bearer ${TOKEN}x` })).toBe(401);
  expect(await post({ authorization: basic('acme/good') })).toBe(401);
  const page = (/** @type {object} */ headers) => request(front.ports.pages, { headers: { host: `acme.localhost:${front.ports.pages}`, ...headers } }); // prettier-ignore
  expect(await page({})).toBe(401);
  expect(await page({ authorization: basic('acme/good', 'wrong') })).toBe(401);
  expect(await page({ authorization: basic('blue/good') })).toBe(401);
  for (const host of ['other.example', '127.0.0.1', 'blue.localhost', 'acme'])
    expect([401, 421]).toContain(await page({ host, authorization: basic('acme/good') }));
  // A login alone is no reason, nor is a record of a tenant that there is not.
  await connect('acme/good', 'silent');
  const gone = await connect('gone/good', 'pump-1');
  await publish(gone, 't', '1').catch(() => {});
  // A record is.
  const blue = await connect('blue/good', 'pump-1');
  await publish(blue, 't', 'the first record of blue');
  await eventually(() => front.arrived('blue').includes('the first record of blue'), LONG);
  expect(front.events.filter(({ event }) => event === 'waking').map(({ tenant }) => tenant)).toEqual([
    'blue'
  ]);
});

test('a device reaches neither records nor devices of another tenant, whatever it calls itself and its topics', async () => {
  const victim = await connect('blue/good', 'pump-1');
  /** @type {string[]} */
  const heard = [];
  const listen = (/** @type {mqtt.MqttClient} */ client, /** @type {string} */ name) =>
    client.on('message', (topic) => heard.push(`${name} ${topic}`));
  listen(victim, 'victim');
  await victim.subscribeAsync('cmd/pump-1/#', { qos: 1 });
  const filters = ['#', '+/#', '$SYS/#', 'cmd/#', 'cmd/+/#', 'cmd/blue:pump-1/#', 'cmd/blue/pump-1/#', '../blue/#', 'tenant/blue/#']; // prettier-ignore
  const ids = ['blue:pump-1', ':blue:pump-1', 'acme:x', 'blue/pump-1', '../blue/pump-1', '..:pump-1', ':', 'blue:', '+', '#', 'a+b#', 'pump-1']; // prettier-ignore
  const topics = ['t', 'cmd/blue:pump-1/stolen', 'cmd/pump-1/stolen', '../blue/pump-1', 'blue:pump-1', 'd/blue:pump-1/t', '$SYS/stolen', 'r/blue:pump-1']; // prettier-ignore
  for (const id of ids) {
    // Some of these the front refuses, which is as good.
    const evil = await connect('acme/evil', id).catch(() => null);
    if (!evil) continue;
    listen(evil, 'evil');
    for (const filter of filters) await evil.subscribeAsync(filter, { qos: 1 }).catch(() => {});
    for (const topic of topics) await publish(evil, topic, 'stolen').catch(() => {});
  }
  const post = (/** @type {string} */ where) => request(front.ports.http, { method: 'POST', path: where, headers: { authorization: `Bearer ${TOKEN}` } }, 'stolen'); // prettier-ignore
  for (const where of [
    '/r/blue:pump-1',
    '/r/../blue/pump-1',
    '/r/%2e%2e%2fblue%2fpump-1',
    '/r/:',
    '/r/blue%3apump-1'
  ])
    await post(where).catch(() => {});
  const acme = await connect('acme/good', 'last');
  await publish(acme, 't', 'the last record of acme');
  await publish(victim, 't', 'the second record of blue');
  await eventually(() => front.arrived('acme').includes('the last record of acme'), LONG);
  await eventually(() => front.arrived('blue').includes('the second record of blue'), LONG);
  expect(front.arrived('acme')).toContain('stolen');
  expect(front.arrived('blue')).not.toContain('stolen');
  expect(victim.connected).toBe(true);
  expect(heard).toEqual([]);
});

test('a tenant commands its own devices only, and its garbage ends its own connection only', async () => {
  const [own, other] = [await connect('acme/good', 'pump-1'), await connect('blue/good', 'pump-1')];
  /** @type {string[]} */
  const heard = [];
  own.on('message', (topic) => heard.push(`acme ${topic}`));
  other.on('message', (topic) => heard.push(`blue ${topic}`));
  for (const client of [own, other]) await client.subscribeAsync('cmd/pump-1/#', { qos: 1 });
  /** A tenant can speak while the front is connected, so a record comes first. @param {string} deed */
  const speak = (deed) =>
    eventually(
      async () => {
        await publish(own, 't', 'a record of acme').catch(() => {});
        return (await front.tell('acme', deed).catch(() => 0)) > 0;
      },
      { ...LONG, everyMs: 100 }
    );
  const devices = [
    'blue:pump-1',
    'blue',
    '../blue:pump-1',
    'acme:pump-1',
    'blue%3apump-1',
    ':',
    '',
    '+',
    '#',
    '\0'
  ];
  const topics = devices.map((device) => `cmd/front/${device}/stolen`);
  topics.push(
    'cmd/front',
    'cmd/blue/pump-1/stolen',
    'cmd/+/pump-1/stolen',
    '$SYS/stolen',
    'cmd/pump-1/stolen'
  );
  for (const topic of topics) await speak(`publish/${encodeURIComponent(JSON.stringify([topic, 'x']))}`);
  // Packets of a server that are none, that are too long, or that never end.
  for (const bytes of [
    '00',
    'f000',
    '40020000',
    '4002ffff',
    '30ffffffff',
    '30ffffff7f00',
    '20020000',
    'ff'.repeat(64)
  ]) {
    await speak(`send/${bytes}`);
  }
  await eventually(
    async () => {
      await speak(`publish/${encodeURIComponent(JSON.stringify(['cmd/front/pump-1/valve', 'x']))}`);
      return heard.length > 0;
    },
    { ...LONG, everyMs: 200 }
  );
  await publish(other, 't', 'the third record of blue');
  await eventually(() => front.arrived('blue').includes('the third record of blue'), LONG);
  expect([...new Set(heard)]).toEqual(['acme cmd/pump-1/valve']);
});

test('a tenant that acknowledges nothing delays no other tenant, and gets its records later', async () => {
  const [own, other] = [await connect('acme/good', 'slow'), await connect('blue/good', 'fast')];
  await publish(own, 't', 'acme is awake');
  await eventually(() => front.arrived('acme').includes('acme is awake'), LONG);
  await front.tell('acme', 'answers/false');
  const numbers = Array.from({ length: 200 }, (_, i) => i);
  await Promise.all(
    numbers.flatMap((i) => [publish(own, 't', `slow-${i}-`), publish(other, 't', `fast-${i}-`)])
  );
  const missing = (/** @type {string} */ tenant, /** @type {string} */ word) => {
    const text = front.arrived(tenant);
    return numbers.filter((i) => !text.includes(`${word}-${i}-`));
  };
  await eventually(() => missing('blue', 'fast').length === 0, LONG);
  expect(missing('acme', 'slow')).toEqual(numbers);
  await front.tell('acme', 'answers/true');
  await front.tell('acme', `send/${'ff'.repeat(8)}`);
  await eventually(() => missing('acme', 'slow').length === 0, LONG);
});

test('a tenant that crashes repeatedly is started less and less often, and its records are kept', async () => {
  const [own, other] = [await connect('crash/good', 'pump-1'), await connect('blue/good', 'beside')];
  for (let i = 0; i < 10; i++) await publish(own, 't', `kept-${i}-`);
  const of = (/** @type {string} */ event) =>
    front.events.filter((each) => each.tenant === 'crash' && each.event === event);
  await eventually(() => of('crashed').length === 2, LONG);
  expect(of('crashed').map(({ failures }) => failures)).toEqual([1, 2]);
  for (let i = 0; i < 50; i++) await publish(other, 't', `beside-${i}-`);
  await eventually(() => front.arrived('blue').includes('beside-49-'), LONG);
  expect(front.events.filter(({ tenant, event }) => tenant === 'blue' && event === 'crashed')).toEqual([]);
  fs.writeFileSync(path.join(front.volume('crash'), REPAIRED), '');
  await eventually(() => front.arrived('crash').includes('kept-9-'), LONG);
  const kept = [...front.arrived('crash').matchAll(/kept-(\d+)-/g)].map(([, i]) => Number(i));
  expect(kept).toEqual(Array.from({ length: 10 }, (_, i) => i));
  const starts = of('waking').map(({ at }) => at);
  expect(starts).toHaveLength(3);
  // The clock of the events is not the monotonic one of the waits.
  expect(starts[1] - starts[0]).toBeGreaterThan(900);
  expect(starts[2] - starts[1]).toBeGreaterThan(6900);
});
