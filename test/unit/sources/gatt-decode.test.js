'use strict';

const { decode, nameOf } = require('../../../nodes/lib/sources/ble/gatt-decode');
const { normalUuid, parseUuids } = require('../../../nodes/lib/sources/ble/uuid');

const hex = (text) => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('a value', () => {
  test.each([
    ['2a37', '00 48', { heartRate: 72 }],
    ['2a37', '01 2c01', { heartRate: 300 }],
    ['2a37', '06 48', { heartRate: 72, contact: true }],
    ['2a37', '04 48', { heartRate: 72, contact: false }],
    ['2a37', '02 48', { heartRate: 72 }],
    ['2a37', '08 48 0a00', { heartRate: 72, energyKj: 10 }],
    ['2a37', '10 48 0004 0002', { heartRate: 72, rrMs: [1000, 500] }],
    ['2a37', '1f 4800 ffff 0104', { heartRate: 72, contact: true, energyKj: 65535, rrMs: [1001] }],
    ['2a38', '01', { bodySensorLocation: 'chest' }],
    ['2a19', '64', { battery: 100 }],
    ['2a6e', '6608', { temperatureC: 21.5 }],
    ['2a6e', '9cff', { temperatureC: -1 }],
    ['2a6e', '0080', { temperatureC: null }],
    ['2a6f', 'd711', { humidityPercent: 45.67 }],
    ['2a6f', 'ffff', { humidityPercent: null }],
    ['2a6d', 'cd760f00', { pressurePa: 101345.3 }],
    ['2a6c', '9cffff', { elevationM: -1 }],
    ['2a7b', 'f6', { dewPointC: -10 }],
    ['2afb', '102700', { illuminanceLux: 100 }],
    ['2b8c', '9001', { co2Ppm: 400 }],
    ['ff01', '0aff', { hex: '0aff' }]
  ])('reads %s, %s', (uuid, bytes, expected) => {
    expect(decode(uuid, hex(bytes))).toEqual(expected);
  });

  test.each([
    ['nothing', '2a37', ''],
    ['flags alone', '2a37', '00'],
    ['half of a wide rate', '2a37', '01 48'],
    ['flags that announce energy', '2a37', '08 48'],
    ['flags that announce energy, one byte of it', '2a37', '08 48 0a'],
    ['flags that announce intervals', '2a37', '10 48'],
    ['half of an interval', '2a37', '10 48 0004 00'],
    ['energy and no interval', '2a37', '18 48 0a00'],
    ['flags that hide bytes', '2a37', '00 48 0004'],
    ['energy and bytes that are not announced', '2a37', '08 48 0a00 00'],
    ['no place of the body', '2a38', '07'],
    ['no place at all', '2a38', ''],
    ['a battery of 101 %', '2a19', '65'],
    ['a battery of two bytes', '2a19', '6400'],
    ['one byte of a temperature', '2a6e', '66'],
    ['three bytes of a temperature', '2a6e', '660800'],
    ['no temperature', '2a6e', ''],
    ['two bytes of a pressure', '2a6d', 'cd76'],
    ['two bytes of an elevation', '2a6c', '9cff']
  ])('keeps the bytes alone of %s', (_what, uuid, bytes) => {
    expect(decode(uuid, hex(bytes))).toEqual({ hex: bytes.replaceAll(' ', '') });
  });

  test('cut at any byte is never a wrong heart rate', () => {
    const whole = hex('1f 4800 ffff 0104 0204');
    for (let length = 0; length < whole.length; length++) {
      const decoded = decode('2a37', whole.subarray(0, length));
      // Seven bytes are whole: with one interval.
      expect([length, 'hex' in decoded]).toEqual([length, length !== 7]);
    }
  });
});

describe('a UUID', () => {
  test.each([
    ['180d', '180d'],
    ['180D', '180d'],
    [' 0x180D ', '180d'],
    ['18', '0018'],
    ['0000180d', '180d'],
    ['0000180D-0000-1000-8000-00805F9B34FB', '180d'],
    ['0000180d00001000800000805f9b34fb', '180d'],
    ['6e400001-b5a3-f393-e0a9-e50e24dcca9e', '6e400001b5a3f393e0a9e50e24dcca9e'],
    ['1234180d-0000-1000-8000-00805f9b34fb', '1234180d00001000800000805f9b34fb']
  ])('reads %s as %s', (text, normal) => {
    expect(normalUuid(text)).toBe(normal);
  });

  test.each(['', ' ', 'heart', '180g', '180d0', '0x', '0000180d-0000-1000-8000-00805f9b34f', '-', '١٨٠'])(
    'rejects %j',
    (text) => {
      expect(normalUuid(text)).toBe('');
    }
  );

  test('is one of 32 at most', () => {
    expect(parseUuids(' 180d, 0x181A ,')).toEqual(['180d', '181a']);
    expect(parseUuids(Array(32).fill('1').join())).toHaveLength(32);
    expect(() => parseUuids(Array(33).fill('1').join())).toThrow(/33 UUIDs; at most 32 are allowed/);
    expect(() => parseUuids('180d,heart')).toThrow(/"heart", which is not a UUID/);
  });
});

test('has a name for topics when it is known', () => {
  expect(nameOf('2a37')).toBe('heart_rate');
  expect(nameOf('ff01')).toBe('ff01');
});
