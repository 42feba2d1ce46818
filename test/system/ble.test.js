'use strict';
// The radio's process with a virtual controller behind a serial port: real noble, real packets.

const { BleProcess } = require('../../nodes/lib/ble/process');
const { schema, toSettings } = require('../../nodes/lib/ble/settings');
const { parseOptions } = require('../../nodes/lib/options');
const { startBleBench } = require('../fixtures/ble-bench');
const { eventually } = require('../fixtures/net');
const { needs } = require('../tools');

const { describe } = needs('python:bumble');

jest.setTimeout(60000);

const HEART = 'f0:f1:f2:f3:f4:f5';
const CLIMATE = 'e0:e1:e2:e3:e4:e5';

/** @param {object} config @returns {import('../../nodes/lib/ble/settings').BleSettings} */
function settingsOf(config) {
  const { values, problems } = parseOptions(config, schema);
  expect(problems).toEqual([]);
  return toSettings(values);
}

describe('ble', () => {
  /** @type {import('../fixtures/ble-bench').BleBench} */
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

  test('what devices advertise becomes records, once while it stays the same', async () => {
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

  test('1,000 notifications are 1,000 records, in order', async () => {
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

    // What commands do.
    expect(await radio.write(HEART, '180d/2a39', Buffer.from([1]))).toBe('taken');
    await bench.says('written 01');
    expect(await radio.write(HEART, '2a38', Buffer.from([1]))).toBe('refused');
    expect(await radio.write(CLIMATE, '2a39', Buffer.from([1]))).toBe('offline');
  });
});
