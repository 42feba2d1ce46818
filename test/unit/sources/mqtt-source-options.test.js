'use strict';
// Filters, device ids, loops and settings of an mqtt source.

const {
  parseFilters,
  matches,
  overlaps,
  plainFilter
} = require('../../../nodes/lib/sources/mqtt-source/topic-filters');
const { findLoops } = require('../../../nodes/lib/sources/mqtt-source/loop-check');
const { toRecordArgs } = require('../../../nodes/lib/sources/mqtt-source/message-record');
const {
  schema,
  sourceOptions,
  sourceTls
} = require('../../../nodes/lib/sources/mqtt-source/mqtt-source-options');
const { parseOptions } = require('../../../nodes/lib/base/options');

test('accepts filters separated by commas or lines, each once', () => {
  expect(parseFilters(' a/+ , b/#\n$share/g/c\na/+')).toEqual(['a/+', 'b/#', '$share/g/c']);
});

test.each([
  '',
  ' , ',
  'a/#/b',
  'a#',
  'a+/b',
  '+a',
  '$share/g',
  '$share//a',
  '$share/+/a',
  'a\0',
  'x'.repeat(1025)
])('refuses %j with a sentence', (list) => expect(() => parseFilters(list)).toThrow(/\.$/));

test('refuses more than 100 filters', () => {
  expect(() => parseFilters(Array.from({ length: 101 }, (_, i) => `t${i}`).join())).toThrow(/at most 100/);
});

test.each([
  ['a/#', 'a', true],
  ['a/#', 'a/b/c', true],
  ['+/b', 'a/b', true],
  ['+', '', true],
  ['+', 'a/b', false],
  ['#', '$SYS/x', false],
  ['$SYS/#', '$SYS/x', true],
  ['a', 'a/', false]
])('matches %s with %j: %s', (filter, topic, verdict) => expect(matches(filter, topic)).toBe(verdict));

test.each([
  ['a/+', '+/b', true],
  ['a/#', 'a', true],
  ['a', 'a/#', true],
  ['a/b', 'a/c/#', false],
  ['a/+', 'a/b/c', false],
  [plainFilter('$share/g/a/b'), 'a/+', true]
])('%s and %s overlap: %s', (left, right, verdict) => expect(overlaps(left, right)).toBe(verdict));

describe('device and class of a message', () => {
  const packet = {
    topic: 'factory/pump-1/t',
    payload: Buffer.from('1'),
    qos: 1,
    id: 1,
    dup: false,
    retain: true,
    userProperties: [
      ['device', 'd7'],
      ['priority', 'critical'],
      ['priority', '4']
    ]
  };
  const reading = {
    deviceFrom: 'level',
    deviceLevel: 2,
    device: 'device',
    classProperty: 'priority',
    class: 0
  };

  test.each([
    ['level', 'pump-1'],
    ['fixed', 'device'],
    ['property', 'd7']
  ])('come from %s', (deviceFrom, deviceId) => {
    expect(toRecordArgs(packet, { ...reading, deviceFrom })).toMatchObject({
      deviceId,
      cls: 1,
      flags: 3,
      seq: -1
    });
  });

  test.each([
    [{ class: 0, classProperty: '' }, 3],
    [{ class: 4, classProperty: 'none' }, 4],
    [{ class: 4, classProperty: 'device' }, 4]
  ])('give the class by %j', (more, cls) =>
    expect(toRecordArgs(packet, { ...reading, ...more }).cls).toBe(cls)
  );

  test.each([
    [{ deviceLevel: 9 }, /level 9 of its topic/],
    [{ deviceFrom: 'property', device: 'none' }, /user property "none"/],
    [{ topic: 'a//b' }, /level 2/],
    [{ topic: `a/${'x'.repeat(257)}` }, /exceeds 256 bytes/]
  ])('name no device for %j', ({ topic = packet.topic, ...more }, reason) => {
    expect(() => toRecordArgs({ ...packet, topic }, { ...reading, ...more })).toThrow(reason);
  });
});

describe('loops', () => {
  const target = (url, topic, recordTopic = 'out/x') => [
    { name: 'cloud', url, topics: { topic, recordTopic } }
  ];
  const loops = (filter, targets, url = 'mqtt://localhost:1883') =>
    findLoops({ url, filters: [filter] }, targets, 'gw1').length;

  test.each([
    ['gw/#', target('mqtt://127.0.0.1:1883', 'gw/{gateway}/{class}'), 1],
    ['$share/g/gw/+/3', target('mqtt://127.0.0.1', 'gw/{gateway}/{class}'), 1],
    ['gw/gw2/#', target('mqtt://127.0.0.1:1883', 'gw/{gateway}/{class}'), 0],
    ['a/b', target('mqtt://127.0.0.1:1883', 'gw/x', '{topic}'), 1],
    ['a/b', target('mqtt://127.0.0.1:1883', 'gw/x', 'up/{topic}'), 0],
    ['gw/#', target('mqtts://cloud:8883', 'gw/{gateway}/{class}'), 0],
    ['gw/#', target('mqtts://cloud:8883, mqtt://127.0.0.1', 'gw/{gateway}/{class}'), 1]
  ])('%s', (filter, targets, count) => expect(loops(filter, targets)).toBe(count));
});

describe('settings', () => {
  const check = (config) => {
    const { values, problems } = parseOptions({ url: 'mqtt://127.0.0.1', topics: '#', ...config }, schema);
    if (problems.length > 0) throw new Error(problems.join(' '));
    return sourceOptions(values, { clientId: 'gw-source-n', maxPacketBytes: 1000, tls: {} });
  };

  test('default blank values, and keep the session', () => {
    expect(check({}).options).toMatchObject({
      session: { host: '127.0.0.1', port: 1883, secure: false, clientId: 'gw-source-n', protocolVersion: 5 },
      qos: 1,
      persistent: true,
      window: 100,
      takeRetained: true
    });
  });

  test('warn of an address outside this machine without encryption', () => {
    expect(check({ url: 'mqtt://10.0.0.1' }).warning).toMatch(/not encrypted/);
    expect(check({ url: 'mqtts://10.0.0.1' }).warning).toBe('');
  });

  test.each([
    [{ url: '' }, /^The address of the source's broker is missing/],
    [{ url: 'http://x' }, /^The address of the source's broker must start with mqtts:/],
    [{ url: 'mqtt://a:b@x' }, /user name or password/],
    [{ topics: '' }, /at least one filter/],
    [{ topics: 'a/#/b' }, /a\/#\/b/],
    [{ qos: '3' }, /qos/],
    [{ window: '1001' }, /window/],
    [{ deviceLevel: '0' }, /deviceLevel/],
    [{ deviceFrom: 'fixed' }, /device id is missing/],
    [{ deviceFrom: 'property' }, /user property/],
    [{ deviceFrom: 'property', device: 'd', protocolVersion: '4' }, /Only MQTT 5/],
    [{ class: '9' }, /class/],
    [{ clientId: 'x'.repeat(129) }, /clientId/],
    [{ keepalive: '0' }, /keepalive/],
    [{ retained: 'maybe' }, /retained/],
    [{ session: 'none' }, /session/]
  ])('refuse %j with a sentence', (config, reason) => expect(() => check(config)).toThrow(reason));

  test('refuse a TLS node that is missing, or verifies nothing', () => {
    expect(() => sourceTls('t', null)).toThrow(/missing or disabled/);
    expect(() => sourceTls('t', { addTLSOptions: () => ({ rejectUnauthorized: false }) })).toThrow(/anyone/);
    expect(sourceTls('', null)).toEqual({});
  });
});
