'use strict';
// QoS 2 is exactly once also if the connection ends right behind the PUBLISH: a real gateway and broker, and devices
// that cut their connections. MQTT 3.1.1, 4.3.3.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const mqtt = require('mqtt');
const mqttPacket = require('mqtt-packet');
const { startCloud } = require('../../../bench/harness/cloud');
const { startGateway } = require('../../../bench/harness/gateway');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('mosquitto');

jest.setTimeout(60000);

const GATEWAY = 'gw-qos2-test';
const TIMES = 40;

/** A connection of a device, as bytes. */
class Wire {
  #socket;
  #parser = mqttPacket.parser();
  /** @type {import('mqtt-packet').Packet[]} */
  #came = [];

  /** @param {number} port @param {string} clientId */
  constructor(port, clientId) {
    this.#socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', () => {});
    this.#socket.on('data', (bytes) => this.#parser.parse(bytes));
    this.#parser.on('packet', (packet) => {
      this.#came.push(packet);
      this.#socket.emit('came');
    });
    this.write({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: false, clientId, keepalive: 60 }); // prettier-ignore
  }

  /** @param {import('mqtt-packet').Packet} packet @returns {Promise<void>} when the kernel has it */
  write(packet) {
    return new Promise((resolve) => this.#socket.write(mqttPacket.generate(packet), () => resolve()));
  }

  /** @param {string} cmd @returns {Promise<any>} the next packet, which must be of this kind */
  async next(cmd) {
    const signal = AbortSignal.timeout(20000);
    while (this.#came.length === 0) await once(this.#socket, 'came', { signal });
    const packet = /** @type {import('mqtt-packet').Packet} */ (this.#came.shift());
    expect(packet.cmd).toBe(cmd);
    return packet;
  }

  /** @param {string} text @param {boolean} dup */
  publish(text, dup) {
    return this.write({ cmd: 'publish', topic: 'd/q2', payload: text, qos: 2, messageId: 7, dup, retain: false }); // prettier-ignore
  }

  /** Repeats it, and ends the exchange in order. @param {string} text */
  async finish(text) {
    await this.publish(text, true);
    expect((await this.next('pubrec')).messageId).toBe(7);
    await this.write({ cmd: 'pubrel', messageId: 7 });
    expect((await this.next('pubcomp')).messageId).toBe(7);
    this.end('fin');
  }

  /** @param {'fin' | 'rst'} how */
  end(how) {
    if (how === 'rst') this.#socket.resetAndDestroy();
    else this.#socket.end();
  }
}

describe('QoS 2 of a device whose connection ends behind its PUBLISH', () => {
  /** @type {import('../../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../../bench/harness/gateway').Gateway} */
  let gateway;
  /** @type {mqtt.MqttClient} */
  let receiver;
  /** How often each payload came. @type {Map<string, number>} */
  const came = new Map();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-qos2-'));

  const start = async () => {
    gateway = await startGateway(cloud, { gatewayId: GATEWAY, env: { SEGANET_HOME: home, SEGANET_BATCH_MODE: 'off' } }); // prettier-ignore
  };
  beforeAll(async () => {
    cloud = await startCloud();
    receiver = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, {
      clientId: 'receiver-qos2',
      clean: false
    });
    receiver.on('message', (_topic, payload) => {
      const text = payload.toString();
      came.set(text, (came.get(text) ?? 0) + 1);
    });
    await receiver.subscribeAsync('#', { qos: 1 });
    await start();
  });
  afterAll(async () => {
    await receiver?.endAsync(true);
    if (gateway?.alive) expect(await gateway.stop()).toMatchObject({ code: 0 });
    await cloud?.close();
    fs.rmSync(home, { recursive: true, force: true });
  });

  /** @param {string} id @returns {Promise<{ wire: Wire, isPresent: boolean }>} */
  async function connect(id) {
    const wire = new Wire(gateway.port, id);
    const { sessionPresent } = await wire.next('connack');
    return { wire, isPresent: sessionPresent };
  }
  /** @param {string[]} texts */
  const notOnce = (texts) =>
    texts.filter((text) => came.get(text) !== 1).map((text) => `${text}: ${came.get(text) ?? 0}`);
  /** @param {(id: string) => Promise<void>} act of each device, all at once @param {string[]} ids */
  const each = (ids, act) => Promise.all(ids.map(act));
  /** @param {string} id makes the device's session */
  const begin = async (id) => (await connect(id)).wire.end('fin');
  /** What a device sends last comes last. @param {string} id */
  async function allCame(id) {
    const { wire } = await connect(id);
    await wire.finish(`last of ${id}`);
    await eventually(() => came.has(`last of ${id}`), { timeoutMs: 20000, what: 'the last record' });
  }

  test.each(
    /** @type {const} */ ([
      ['fin', 0],
      ['rst', 0],
      ['rst', 1],
      ['rst', 5]
    ])
  )('gets each record to the cloud once: %s after %d ms', async (how, afterMs) => {
    const id = `${how}${afterMs}`;
    const texts = Array.from({ length: TIMES }, (_, i) => `${id}-${i}`);
    await begin(id);
    for (const text of texts) {
      const first = await connect(id);
      expect(first.isPresent).toBe(true);
      await first.wire.publish(text, false);
      // The delay is what the test is about, not a wait for something.
      if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
      first.wire.end(how);
      const second = await connect(id);
      expect(second.isPresent).toBe(true);
      await second.wire.finish(text);
    }
    await allCame(id);
    expect(notOnce(texts)).toEqual([]);
  });

  test('gets each record to the cloud once over an orderly restart, too', async () => {
    const ids = Array.from({ length: TIMES }, (_, i) => `stop-${i}`);
    await each(ids, begin);
    await each(ids, async (id) => {
      const { wire } = await connect(id);
      await wire.publish(`of ${id}`, false);
      wire.end('fin');
    });
    // The gateway has read them when it answers a later connection of the same devices.
    await each(ids, begin);
    expect(await gateway.child.stop('SIGTERM', 15000)).toMatchObject({ code: 0 });
    await start();
    await each(ids, async (id) => {
      const { wire, isPresent } = await connect(id);
      expect(isPresent).toBe(true);
      await wire.finish(`of ${id}`);
      await allCame(id);
    });
    expect(notOnce(ids.map((id) => `of ${id}`))).toEqual([]);
  });

  test('loses no record that was not safe at a kill -9', async () => {
    const ids = Array.from({ length: TIMES }, (_, i) => `kill-${i}`);
    // Subscribing writes the session at once.
    await each(ids, async (id) => {
      const { wire } = await connect(id);
      await wire.write({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `cmd/${id}/#`, qos: 1 }] });
      await wire.next('suback');
      wire.end('fin');
    });
    await cloud.stop();
    await each(ids, async (id) => {
      const { wire } = await connect(id);
      await wire.publish(`of ${id}`, false);
      wire.end('fin');
    });
    await gateway.child.stop('SIGKILL');
    await cloud.start();
    await start();
    await each(ids, async (id) => {
      const { wire, isPresent } = await connect(id);
      expect(isPresent).toBe(true);
      await wire.finish(`of ${id}`);
      await allCame(id);
    });
    expect(ids.filter((id) => !came.has(`of ${id}`))).toEqual([]);
  });
});
