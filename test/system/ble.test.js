'use strict';
// The radio's process with a virtual controller behind a serial port: real noble, real packets.

const { BleProcess } = require('../../nodes/lib/sources/ble/ble-process');
const { schema, toSettings } = require('../../nodes/lib/sources/ble/ble-settings');
const { parseOptions } = require('../../nodes/lib/base/options');
const { startBleBench } = require('../fixtures/devices/ble-bench');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('python:bumble');

jest.setTimeout(60000);

const HEART = 'f0:f1:f2:f3:f4:f5';
const CLIMATE = 'e0:e1:e2:e3:e4:e5';

/** @param {object} config @returns {import('../../nodes/lib/sources/ble/ble-settings').BleSettings} */
function settingsOf(config) {
  const { values, problems } = parseOptions(config, schema);
  expect(problems).toEqual([]);
  return toSettings(values);
}

describe('ble', () => {
  /** @type {import('../fixtures/devices/ble-bench').BleBench} */
  let bench;
  /** @type {BleProcess} */
  let radio;
  let records;
  let states;
  let troubles;

  beforeAll(async () => {
    bench = await startBleBench();
  });
  afterEach(() => radio?.stop());
  afterAll(() => bench?.close());

  function start(config) {
    records = [];
    states = [];
    troubles = [];
    radio = new BleProcess(settingsOf({ adapter: bench.port, ...config }), { restartMinMs: 100 });
    radio.on('record', (record, taken) => {
      records.push(record);
      taken();
    });
    radio.on('state', ({ state }) => states.push(state));
    radio.on('trouble', (...trouble) => troubles.push(trouble));
  }
  const of = (device, kind) =>
    records.filter((record) => record.deviceId === device && record.topic === `ble/${device}/${kind}`);
  const json = (list) => list.map(({ payload }) => JSON.parse(payload));
  const isLinked = (device) => eventually(() => radio.linked.has(device));

  const notify = (characteristic) => ({ characteristic, mode: 'notify' });

  test('turns advertisements into records, once while they stay the same', async () => {
    start({});
    await eventually(() => of(HEART, 'advertisement').length > 0 && of(CLIMATE, 'advertisement').length > 0);
    expect(json(of(HEART, 'advertisement'))).toEqual([
      expect.objectContaining({
        address: HEART,
        name: 'heart',
        connectable: true,
        services: ['180d'],
        manufacturerData: 'ffff6865',
        rssi: expect.any(Number)
      })
    ]);
  });

  test('turns 1,000 notifications into 1,000 records, in order', async () => {
    const rows = [
      notify('2a37'),
      { characteristic: '2a38', mode: 'read' },
      { characteristic: '2a39', mode: 'write' }
    ];
    start({ connect: 'heart', advertisements: 'off', characteristics: rows });
    await isLinked(HEART);
    await bench.order('beats 1000');
    await eventually(() => of(HEART, 'heart_rate').length >= 1000);
    const rates = json(of(HEART, 'heart_rate')).map(({ heartRate }) => heartRate);
    expect(rates).toEqual(Array.from({ length: 1000 }, (_none, index) => index + 1));
    await eventually(() => of(HEART, 'body_sensor_location').length === 1);

    // The effects of commands.
    expect(await radio.write(HEART, '180d/2a39', Buffer.from([1]))).toBe('taken');
    await bench.says('written 01');
    expect(await radio.write(HEART, '2a38', Buffer.from([1]))).toBe('refused');
    expect(await radio.write(CLIMATE, '2a39', Buffer.from([1]))).toBe('offline');
  });

  test('reads characteristics repeatedly, and measures the signal', async () => {
    const every = { mode: 'read', intervalS: 1 };
    const rows = [
      { ...every, service: '181a', characteristic: '2a6e' },
      { ...every, characteristic: '2a6f' },
      { ...every, characteristic: '0000beef-0000-1000-8000-00805f9b34fc' }
    ];
    start({ connect: 'climate', advertisements: 'off', characteristics: rows, rssiS: 1 });
    await isLinked(CLIMATE);
    await eventually(() => of(CLIMATE, 'temperature').length >= 2 && of(CLIMATE, 'rssi').length >= 2);
    expect(json(of(CLIMATE, 'temperature'))[0]).toEqual({ temperatureC: 21.5 });
    expect(json(of(CLIMATE, 'humidity'))[0]).toEqual({ humidityPercent: 45.67 });
    expect(json(of(CLIMATE, 'rssi'))[0]).toEqual({ rssi: -42 });
    const long = json(of(CLIMATE, '0000beef00001000800000805f9b34fc'))[0];
    expect(long.hex).toBe(Buffer.from(Array.from({ length: 200 }, (_none, index) => index)).toString('hex'));
  });

  test('connects two devices at once, and again after their links were lost', async () => {
    start({
      connect: 'heart,E0:*',
      advertisements: 'off',
      characteristics: [notify('2a37'), notify('2a6e')]
    });
    await isLinked(HEART);
    await isLinked(CLIMATE);
    await bench.order('beats 1');
    await bench.order('climate 1');
    await eventually(() => of(HEART, 'heart_rate').length === 1 && of(CLIMATE, 'temperature').length === 1);

    await bench.order('drop');
    await eventually(() => troubles.length >= 2 && radio.linked.size === 0);
    const lost = troubles.filter(([, reason]) => reason === 'disconnected (19)');
    expect(lost.map(([device]) => device).sort()).toEqual([CLIMATE, HEART]);
    await isLinked(HEART);
    await isLinked(CLIMATE);
    await bench.order('beats 1');
    await eventually(() => of(HEART, 'heart_rate').length === 2);
  });

  test('connects no more devices than allowed', async () => {
    const rows = [notify('2a37'), notify('2a6e')];
    start({ connect: '*', maxConnections: 1, characteristics: rows });
    await eventually(() => radio.linked.size === 1);
    const before = radio.view.seen;
    await eventually(() => radio.view.connected === 1 && radio.view.seen >= before);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(radio.linked.size).toBe(1);
  });

  test('ends only the link that brought malformed packets', async () => {
    start({ connect: 'heart', characteristics: [notify('2a37')] });
    for (const packet of ['1b', '1d00']) {
      await isLinked(HEART);
      await bench.order(`att ${packet}`);
      await eventually(() => !radio.linked.has(HEART), { what: `the link to end after ${packet}` });
    }
    // A transmission power without a byte.
    await bench.order('advertise 0201060206686901 0a'.replace(' ', ''));
    await eventually(() => radio.view.malformed >= 2);
    expect(states).not.toContain('died');
    expect(states.filter((state) => state === 'poweredOn')).toHaveLength(1);
  });
});

describe('a dongle', () => {
  /** @type {import('../fixtures/devices/ble-bench').BleBench} */
  let bench;
  /** @type {BleProcess} */
  let radio;
  afterEach(async () => {
    await radio?.stop();
    await bench?.close();
  });

  test('that is pulled and reinserted continues by itself', async () => {
    bench = await startBleBench();
    const settings = settingsOf({ adapter: bench.port });
    radio = new BleProcess(settings, { restartMinMs: 100, patienceMs: 1500 });
    await eventually(() => radio.state === 'poweredOn');
    await bench.kill();
    await eventually(() => radio.state !== 'poweredOn');
    await bench.start();
    const record = new Promise((resolve) => radio.once('record', (record) => resolve(record)));
    expect(JSON.parse(String((await record).payload))).toMatchObject({ connectable: true });
  });

  test('that is missing is waited for, and the process ends on request', async () => {
    bench = await startBleBench();
    radio = new BleProcess(settingsOf({ adapter: `${bench.folder}/none` }), {
      restartMinMs: 50,
      patienceMs: 200
    });
    const states = [];
    radio.on('state', ({ state }) => states.push(state));
    await eventually(() => states.length >= 2);
    expect(new Set(states)).toEqual(new Set(['poweredOff']));
  });
});
