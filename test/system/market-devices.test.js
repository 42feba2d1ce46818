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
const TOPICS =
  'shelly*={device}/{rest}, tasmota_*=cmnd/{device}/{rest}, greenhouse={device}/{rest}, zigbee2mqtt=zigbee2mqtt/{rest}';

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
    const env = { SEGANET_COMMANDS: 'on', SEGANET_COMMAND_TOPICS: TOPICS };
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
      record: { t: 'zigbee2mqtt/hall thermometer', p: { temperature: 21.5, linkquality: 112 } },
      command: ['desk lamp/set', '{"state":"ON"}'],
      heard: 'zigbee2mqtt/desk lamp/set',
      answer: { t: 'zigbee2mqtt/desk lamp', p: { state: 'ON' } }
    }
  ])('$name: a record, and a command with its answer', async ({ name, record, command, heard, answer }) => {
    const device = await /** @type {any} */ (market)[name]({
      url: gateway.url
    });
    try {
      const from =
        (/** @type {string} */ topic) =>
        (/** @type {any} */ { d, t }) =>
          d === device.id && t === topic;
      await device.report();
      expect(await receiver.record(from(record.t), 20000)).toMatchObject({ d: device.id, ...record });
      const [rest, payload] = command;
      await operator.publishAsync(`cmd/${GATEWAY}/${device.id}/${rest}`, payload, { qos: 1 });
      expect(await receiver.record(from(answer.t), 20000)).toMatchObject({ d: device.id, ...answer });
      expect(device.heard).toContain(heard);
      await eventually(() => reports[device.id]?.includes('taken'), { timeoutMs: 20000, what: 'the report' });
    } finally {
      await device.end();
    }
  });
});
