'use strict';

// What is owed to the broker: PUBACKs in order, redelivery told from news, and bounded memory.

const { Custody } = require('../../../nodes/lib/uplink/commands/command-acks');
const {
  commandFilter,
  isTopicName,
  parseTopic,
  reportTopic
} = require('../../../nodes/lib/uplink/commands/command-topics');

function make() {
  const sent = [];
  const custody = new Custody((bytes) => {
    for (let at = 0; at < bytes.length; at += 4) sent.push(bytes.readUInt16BE(at + 2));
  });
  const packet = (messageId, more = {}) =>
    /** @type {any} */ ({
      messageId,
      topic: 'cmd/g/d',
      payload: Buffer.from('p'),
      qos: 1,
      dup: false,
      ...more
    });
  return { custody, sent, packet };
}

test('a packet that nobody was asked about is acknowledged at once, but not before those ahead of it', () => {
  const { custody, sent, packet } = make();
  custody.enter(packet(1), 'a');
  custody.enter(packet(2), '');
  expect(sent).toEqual([]);
  custody.answer('a');
  expect(sent).toEqual([1, 2]);
  custody.enter(packet(3), '');
  expect(sent).toEqual([1, 2, 3]);
});

test('after a lost connection nothing is acknowledged that did not come again', () => {
  const { custody, sent, packet } = make();
  for (const id of [1, 2]) custody.enter(packet(id), String(id));
  custody.connected(true);
  custody.answer('1');
  expect(sent).toEqual([]);
  expect(custody.enter(packet(1, { dup: true }), 'x')).toBe(false);
  expect(custody.enter(packet(2, { dup: true }), 'y')).toBe(false);
  expect(sent).toEqual([1]);
  custody.answer('2');
  expect(sent).toEqual([1, 2]);
  expect(custody.open.size).toBe(0);
});

test.each([
  ['without DUP', {}],
  ['with another payload', { dup: true, payload: Buffer.from('q') }],
  ['with another topic', { dup: true, topic: 'cmd/g/e' }]
])('the same identifier %s is a new command', (_name, more) => {
  const { custody, packet } = make();
  custody.enter(packet(1), 'a');
  custody.connected(true);
  expect(custody.enter(packet(1, more), 'b')).toBe(true);
});

test('a broker that forgot the session does not know what it sent', () => {
  const { custody, packet } = make();
  custody.enter(packet(1), 'a');
  custody.connected(false);
  expect(custody.enter(packet(1, { dup: true }), 'b')).toBe(true);
});

test('what is remembered is bounded, and what is open is not forgotten first', () => {
  const { custody, packet } = make();
  custody.enter(packet(1), 'open');
  for (let id = 2; id < 5000; id++) custody.enter(packet(id), '');
  expect(custody.known.size).toBe(1024);
  custody.connected(true);
  expect(custody.enter(packet(1, { dup: true }), 'again')).toBe(false);
  expect(custody.enter(packet(2, { dup: true }), 'long ago')).toBe(true);
});

const names = { prefix: 'site/cmd', gateway: 'gw1' };

test.each([
  ['site/cmd/gw1/d', { device: 'd', rest: '' }],
  ['site/cmd/gw1/d/', { device: 'd', rest: '' }],
  ['site/cmd/gw1/d/a//b', { device: 'd', rest: 'a//b' }],
  ['site/cmd/gw1/é/x', { device: 'é', rest: 'x' }],
  ['site/cmd/gw1/', null],
  ['site/cmd/gw1//x', null],
  ['site/cmd/gw1', null],
  ['site/cmd/gw2/d', null],
  ['cmd/gw1/d', null],
  ['', null]
])('topic %j is %j', (topic, expected) => {
  expect(parseTopic(topic, names)).toEqual(expected);
});

test('filter and report topics', () => {
  expect(commandFilter(names)).toBe('site/cmd/gw1/+/#');
  expect(reportTopic({ device: 'd', rest: '' }, names)).toBe('site/cmd-report/gw1/d');
  expect(reportTopic({ device: 'd', rest: 'a/b' }, names)).toBe('site/cmd-report/gw1/d/a/b');
});

test.each(['', '+', 'a/#', 'a\0', 'x'.repeat(65536), undefined, 7])(
  '%# is no topic to answer to',
  (topic) => {
    expect(isTopicName(topic)).toBe(false);
  }
);

test('a command under an identifier that the broker has freed is new, though an earlier one was the same', () => {
  const sent = [];
  const custody = new Custody((bytes) => sent.push(bytes.toString('hex')));
  const packet = (dup) => ({
    messageId: 1,
    topic: 'cmd/gw/d/relay',
    payload: Buffer.from('toggle'),
    qos: 1,
    dup
  });
  custody.connected(false);
  custody.enter(packet(false), '1.1');
  custody.pinged();
  custody.answer('1.1');
  custody.pingAnswered();
  custody.connected(true);
  // The PUBACK was written behind the PINGREQ: it may be lost.
  expect(custody.enter(packet(true), '1.2')).toBe(false);
  custody.pinged();
  custody.pingAnswered();
  custody.connected(true);
  expect(custody.enter(packet(true), '1.3')).toBe(true);
  custody.answer('1.3');
  expect(sent).toHaveLength(3);
});
