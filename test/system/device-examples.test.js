'use strict';
// The examples of examples/devices that need only this palette: devices that speak as the documentation of their
// vendors says, their records in the cloud, and commands of the cloud with their answers.

const mqtt = require('mqtt');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { startBleBench } = require('../fixtures/devices/ble-bench');
const { ChirpStack } = require('../fixtures/devices/market/chirpstack');
const { tasmota } = require('../fixtures/devices/market/devices');
const { EdgeNode } = require('../fixtures/devices/market/edge-node');
const { Examples } = require('../fixtures/gateway/examples');

const { describe } = needs('mosquitto');
const ble = needs('mosquitto', 'python:bumble');
jest.setTimeout(60000);

describe('the example', () => {
  /** @type {Examples} */
  let examples;
  beforeAll(async () => {
    examples = await Examples.start();
  });
  afterAll(async () => expect(await examples?.close()).toBe(0));

  test('LoRaWAN sensors: values of both vendors, and an interval that is acknowledged', async () => {
    const server = new ChirpStack();
    await server.connect(examples.siteUrl);
    try {
      const port = String(examples.sitePort);
      await examples.deploy('LoRaWAN sensors', {
        '127.0.0.1:1883': `127.0.0.1:${port}`,
        '"port":"1883"': `"port":"${port}"`
      });
      const [milesight, dragino] = ['24e124136b502217', 'a84041b6c1853ea2'];
      const base = 'application/17c82e96-be03-4f38-aef3-f83d48582d97/device';
      await eventually(
        () => [...examples.nodeRed.statuses.values()].some(({ text = '' }) => /^connected/.test(text)),
        {
          timeoutMs: 20000,
          what: 'the subscription'
        }
      );
      await server.uplink('Milesight EM300-TH', milesight, 85, '01755C03673401046865');
      await server.uplink('Dragino LHT65N', dragino, 2, 'CBF60B0D0376010ADD7FFF');
      const { p } = await examples.record(milesight, `${base}/${milesight}/event/up`);
      expect(p.object).toEqual({ batteryPercent: 92, temperatureC: 30.8, humidityPercent: 50.5 });
      expect(p.deviceInfo.devEui).toBe(milesight);
      const other = await examples.record(dragino, `${base}/${dragino}/event/up`);
      expect(other.p.object).toMatchObject({ temperatureC: 28.29, probeTemperatureC: 27.81 });
      await examples.command(dragino, 'interval', '1200');
      await examples.record(dragino, `${base}/${dragino}/event/ack`, ({ acknowledged }) => acknowledged);
      expect(server.downlinks[0]).toEqual({ devEui: dragino, confirmed: true, fPort: 2, data: 'AQAEsA==' });
    } finally {
      await server.end();
    }
  });

  test('Home Assistant: devices are announced with valid keys, and switched', async () => {
    const port = await freePort();
    const home = await mqtt.connectAsync(examples.siteUrl, { clientId: 'home-assistant' });
    /** @type {Map<string, string>} retained or not, by topic */
    const arrived = new Map();
    home.on('message', (topic, payload) => arrived.set(topic, payload.toString()));
    await home.subscribeAsync(['homeassistant/#', 'seganet/#'], { qos: 1 });
    try {
      await examples.deploy('Home Assistant', {
        '"host":"127.0.0.1","port":"1883"': `"host":"127.0.0.1","port":"${port}"`,
        '"broker":"homeassistant.local","port":"1883"': `"broker":"127.0.0.1","port":"${examples.sitePort}"`
      });
      await waitForPort(port);
      const device = await tasmota({ url: `mqtt://127.0.0.1:${port}` });
      await eventually(() => arrived.get('seganet/availability') === 'online', {
        what: 'the gateway is available'
      });
      await device.report();
      const topic = 'homeassistant/device/seganet_tasmota_A1B2C3/config';
      const config = () => JSON.parse(arrived.get(topic) ?? '{}');
      await eventually(() => arrived.has(topic), { what: 'the announcement' });
      expect((await examples.record(device.id, `tele/${device.id}/SENSOR`)).p.ENERGY.Power).toBe(73);
      // Home Assistant sends ON; Tasmota answers, so that the switch exists from then on.
      await home.publishAsync('seganet/tasmota_A1B2C3/set/POWER', 'ON', { qos: 1 });
      await eventually(() => device.heard.includes(`cmnd/${device.id}/POWER`), {
        what: 'the command at the device'
      });
      await eventually(() => config().components?.v4, { what: 'the switch' });
      expectDiscovery(config());
      expect(config()).toMatchObject({
        device: { identifiers: ['seganet_tasmota_A1B2C3'], name: 'tasmota_A1B2C3' },
        state_topic: 'seganet/tasmota_A1B2C3/state',
        components: {
          v1: {
            ...{ platform: 'sensor', name: 'ENERGY.Power', unique_id: 'seganet_tasmota_A1B2C3_ENERGY.Power' },
            ...{
              device_class: 'power',
              unit_of_measurement: 'W',
              value_template: '{{ value_json.values[1] }}'
            }
          },
          v4: {
            platform: 'switch',
            name: 'POWER',
            command_topic: 'seganet/tasmota_A1B2C3/set/POWER',
            payload_on: 'ON'
          }
        }
      });
      const state = () => JSON.parse(arrived.get('seganet/tasmota_A1B2C3/state') ?? '{}');
      await eventually(() => state().values?.[4] === true, { what: 'the state of the switch' });
      // The last one is stat/…/POWER, a payload that is one value.
      expect(state()).toEqual({ values: [3.185, 73, 229, 0.336, true, true] });
      expect(arrived.get('seganet/tasmota_A1B2C3/availability')).toBe('online');
      await device.end();
      await eventually(() => arrived.get('seganet/tasmota_A1B2C3/availability') === 'offline', {
        what: 'its end'
      });
    } finally {
      await home.endAsync(true);
    }
  });

  test('Sparkplug edge nodes: births, data by alias, a command, a lost birth, and a death', async () => {
    const port = await freePort();
    await examples.deploy('Sparkplug edge nodes', { '"port":"1883"': `"port":"${port}"` });
    await waitForPort(port);
    const url = `mqtt://127.0.0.1:${port}`;
    const edge = new EdgeNode({ url });
    const impostor = new EdgeNode({ url, clientId: 'other' });
    try {
      await edge.connect();
      const born = await examples.record('edge-1.pump', 'spBv1.0/plant/DBIRTH/edge-1/pump');
      expect(born.p).toEqual({
        ...{ Temperature: 21.5, 'Motor/Setpoint': -5, Running: true, Total: -7000000000, Serial: 'A-17' },
        online: true
      });
      expect((await examples.record('edge-1', 'spBv1.0/plant/NBIRTH/edge-1')).p).toEqual({
        Cabinet: 31.5,
        online: true
      });
      const data = 'spBv1.0/plant/DDATA/edge-1/pump';
      await edge.data({ 1: 22.25, 3: false });
      await examples.record('edge-1.pump', data, (p) => p.Temperature === 22.25 && p.Running === false);
      await examples.command('edge-1.pump', 'Motor/Setpoint', '-42');
      await examples.record('edge-1.pump', data, (p) => p['Motor/Setpoint'] === -42);
      expect(edge.heard).toContain('DCMD Motor/Setpoint 3 4294967254');
      await examples.command('edge-1', 'Cabinet', '12.5');
      await eventually(() => edge.heard.includes('NCMD Cabinet 10 12.5'), { what: 'NCMD' });
      expect(edge.heard.join()).not.toContain('Rebirth');

      // A number that is skipped is a message that was lost: the births come again, the next data is read.
      edge.seq += 3;
      await edge.data({ 1: 23 });
      await eventually(() => edge.heard.some((each) => /^NCMD Node Control\/Rebirth 11 true/.test(each)), {
        what: 'NCMD'
      });
      await edge.data({ 1: 23.5 });
      await examples.record('edge-1.pump', data, (p) => p.Temperature === 23.5);

      // Who claims to be another edge node remains who it is.
      await impostor.connect();
      expect((await examples.record('other', 'spBv1.0/plant/NBIRTH/edge-1')).d).toBe('other');
      await edge.client?.stream.destroy();
      expect((await examples.record('edge-1', 'spBv1.0/plant/NDEATH/edge-1')).p).toEqual({ online: false });
    } finally {
      await edge.end();
      await impostor.end();
    }
  });

  ble.test('Bluetooth beacons: a BTHome sensor and a Ruuvi tag', async () => {
    const bench = await startBleBench();
    try {
      const often = { '"everyS":"10"': '"everyS":"0"' };
      await examples.deploy('Bluetooth beacons', { '${BLE_ADAPTER}': bench.port, ...often });
      const [address, topic] = ['f0:f1:f2:f3:f4:f5', 'ble/f0:f1:f2:f3:f4:f5/advertisement'];
      // The example of https://bthome.io/format.
      await bench.order('advertise 0201060B094449592D73656E736F720A16D2FC4002C40903BF13');
      const sensor = await examples.record(address, topic, (p) => p.temperatureC === 25);
      expect(sensor.p).toEqual({
        ...{ temperatureC: 25, humidityPercent: 50.55 },
        ...{ name: 'DIY-sensor', rssi: expect.any(Number) }
      });
      // Flags, then the manufacturer 0x0499 with the vector of Ruuvi's documentation.
      await bench.order('advertise 0201061BFF99040512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F');
      const tag = await examples.record(address, topic, (p) => p.temperatureC === 24.3);
      expect(tag.p).toMatchObject({ humidityPercent: 53.49, pressurePa: 100044, sequence: 205 });
    } finally {
      await bench.close();
    }
  });
});

