'use strict';
// Sessions of MQTT devices that outlive a restart, and wills at the gateway's stop: a real gateway and broker, mqtt.js
// and paho-mqtt as devices.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const mqtt = require('mqtt');
const { startCloud } = require('../../../bench/harness/cloud');
const { receive } = require('../../fixtures/devices/device');
const { startGateway } = require('../../../bench/harness/gateway');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('mosquitto');
const { test: withPaho } = needs('python:paho.mqtt');

jest.setTimeout(60000);

const GATEWAY = 'gw-session-test';

describe('sessions of devices', () => {
  /** @type {import('../../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../../bench/harness/gateway').Gateway} */
  let gateway;
  /** @type {mqtt.MqttClient} */
  let operator;
  /** @type {{ device: string, status: string }[]} */
  const reports = [];
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-sessions-'));
  /** @type {mqtt.MqttClient[]} */
  let devices = [];

  const start = async () => {
    gateway = await startGateway(cloud, { gatewayId: GATEWAY, env: { SEGANET_COMMANDS: 'on', SEGANET_HOME: home } }); // prettier-ignore
    await cloud.waitForClient(new RegExp(`^${GATEWAY}-cmd$`));
  };
  beforeAll(async () => {
    cloud = await startCloud();
    operator = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, { clientId: 'receiver-operator', protocolVersion: 5 }); // prettier-ignore
    operator.on('message', (topic, payload) => reports.push({ device: topic.split('/')[2], ...JSON.parse(payload.toString()) })); // prettier-ignore
    await operator.subscribeAsync(`cmd-report/${GATEWAY}/#`, { qos: 1 });
    await start();
    await eventually(
      async () => {
        await command('probe', '', { qos: 0 });
        return statusesOf('probe').length > 0;
      },
      { everyMs: 50, what: 'the subscription' }
    );
  });
  afterEach(() => {
    for (const device of devices) device.end(true);
    devices = [];
  });
  afterAll(async () => {
    await operator?.endAsync(true);
    if (gateway?.alive) expect(await gateway.stop()).toMatchObject({ code: 0 });
    await cloud?.close();
    fs.rmSync(home, { recursive: true, force: true });
  });

  /** @param {string} device @param {string} payload @param {mqtt.IClientPublishOptions} [options] */
  const command = (device, payload, options = {}) =>
    operator.publishAsync(`cmd/${GATEWAY}/${device}/x`, payload, { qos: 1, ...options });
  /** @param {string} device */
  const statusesOf = (device) => reports.filter((each) => each.device === device).map(({ status }) => status);

  /**
   * @param {string} id
   * @param {4 | 5} version
   * @param {mqtt.IClientOptions} [options]
   */
  async function connect(id, version, options = {}) {
    const five = version === 5 ? { properties: { sessionExpiryInterval: 1000, ...options.properties } } : {};
    const device = mqtt.connect(gateway.url, { clientId: id, protocolVersion: version, clean: false, reconnectPeriod: 0, ...options, ...five }); // prettier-ignore
    devices.push(device);
    /** @type {{ topic: string, text: string, id?: number, dup: boolean }[]} */
    const got = [];
    device.on('message', (topic, payload, { messageId, dup }) => got.push({ topic, text: payload.toString(), id: messageId, dup })); // prettier-ignore
    device.on('error', () => {});
    const [connack] = await once(device, 'connect');
    return { device, got, isPresent: connack.sessionPresent };
  }
  const crash = async () => {
    await gateway.child.stop('SIGKILL');
    await start();
  };
  const restart = async () => {
    expect(await gateway.child.stop('SIGTERM', 15000)).toMatchObject({ code: 0 });
    await start();
  };

  describe.each([
    ['kill -9', crash],
    ['SIGTERM', restart]
  ])('after %s', (how, again) => {
    test.each(/** @type {const} */ ([4, 5]))(
      'continue with their subscriptions, and get what was sent meanwhile (MQTT %s)',
      async (version) => {
        const id = `${how.replace(/\W/g, '')}-${version}`;
        const first = await connect(id, version);
        expect(first.isPresent).toBe(false);
        await first.device.subscribeAsync(`cmd/${id}/#`, { qos: 1 });
        await first.device.subscribeAsync(`cmd/${id}/gone`, { qos: 1 });
        await first.device.unsubscribeAsync(`cmd/${id}/gone`);
        const stopped = gateway.child.stop(how === 'SIGTERM' ? 'SIGTERM' : 'SIGKILL', 15000);
        await stopped;
        await command(id, 'while the gateway was off');
        await start();
        await eventually(() => statusesOf(id).includes('queued'), { what: 'queued' });
        const second = await connect(id, version);
        expect(second.isPresent).toBe(true);
        await eventually(() => second.got.length > 0, { what: 'the command' });
        expect(second.got.map(({ topic, text }) => [topic, text])).toEqual([[`cmd/${id}/x`, 'while the gateway was off']]); // prettier-ignore
        await eventually(() => statusesOf(id).includes('taken'), { what: 'taken' });
      }
    );

    test('are gone if the device ended them', async () => {
      const id = `ended-${how.replace(/\W/g, '')}`;
      const first = await connect(id, 4);
      await first.device.subscribeAsync(`cmd/${id}/#`, { qos: 1 });
      await first.device.endAsync();
      const clean = await connect(id, 4, { clean: true });
      await clean.device.subscribeAsync(`cmd/${id}/other`, { qos: 1 });
      await clean.device.endAsync();
      // The deletion is written at once; this subscription is written after it.
      const marker = await connect(`${id}-marker`, 4);
      await marker.device.subscribeAsync(`cmd/${id}-marker/#`, { qos: 1 });
      await again();
      expect((await connect(id, 4)).isPresent).toBe(false);
      expect((await connect(`${id}-marker`, 4)).isPresent).toBe(true);
    });
  });

  test('end while the gateway is off', async () => {
    const first = await connect('short', 5, { properties: { sessionExpiryInterval: 1 } });
    const five = { properties: { sessionExpiryInterval: 1 } };
    first.device.end(true);
    const device = mqtt.connect(gateway.url, { clientId: 'short', protocolVersion: 5, clean: false, reconnectPeriod: 0, ...five }); // prettier-ignore
    devices.push(device);
    await once(device, 'connect');
    await device.subscribeAsync('cmd/short/#', { qos: 1 });
    expect(await gateway.child.stop('SIGTERM', 15000)).toMatchObject({ code: 0 });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await start();
    const again = mqtt.connect(gateway.url, { clientId: 'short', protocolVersion: 5, clean: false, reconnectPeriod: 0, ...five }); // prettier-ignore
    devices.push(again);
    const [connack] = await once(again, 'connect');
    expect(connack.sessionPresent).toBe(false);
  });

  test('a command without its PUBACK comes again with its identifier and DUP after an orderly restart', async () => {
    const id = 'silent';
    const first = await connect(id, 4, { customHandleAcks: () => {} });
    await first.device.subscribeAsync(`cmd/${id}/#`, { qos: 1 });
    // mqtt.js answers with the PUBACK only when its handler calls back, which this one does not.
    first.device.handleMessage = () => {};
    /** @type {import('mqtt-packet').IPublishPacket[]} */
    const packets = [];
    first.device.on('packetreceive', (packet) => packet.cmd === 'publish' && packets.push(packet));
    await command(id, 'once');
    await eventually(() => packets.length > 0, { what: 'the command' });
    await eventually(() => statusesOf(id).includes('queued'), { what: 'on disk' });
    expect(await gateway.child.stop('SIGTERM', 15000)).toMatchObject({ code: 0 });
    first.device.end(true);
    await start();
    const second = await connect(id, 4);
    await eventually(() => second.got.length > 0, { what: 'the command again' });
    expect(second.got).toEqual([{ topic: `cmd/${id}/x`, text: 'once', id: packets[0].messageId, dup: true }]);
  });

  withPaho('continue for paho-mqtt, too', async () => {
    const python = process.env.SEGANET_PYTHON ?? 'python3';
    const script = `
import sys, paho.mqtt.client as m
c = m.Client(m.CallbackAPIVersion.VERSION2, client_id='paho', clean_session=False)
def connected(c, u, flags, code, p):
    print('present', flags.session_present, flush=True)
    if not flags.session_present: c.subscribe('cmd/paho/#', 1)
def message(c, u, msg):
    print('got', msg.payload.decode(), flush=True)
    c.disconnect()
c.on_connect = connected
c.on_subscribe = lambda *a: (print('subscribed', flush=True), c.disconnect())
c.on_message = message
c.connect('127.0.0.1', int(sys.argv[1]))
c.loop_forever()`;
    const run = async () => {
      const child = spawn(python, ['-c', script, String(gateway.port)], {
        stdio: ['ignore', 'pipe', 'inherit']
      });
      let out = '';
      child.stdout.on('data', (text) => (out += text));
      await once(child, 'close');
      return out.trim().split('\n');
    };
    expect(await run()).toEqual(['present False', 'subscribed']);
    await gateway.child.stop('SIGKILL');
    await command('paho', 'hello');
    await start();
    expect(await run()).toEqual(['present True', 'got hello']);
  });

  describe('wills', () => {
    /** @type {Awaited<ReturnType<typeof receive>>} */
    let receiver;
    beforeEach(async () => {
      receiver = await receive(cloud);
    });
    afterEach(() => receiver.close());

    test('are published when the gateway ends, and MQTT 5 devices get the reason', async () => {
      const will = { topic: 'd/will', payload: Buffer.from('gone'), qos: /** @type {1} */ (1) };
      await connect('will-4', 4, { clean: true, will });
      const five = await connect('will-5', 5, { will });
      const delayed = { ...will, properties: { willDelayInterval: 500 } };
      await connect('will-late', 5, { will: delayed });
      const left = await connect('will-left', 5, { will });
      await left.device.endAsync();
      const disconnected = once(five.device, 'disconnect');
      const stopped = gateway.child.stop('SIGTERM', 15000);
      const [packet] = await disconnected;
      expect(packet.reasonCode).toBe(0x8b);
      expect(await stopped).toMatchObject({ code: 0 });
      // A gateway that ends within its time on a busy machine leaves them on disk.
      await start();
      const of = ({ t }) => t === 'd/will';
      const wills = () => [...new Set(receiver.records().filter(of).map(({ d }) => d))].sort(); // prettier-ignore
      await eventually(() => wills().length >= 3, { what: 'three wills' });
      expect(wills()).toEqual(['will-4', 'will-5', 'will-late']);
      const again = await connect('will-5', 5);
      expect(again.isPresent).toBe(true);
    });

    test('are on disk if the cloud is away when the gateway ends', async () => {
      await connect('will-kept', 4, { will: { topic: 'd/will', payload: Buffer.from('gone'), qos: 1 } });
      await receiver.close();
      await cloud.stop();
      expect(await gateway.child.stop('SIGTERM', 20000)).toMatchObject({ code: 0 });
      await cloud.start();
      receiver = await receive(cloud);
      await start();
      await receiver.record(({ d, t }) => d === 'will-kept' && t === 'd/will');
    });
  });
});
