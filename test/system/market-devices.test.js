'use strict';
// Devices of the market at a gateway: their records reach the cloud under their ids, and commands of the cloud reach
// them at their own topics (docs/use/devices.md).

const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { receive } = require('../fixtures/devices/device');
const market = require('../fixtures/devices/market/devices');

const { describe } = needs('mosquitto');
jest.setTimeout(60000);

const GATEWAY = 'site-9';
/** As docs/use/devices.md has them. */
const TOPICS = 'shelly*={device}/{rest}, tasmota_*=cmnd/{device}/{rest}, greenhouse={device}/{rest}';
const BRIDGES = 'zigbee2mqtt=zigbee2mqtt/{device}/#, chirpstack=application/+/device/{device}/#';
const FIELD = 'application/17c82e96-be03-4f38-aef3-f83d48582d97/device/70b3d57ed0067a12';

describe('a device of the market', () => {
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../bench/harness/gateway').Gateway} */
  let gateway;
  /** @type {mqtt.MqttClient} */
  let operator;
  /** @type {Awaited<ReturnType<typeof receive>>} */
  let receiver;
  /** @type {Record<string, string[]>} statuses by device */
  const reports = {};
  beforeAll(async () => {
    cloud = await startCloud();
    const env = { SEGANET_COMMANDS: 'on', SEGANET_COMMAND_TOPICS: TOPICS, SEGANET_BRIDGES: BRIDGES };
    gateway = await startGateway(cloud, { gatewayId: GATEWAY, env });
    await cloud.waitForClient(new RegExp(`^${GATEWAY}-cmd$`));
    operator = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, { clientId: 'operator' });
    operator.on('message', (topic, payload) => {
      const [, , device] = topic.split('/');
      (reports[device] ??= []).push(JSON.parse(payload.toString()).status);
    });
    await operator.subscribeAsync(`cmd-report/${GATEWAY}/#`, { qos: 1 });
    receiver = await receive(cloud, '#');
    // A command that is published before the gateway's first subscription is lost.
    await eventually(
      async () => {
        await operator.publishAsync(`cmd/${GATEWAY}/probe/x`, '');
        return reports.probe?.length > 0;
      },
      { everyMs: 50, what: 'the subscription' }
    );
  });
  afterAll(async () => {
    receiver?.close();
    await operator?.endAsync(true);
    if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
    await cloud?.close();
  });

  test.each([
    {
      name: 'shelly',
      record: { t: 'shellyplus1pm-a8032ab12345/status/switch:0', p: { apower: 12.3, output: false } },
      command: ['rpc', '{"id":7,"src":"cloud","method":"Switch.Set","params":{"id":0,"on":true}}'],
      heard: 'shellyplus1pm-a8032ab12345/rpc',
      answer: { t: 'cloud/rpc', p: { id: 7, src: 'shellyplus1pm-a8032ab12345', result: { was_on: false } } }
    },
    {
      name: 'tasmota',
      record: { t: 'tele/tasmota_A1B2C3/SENSOR', p: { ENERGY: { Power: 73 } } },
      command: ['POWER', 'ON'],
      heard: 'cmnd/tasmota_A1B2C3/POWER',
      answer: { t: 'stat/tasmota_A1B2C3/RESULT', p: { POWER: 'ON' } }
    },
    {
      name: 'esphome',
      record: { t: 'greenhouse/sensor/soil_moisture/state', p: 41.7 },
      command: ['switch/pump/command', 'ON'],
      heard: 'greenhouse/switch/pump/command',
      answer: { t: 'greenhouse/switch/pump/state' }
    },
    {
      name: 'zigbee2mqtt',
      id: 'hall thermometer',
      record: { t: 'zigbee2mqtt/hall thermometer', p: { temperature: 21.5, linkquality: 112 } },
      command: ['set', '{"temperature_calibration":1}'],
      heard: 'zigbee2mqtt/hall thermometer/set',
      answer: { t: 'zigbee2mqtt/hall thermometer', p: { temperature_calibration: 1 } }
    },
    {
      name: 'chirpstack',
      id: '70b3d57ed0067a12',
      record: { t: `${FIELD}/event/up`, p: { object: { moisture: 31.5 }, fCnt: 42 } },
      command: ['command/down', '{"devEui":"70b3d57ed0067a12","confirmed":true,"fPort":10,"data":"AQ=="}'],
      heard: `${FIELD}/command/down`,
      answer: { t: `${FIELD}/event/txack`, p: { fCntDown: 7 } }
    }
  ])(
    '$name: a record, and a command with its answer',
    async ({ name, id, record, command, heard, answer }) => {
      const device = await /** @type {any} */ (market)[name]({ url: gateway.url });
      const own = id ?? device.id;
      try {
        const from =
          (/** @type {string} */ topic) =>
          (/** @type {any} */ { d, t }) =>
            d === own && t === topic;
        await device.report();
        expect(await receiver.record(from(record.t), 20000)).toMatchObject({ d: own, ...record });
        receiver.clear();
        const [rest, payload] = command;
        await operator.publishAsync(`cmd/${GATEWAY}/${own}/${rest}`, payload, { qos: 1 });
        expect(await receiver.record(from(answer.t), 20000)).toMatchObject({ d: own, ...answer });
        expect(device.heard).toContain(heard);
        await eventually(() => reports[own]?.includes('taken'), { timeoutMs: 20000, what: 'the report' });
      } finally {
        await device.end();
      }
    }
  );

  test('a command waits for a device behind a bridge until the device and the bridge are there', async () => {
    const reach = (/** @type {number} */ times) =>
      eventually(() => reports['desk lamp']?.filter((status) => status === 'taken').length === times, {
        timeoutMs: 20000,
        what: `command ${times}`
      });
    const on = () => operator.publishAsync(`cmd/${GATEWAY}/desk lamp/set`, '{"state":"ON"}', { qos: 1 });
    const first = await market.zigbee2mqtt({ url: gateway.url });
    await on();
    await eventually(() => reports['desk lamp']?.includes('queued'), { what: 'that it waits' });
    expect(first.heard).not.toContain('zigbee2mqtt/desk lamp/set');
    await first.publish('zigbee2mqtt/desk lamp', '{"state":"OFF"}');
    await reach(1);
    expect(first.heard).toContain('zigbee2mqtt/desk lamp/set');
    await first.end();
    await on();
    await eventually(() => reports['desk lamp'].filter((status) => status === 'queued').length === 2, {
      what: 'that it waits again'
    });
    // Now the gateway knows where the device is.
    const second = await market.zigbee2mqtt({ url: gateway.url });
    try {
      await reach(2);
      expect(second.heard).toContain('zigbee2mqtt/desk lamp/set');
    } finally {
      await second.end();
    }
  });
});
