'use strict';
// The decisions of the radio's process, without a radio.

const { EventEmitter } = require('node:events');
const { isWanted, describe: tell, fits } = require('../../../nodes/lib/sources/ble/advertisement');
const { Central } = require('../../../nodes/lib/sources/ble/central');
const { identify, topicOf } = require('../../../nodes/lib/sources/ble/ble-identity');
const { Outbox } = require('../../../nodes/lib/sources/ble/ble-outbox');
const { schema, toSettings } = require('../../../nodes/lib/sources/ble/ble-settings');
const { parseOptions } = require('../../../nodes/lib/base/options');

const settingsOf = (config) => toSettings(parseOptions(config, schema).values);

function advertised(id, more = {}, advertisement = {}) {
  const address = id.match(/../g).join(':');
  return { id, address, connectable: true, rssi: -60, state: 'disconnected', ...more, advertisement };
}

describe('an advertisement', () => {
  test('is reported without missing fields', () => {
    expect(tell(advertised('aabb'))).toEqual({ address: 'aa:bb', connectable: true });
    const full = {
      localName: 'x\0\0',
      txPowerLevel: 0,
      manufacturerData: Buffer.from([1, 2]),
      serviceUuids: ['18', '0000180d00001000800000805f9b34fb'],
      serviceData: [{ uuid: 'fe9f', data: Buffer.from([3]) }]
    };
    expect(tell(advertised('aabb', {}, full))).toEqual({
      address: 'aa:bb',
      name: 'x',
      connectable: true,
      txPower: 0,
      services: ['0018', '180d'],
      manufacturerData: '0102',
      serviceData: { fe9f: '03' }
    });
  });

  test.each([
    [{ minRssi: '-60' }, true],
    [{ minRssi: '-59' }, false],
    [{ match: 'thermo*' }, true],
    [{ match: 'AA:??' }, true],
    [{ match: 'other,aa:bc' }, false],
    [{ services: '180d' }, true],
    [{ services: 'fe9f' }, true],
    [{ services: '180f' }, false]
  ])('matches %j: %s', (config, wanted) => {
    const data = [{ uuid: 'fe9f', data: Buffer.alloc(0) }];
    const device = advertised('aabb', {}, { localName: 'Thermo 1', serviceUuids: ['180d'], serviceData: data });
    expect(isWanted(settingsOf(config), device)).toBe(wanted);
  });

  test('matches by its address alone without a name', () => {
    expect(fits([''], advertised('aabb'))).toBe(true);
    expect(fits(['?*:bb'], advertised('aabb'))).toBe(true);
    expect(fits(['x*'], advertised('aabb'))).toBe(false);
  });
});

describe('names', () => {
  const settings = settingsOf({ deviceId: '{name}', topic: 'b/{device}/{kind}' });

  test('of strangers become one level of a topic', () => {
    const identity = identify(settings, advertised('aabb', {}, { localName: 'a/b+#*?\u0001é' }));
    expect(identity.device).toBe('a_b_____é');
    expect(topicOf(settings, identity, 'rssi')).toBe('b/a_b_____é/rssi');
  });

  test('that are missing or too long are replaced by the address', () => {
    expect(identify(settings, advertised('aabb')).device).toBe('aa:bb');
    expect(identify(settings, advertised('aabb', {}, { localName: 'é'.repeat(129) })).device).toBe('aa:bb');
  });
});

describe('the queue for the engine', () => {
  const record = (ts, advertisement = false) => ({
    deviceId: 'd',
    topic: 't',
    payload: Buffer.alloc(0),
    ts,
    advertisement
  });
  let sent;
  const open = (limits) => new Outbox((records) => sent.push(...records.map(({ ts }) => ts)), limits);
  beforeEach(() => {
    sent = [];
  });

  test('keeps its order while credit varies', () => {
    const outbox = open({ credit: 2 });
    for (let ts = 1; ts <= 6; ts++) outbox.add(record(ts));
    expect(sent).toEqual([1, 2]);
    outbox.give(1);
    outbox.add(record(7));
    outbox.give(10);
    outbox.add(record(8));
    expect(sent).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(outbox.size).toBe(0);
  });

  test('drops the oldest advertisement for a newer one, and no value', () => {
    const outbox = open({ credit: 0, maxAdvertisements: 2 });
    for (const [ts, advertisement] of [
      [1, true],
      [2, false],
      [3, true],
      [4, true]
    ]) {
      outbox.add(record(ts, advertisement));
    }
    outbox.give(10);
    expect(sent).toEqual([2, 3, 4]);
    expect(outbox).toMatchObject({ advertisementsDropped: 1, valuesDropped: 0 });
  });

  test('drops values when there is nothing else, and counts them', () => {
    const outbox = open({ credit: 0, maxWaiting: 3 });
    outbox.add(record(1, true));
    for (let ts = 2; ts <= 5; ts++) outbox.add(record(ts));
    outbox.give(10);
    expect(sent).toEqual([3, 4, 5]);
    expect(outbox).toMatchObject({ advertisementsDropped: 1, valuesDropped: 1 });
  });
});

