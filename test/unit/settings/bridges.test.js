'use strict';

const { parseBridges } = require('../../../nodes/lib/settings/bridges');

test('reads topics and members of payloads in their order', () => {
  const text =
    ' zigbee2mqtt=zigbee2mqtt/{device}/#, chirp* = application/+/device/{device}/# ,gw?=payload.rx[0].mac,';
  expect(parseBridges(text)).toEqual([
    { device: 'zigbee2mqtt', topic: 'zigbee2mqtt/{device}/#' },
    { device: 'chirp*', topic: 'application/+/device/{device}/#' },
    { device: 'gw?', member: '$.rx[0].mac' }
  ]);
  expect(parseBridges('b={device},c=payload[0]')).toEqual([
    { device: 'b', topic: '{device}' },
    { device: 'c', member: '$[0]' }
  ]);
  expect(parseBridges('a=payload.x/{device}')).toEqual([{ device: 'a', topic: 'payload.x/{device}' }]);
  expect(parseBridges(' , ')).toEqual([]);
});

test.each([
  ['zigbee2mqtt', 'must be BRIDGE=TOPIC'],
  ['=a/{device}', 'must be BRIDGE=TOPIC'],
  ['a b=a/{device}', 'must be BRIDGE=TOPIC'],
  [`${'b'.repeat(257)}={device}`, 'more than 256 bytes'],
  ['b=a/x', 'one whole level'],
  ['b=a/x{device}', 'one whole level'],
  ['b={device}/{device}', 'one whole level'],
  ['b={device}/x{device}', 'one whole level'],
  ['b=a/#/{device}', '# only as its last level'],
  ['b=a+/{device}', '+ only as a whole level'],
  [`b={device}/${'x'.repeat(1016)}`, 'more than 1024 bytes'],
  ['b=payload.', 'is not a member of a payload (column'],
  ['b=payload[x]', 'is not a member of a payload (column'],
  ['b=payload', 'one whole level'],
  [Array(65).fill('b={device}').join(','), 'there may be 64 at most']
])('refuses %j with a sentence', (text, reason) => {
  expect(() => parseBridges(text)).toThrow(reason);
});
