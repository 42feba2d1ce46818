'use strict';

const { parseSubscribers } = require('../../../nodes/lib/settings/subscribers');

test('reads clients with their filters', () => {
  expect(
    parseSubscribers('dashboard=#, homeassistant = zigbee2mqtt/# ,homeassistant=homeassistant/#,')
  ).toEqual([
    { client: 'dashboard', filters: ['#'] },
    { client: 'homeassistant', filters: ['zigbee2mqtt/#', 'homeassistant/#'] }
  ]);
  expect(parseSubscribers(' ')).toEqual([]);
  expect(parseSubscribers('a=b=c,a=b=c')).toEqual([{ client: 'a', filters: ['b=c'] }]);
});

test.each([
  ['dashboard', /"dashboard" must be CLIENT=FILTER/],
  ['=#', /must be CLIENT=FILTER/],
  ['a=', /must be CLIENT=FILTER/],
  ['two words=#', /must be CLIENT=FILTER/],
  ['a=b c', /must be CLIENT=FILTER/],
  ['a=b#', /the topic filter may have # only/],
  ['a=#/b', /the topic filter may have # only/],
  ['a=b+', /the topic filter may have \+ only/],
  [`${'ü'.repeat(129)}=#`, /exceeds 256 bytes/],
  ['a\0=#', /contains NUL/],
  [Array.from({ length: 65 }, (_none, i) => `c${i}=#`).join(), /65 clients; there may be 64/],
  [Array.from({ length: 65 }, (_none, i) => `c=${i}`).join(), /more than 64 topic filters/]
])('refuses %j', (text, reason) => expect(() => parseSubscribers(text)).toThrow(reason));

test('takes the most that the engine takes', () => {
  const clients = Array.from({ length: 64 }, (_none, i) => `c${i}=#`).join();
  const filters = Array.from({ length: 64 }, (_none, i) => `c0=${i}`).join();
  expect(parseSubscribers(clients)).toHaveLength(64);
  expect(parseSubscribers(filters)[0].filters).toHaveLength(64);
});
