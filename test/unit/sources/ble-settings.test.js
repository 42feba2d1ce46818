'use strict';

const { ANY_RSSI, schema, toSettings } = require('../../../nodes/lib/sources/ble/ble-settings');
const { parseOptions } = require('../../../nodes/lib/base/options');

function settingsOf(config) {
  const { values, problems } = parseOptions(config, schema);
  if (problems.length > 0) throw new Error(problems.join(' '));
  return toSettings(values);
}

test('receives from all devices and connects to none by default', () => {
  expect(settingsOf({})).toEqual({
    adapter: '',
    baudRate: 1000000,
    services: [],
    match: [],
    minRssi: ANY_RSSI,
    advertisements: 'changed',
    everyS: 0,
    connect: [],
    maxConnections: 5,
    rows: [],
    rssiS: 0,
    payload: 'json',
    deviceId: '{address}',
    topic: 'ble/{device}/{kind}'
  });
});

test('accepts rows as text or numbers, and patterns in any case', () => {
  const characteristics = [
    { service: '0x180D', characteristic: '2A37', mode: 'notify', intervalS: '' },
    { service: '', characteristic: '2a6e', mode: 'read', intervalS: '15' }
  ];
  expect(settingsOf({ characteristics, connect: ' Heart*, F0:* ', adapter: '/dev/ttyUSB0' })).toMatchObject({
    rows: [
      { service: '180d', characteristic: '2a37', mode: 'notify', intervalS: 60 },
      { service: '', characteristic: '2a6e', mode: 'read', intervalS: 15 }
    ],
    connect: ['heart*', 'f0:*']
  });
});

const row = (more) => ({ characteristics: [{ characteristic: '2a37', mode: 'notify', ...more }] });

test.each([
  [{ adapter: 'eth0' }, /"adapter" must be hci0, or a serial port/],
  [{ adapter: '../dev' }, /"adapter" must be/],
  [{ adapter: '/dev/\0' }, /"adapter" must be/],
  [{ baudRate: '1' }, /"baudRate" must be a whole number from 1200/],
  [{ services: 'heart' }, /"services" contains "heart", which is not a UUID/],
  [{ match: Array(101).fill('a').join() }, /"match" has 101 patterns/],
  [{ match: 'a'.repeat(257) }, /"match" has a pattern of more than 256/],
  [{ minRssi: '-129' }, /"minRssi" must be a whole number from -128/],
  [{ advertisements: 'some' }, /"advertisements" must be one of/],
  [{ everyS: '-1' }, /"everyS" must be/],
  [{ connect: '*', maxConnections: '21' }, /"maxConnections" must be a whole number from 1 to 20/],
  [{ connect: '*' }, /no characteristic is listed/],
  [{ advertisements: 'off' }, /The node reads nothing/],
  [{ characteristics: 'all' }, /must be a list/],
  [{ characteristics: Array(65).fill({}) }, /There are 65 characteristics; at most 64/],
  [{ characteristics: [null] }, /Characteristic 1 must be an object/],
  [row({ characteristic: '' }), /Characteristic 1 has no UUID/],
  [row({ service: 'x' }), /its service "x" is not a UUID/],
  [row({ mode: 'poll' }), /must have one of the modes notify, read, write, not "poll"/],
  [row({ intervalS: 0 }), /its interval must be a whole number from 1/],
  [{ deviceId: '{mac}' }, /"deviceId" has an unknown placeholder \{mac\}. Use \{address\}, \{name\}/],
  [{ topic: 'ble/{device' }, /"topic" has an unmatched brace/],
  [{ topic: 'ble/#' }, /"topic" contains \+ or #/],
  [{ payload: 'cbor' }, /"payload" must be one of/]
])('refuses %j with a sentence', (config, sentence) => {
  expect(() => settingsOf(config)).toThrow(sentence);
});