/** Keys of https://www.home-assistant.io/integrations/mqtt/#device-discovery-payload and of its platforms. */
const COMMON = ['platform', 'name', 'unique_id', 'value_template'];
const PLATFORMS = {
  sensor: [...COMMON, 'device_class', 'unit_of_measurement', 'state_class'],
  binary_sensor: [...COMMON, 'device_class'],
  switch: [...COMMON, 'command_topic', 'payload_on', 'payload_off', 'state_on', 'state_off']
};

/** @param {any} config the payload of a device discovery */
function expectDiscovery(config) {
  const known = ['device', 'origin', 'components', 'state_topic', 'availability', 'availability_mode'];
  expect(Object.keys(config).sort()).toEqual(known.sort());
  expect(Object.keys(config.origin).sort()).toEqual(['name', 'support_url']);
  const components = /** @type {any[]} */ (Object.values(config.components));
  for (const each of components) {
    const allowed = PLATFORMS[/** @type {keyof typeof PLATFORMS} */ (each.platform)];
    expect(Object.keys(each).filter((key) => !allowed.includes(key))).toEqual([]);
    expect(each).toMatchObject({ name: expect.any(String), unique_id: expect.any(String) });
  }
  expect(new Set(components.map(({ unique_id }) => unique_id)).size).toBe(components.length);
}