describe('the central', () => {
  let now;
  let records;
  let central;
  let noble;

  beforeEach(() => {
    jest.useFakeTimers();
    now = 0;
    records = [];
  });
  afterEach(() => {
    void central.stop();
    jest.useRealTimers();
  });

  function open(config, options = {}) {
    noble = Object.assign(new EventEmitter(), {
      state: 'poweredOn',
      startScanning: jest.fn(() => noble.emit('scanStart')),
      _cleanupPeriperals: jest.fn()
    });
    const report = { record: (record) => records.push(record), linked: jest.fn(), trouble: jest.fn() };
    central = new Central(noble, settingsOf(config), report, {
      now: () => now,
      wallClock: () => 5,
      ...options
    });
    central.start();
    return report;
  }
  const advertise = (...args) => noble.emit('discover', advertised(...args));

  test('reports an advertisement again when it changed', () => {
    open({});
    advertise('aa', {}, { localName: 'x' });
    advertise('aa', { rssi: -20 }, { localName: 'x' });
    expect(records).toHaveLength(1);
    advertise('aa', {}, { localName: 'y' });
    expect(records.map(({ payload }) => JSON.parse(payload).name)).toEqual(['x', 'y']);
    expect(records[0]).toMatchObject({
      deviceId: 'aa',
      topic: 'ble/aa/advertisement',
      ts: 5,
      advertisement: true
    });
  });

  test('reports a device at most once in an interval', () => {
    open({ advertisements: 'all', everyS: '10' });
    for (now of [0, 9999, 10000, 15000, 20000]) advertise('aa');
    expect(records).toHaveLength(3);
  });

  test('forgets the device that has been silent for longest', () => {
    open({ advertisements: 'off', connect: 'x', rssiS: '1' }, { maxSeen: 2 });
    for (const id of ['aa', 'bb', 'aa', 'cc']) advertise(id);
    expect(noble._cleanupPeriperals.mock.calls).toEqual([['bb']]);
    expect(central.view()).toMatchObject({ seen: 2, connected: 0 });
  });

  test('scans again when the scan ended, and not while the adapter is off', () => {
    open({});
    noble.emit('scanStop');
    noble.state = 'poweredOff';
    jest.advanceTimersByTime(5000);
    expect(noble.startScanning).toHaveBeenCalledTimes(1);
    noble.state = 'poweredOn';
    jest.advanceTimersByTime(1000);
    expect(noble.startScanning).toHaveBeenCalledTimes(2);
  });

  test('retries a failing device with longer and longer pauses', async () => {
    const report = open({ connect: '*', rssiS: '1', advertisements: 'off' });
    const peripheral = Object.assign(new EventEmitter(), advertised('aa'), {
      connectAsync: jest.fn(() => Promise.reject(new Error('no')))
    });
    const attempts = [];
    for (now = 0; now < 200000; now += 100) {
      const before = peripheral.connectAsync.mock.calls.length;
      noble.emit('discover', peripheral);
      await jest.advanceTimersByTimeAsync(0);
      if (peripheral.connectAsync.mock.calls.length > before) attempts.push(now);
    }
    const gaps = attempts.slice(1).map((at, index) => at - attempts[index]);
    // Each step is drawn from its upper half.
    for (const [index, step] of [1000, 2000, 4000, 8000, 16000, 32000].entries()) {
      expect(gaps[index]).toBeGreaterThanOrEqual(step / 2);
      expect(gaps[index]).toBeLessThanOrEqual(step + 100);
    }
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60100);
    expect(report.trouble).toHaveBeenCalledWith('aa', 'no');
  });
});
