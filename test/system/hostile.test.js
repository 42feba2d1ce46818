'use strict';
// Input that a device may send by mistake or on purpose. A canary device publishes all the while: it must not notice.

const net = require('node:net');
const packets = require('mqtt-packet');
const { startCloud } = require('../../bench/harness/cloud');
const { connectDevice, receive } = require('../fixtures/devices/device');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { seeded } = require('../fixtures/random');
const { needs } = require('../../bench/harness/tools');
const { PATIENCE } = require('../../bench/harness/patience');

const { describe } = needs('mosquitto');

jest.setTimeout(60000);

/** @param {string} clientId */
const connectPacket = (clientId) =>
  packets.generate({
    cmd: 'connect',
    clientId,
    protocolVersion: 4,
    protocolId: 'MQTT',
    clean: true,
    keepalive: 60
  });

/** @param {string} topic @param {string} payload @param {number} messageId */
const publishPacket = (topic, payload, messageId) =>
  packets.generate({ cmd: 'publish', topic, payload, qos: 1, messageId, dup: false, retain: false });

const connack = Buffer.from([0x20, 2, 0, 0]);

describe('hostile devices', () => {
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../bench/harness/gateway').Gateway} */
  let gateway;
  /** @type {import('../fixtures/devices/device').Receiver} */
  let receiver;
  /** @type {import('mqtt').MqttClient} */
  let canary;
  /** @type {Set<net.Socket>} */
  const sockets = new Set();
  const song = { sent: 0, acked: 0, slowestMs: 0, lost: false, stop: false, done: Promise.resolve() };

  /** One message after the other during the tests. */
  async function sing() {
    while (!song.stop && !song.lost) {
      const at = Date.now();
      song.sent += 1;
      await canary.publishAsync('d/canary/t', `{"n":${song.sent}}`, { qos: 1 });
      song.acked += 1;
      song.slowestMs = Math.max(song.slowestMs, Date.now() - at);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  beforeAll(async () => {
    cloud = await startCloud();
    gateway = await startGateway(cloud);
    receiver = await receive(cloud);
    canary = await connectDevice(gateway, 'canary');
    canary.on('close', () => {
      song.lost = !song.stop;
    });
    song.done = sing();
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    const { acked } = song;
    await eventually(() => song.acked > acked + 2 || song.lost, { what: 'the canary sings on' });
    expect({ alive: gateway.alive, canaryLost: song.lost }).toEqual({ alive: true, canaryLost: false });
    const late = await connectDevice(gateway, 'after');
    await late.endAsync();
  });

  afterAll(async () => {
    song.stop = true;
    await song.done;
    if (receiver) {
      await receiver.record((record) => record.d === 'canary' && record.p.n === song.acked);
      const delivered = receiver.records().filter((record) => record.d === 'canary');
      expect(delivered.map((record) => record.p.n)).toEqual(
        Array.from({ length: song.acked }, (_, i) => i + 1)
      );
      await receiver.close();
    }
    if (canary) await canary.endAsync(true);
    if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
    if (cloud) await cloud.close();
    expect(song.slowestMs).toBeLessThan(2000 * PATIENCE);
  });

  /** A raw connection that keeps its input. */
  async function open() {
    const socket = net.connect(gateway.port, gateway.host);
    sockets.add(socket);
    socket.setNoDelay(true);
    const state = { socket, received: Buffer.alloc(0), closed: false };
    socket.on('data', (data) => (state.received = Buffer.concat([state.received, data])));
    socket.on('error', () => {});
    socket.on('close', () => (state.closed = true));
    await new Promise((resolve, reject) => socket.once('connect', () => resolve(0)).once('error', reject));
    return state;
  }

  /** Writes and lets the gateway read it before the next write. */
  async function write(/** @type {net.Socket} */ socket, /** @type {Buffer} */ bytes) {
    if (socket.destroyed) return;
    await new Promise((resolve) => socket.write(bytes, () => resolve(0)));
    await new Promise((resolve) => setTimeout(resolve, 3));
  }

  /** @param {Buffer} bytes @param {boolean} connected */
  async function expectClosed(bytes, connected) {
    const state = await open();
    if (connected) await write(state.socket, connectPacket(`bad-${bytes.toString('hex').slice(0, 16)}`));
    await write(state.socket, bytes);
    await eventually(() => state.closed, {
      what: `the end of the connection that sent ${bytes.toString('hex')}`
    });
  }

  const seed = Number(process.env.SEGANET_TEST_SEED) || Math.floor(Math.random() * 2 ** 31);

  test(`300 connections of random bytes (SEGANET_TEST_SEED=${seed})`, async () => {
    const random = seeded(seed);
    for (let round = 0; round < 300; round += 20) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const { socket } = await open();
          if (i % 2) await write(socket, connectPacket(`random-${round + i}`));
          await write(socket, random.bytes(1 + random.integer(2000)));
          socket.destroy();
        })
      );
    }
  });

  test(`300 valid sessions with flipped bits (SEGANET_TEST_SEED=${seed})`, async () => {
    const random = seeded(seed + 1);
    for (let round = 0; round < 300; round += 20) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const id = `flip-${round + i}`;
          const bytes = Buffer.concat([connectPacket(id), publishPacket(`d/${id}/t`, '{"flip":1}', 1)]);
          for (let n = 1 + random.integer(3); n > 0; n -= 1)
            bytes[random.integer(bytes.length)] ^= 1 << random.integer(8);
          const { socket } = await open();
          await write(socket, bytes);
          socket.destroy();
        })
      );
    }
  });

  test('reads a valid session split at every byte', async () => {
    const tail = Buffer.concat([
      packets.generate({ cmd: 'pingreq' }),
      packets.generate({ cmd: 'disconnect' })
    ]);
    /** @param {string} id */
    const session = (id) =>
      Buffer.concat([connectPacket(id), publishPacket(`d/${id}/t`, '{"split":true}', 7), tail]);
    const length = session('split-000').length;
    // The PUBACK leaves when the record is safe, which may be after the device's DISCONNECT.
    const answer = Buffer.concat([connack, Buffer.from([0xd0, 0])]);
    const puback = Buffer.from([0x40, 2, 0, 7]);
    await Promise.all(
      Array.from({ length: length + 1 }, async (_, at) => {
        const id = `split-${String(at).padStart(3, '0')}`;
        const bytes = session(id);
        const state = await open();
        if (at === length) {
          for (const byte of bytes) await write(state.socket, Buffer.from([byte]));
        } else {
          await write(state.socket, bytes.subarray(0, at));
          await write(state.socket, bytes.subarray(at));
        }
        await eventually(() => state.closed, { what: `the end of session ${id}` });
        const acknowledged = state.received.includes(puback);
        expect(state.received.length).toBe(answer.length + (acknowledged ? puback.length : 0));
        expect(state.received.subarray(0, 4)).toEqual(connack);
        expect(state.received.includes(Buffer.from([0xd0, 0]))).toBe(true);
        await receiver.record((record) => record.d === id);
      })
    );
  });

  test.each([
    ['a remaining length of 256 MB', Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1])],
    ['a remaining length of five bytes', Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01])],
    ['a second CONNECT', connectPacket('second')],
    ['a packet of type 0', Buffer.from([0x00, 0])],
    ['a packet that only a server sends', Buffer.from([0x20, 2, 0, 0])],
    ['QoS 3', Buffer.from([0x36, 5, 0, 1, 0x61, 0, 1])],
    ['a PUBLISH whose topic is longer than itself', Buffer.from([0x30, 3, 0xff, 0xff, 0x61])],
    ['a PUBLISH to a wildcard', Buffer.from([0x30, 3, 0, 1, 0x23])],
    ['packet identifier 0', Buffer.from([0x32, 5, 0, 1, 0x61, 0, 0])]
  ])('ends the connection of %s', async (_, bytes) => {
    await expectClosed(bytes, true);
  });

  test.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['a TLS hello', Buffer.from('16030100c8010000c40303', 'hex')],
    ['a PUBLISH before CONNECT', publishPacket('d/x/t', '1', 1)],
    ['a CONNECT of 256 MB', Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f])],
    [
      'a wrong protocol name',
      Buffer.from([0x10, 14, 0, 4, 0x4d, 0x51, 0x54, 0x58, 4, 2, 0, 60, 0, 2, 0x61, 0x62])
    ]
  ])('ends the connection of %s instead of CONNECT', async (_, bytes) => {
    await expectClosed(bytes, false);
  });

  test('closes 200 silent connections and a CONNECT that never ends after a while, without delay for others', async () => {
    const silent = await Promise.all(Array.from({ length: 200 }, () => open()));
    const slow = await open();
    const at = Date.now();
    const device = await connectDevice(gateway, 'busy');
    await device.publishAsync('d/busy/t', '{"busy":1}', { qos: 1 });
    await receiver.record((record) => record.d === 'busy');
    expect(Date.now() - at).toBeLessThan(2000 * PATIENCE);
    await device.endAsync();
    const bytes = connectPacket('a-very-slow-device-with-a-long-name');
    for (let i = 0; i < bytes.length && !slow.closed; i += 1) {
      await write(slow.socket, bytes.subarray(i, i + 1));
      await eventually(() => slow.closed || Date.now() - at > (i + 1) * 800, { timeoutMs: 2000 });
    }
    expect(slow.closed).toBe(true);
    expect(slow.received.length).toBe(0);
    await eventually(() => silent.every(({ closed }) => closed), {
      what: 'the end of the silent connections'
    });
    expect(Date.now() - at).toBeLessThan(20000 * PATIENCE);
  });
});
