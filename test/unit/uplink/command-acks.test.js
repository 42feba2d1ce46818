'use strict';

// Answers owed to the broker: PUBACKs in order, redelivery distinguished from new commands, and bounded memory.

const { CommandAcks } = require('../../../nodes/lib/uplink/commands/command-acks');
const {
  commandFilter,
  isTopicName,
  parseTopic,
  reportTopic
} = require('../../../nodes/lib/uplink/commands/command-topics');

function make() {
  const sent = [];
  const commandAcks = new CommandAcks((bytes) => {
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
  return { commandAcks, sent, packet };
}

test('acknowledges a foreign packet at once, but not before those ahead of it', () => {
  const { commandAcks, sent, packet } = make();
  commandAcks.enter(packet(1), 'a');
  commandAcks.enter(packet(2), '');
  expect(sent).toEqual([]);
  commandAcks.answer('a');
  expect(sent).toEqual([1, 2]);
  commandAcks.enter(packet(3), '');
  expect(sent).toEqual([1, 2, 3]);
});

test('acknowledges nothing after a lost connection that was not sent again', () => {
  const { commandAcks, sent, packet } = make();
  for (const id of [1, 2]) commandAcks.enter(packet(id), String(id));
  commandAcks.connected(true);
  commandAcks.answer('1');
  expect(sent).toEqual([]);
  expect(commandAcks.enter(packet(1, { dup: true }), 'x')).toBe(false);
  expect(commandAcks.enter(packet(2, { dup: true }), 'y')).toBe(false);
  expect(sent).toEqual([1]);
  commandAcks.answer('2');
  expect(sent).toEqual([1, 2]);
  expect(commandAcks.open.size).toBe(0);
});

test.each([
  ['without DUP', {}],
  ['with another payload', { dup: true, payload: Buffer.from('q') }],
  ['with another topic', { dup: true, topic: 'cmd/g/e' }]
])('takes the same identifier %s as a new command', (_name, more) => {
  const { commandAcks, packet } = make();
  commandAcks.enter(packet(1), 'a');
  commandAcks.connected(true);
  expect(commandAcks.enter(packet(1, more), 'b')).toBe(true);
});

test('handles a broker that forgot the session and does not know what it sent', () => {
  const { commandAcks, packet } = make();
  commandAcks.enter(packet(1), 'a');
  commandAcks.connected(false);
  expect(commandAcks.enter(packet(1, { dup: true }), 'b')).toBe(true);
});

test('bounds its memory, and does not forget open commands first', () => {
  const { commandAcks, packet } = make();
  commandAcks.enter(packet(1), 'open');
  for (let id = 2; id < 5000; id++) commandAcks.enter(packet(id), '');
  expect(commandAcks.known.size).toBe(1024);
  commandAcks.connected(true);
  expect(commandAcks.enter(packet(1, { dup: true }), 'again')).toBe(false);
  expect(commandAcks.enter(packet(2, { dup: true }), 'long ago')).toBe(true);
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
])('reads topic %j as %j', (topic, expected) => {
  expect(parseTopic(topic, names)).toEqual(expected);
});

test('has filter and report topics', () => {
  expect(commandFilter(names)).toBe('site/cmd/gw1/+/#');
  expect(reportTopic({ device: 'd', rest: '' }, names)).toBe('site/cmd-report/gw1/d');
  expect(reportTopic({ device: 'd', rest: 'a/b' }, names)).toBe('site/cmd-report/gw1/d/a/b');
});

test.each(['', '+', 'a/#', 'a\0', 'x'.repeat(65536), undefined, 7])(
  'refuses %# as a topic to answer to',
  (topic) => {
    expect(isTopicName(topic)).toBe(false);
  }
);

test('takes a command as new under an identifier that the broker has freed, although an earlier one was the same', () => {
  const sent = [];
  const commandAcks = new CommandAcks((bytes) => sent.push(bytes.toString('hex')));
  const packet = (dup) => ({
    messageId: 1,
    topic: 'cmd/gw/d/relay',
    payload: Buffer.from('toggle'),
    qos: 1,
    dup
  });
  commandAcks.connected(false);
  commandAcks.enter(packet(false), '1.1');
  commandAcks.pinged();
  commandAcks.answer('1.1');
  commandAcks.pingAnswered();
  commandAcks.connected(true);
  // The PUBACK was written after the PINGREQ: it may be lost.
  expect(commandAcks.enter(packet(true), '1.2')).toBe(false);
  commandAcks.pinged();
  commandAcks.pingAnswered();
  commandAcks.connected(true);
  expect(commandAcks.enter(packet(true), '1.3')).toBe(true);
  commandAcks.answer('1.3');
  expect(sent).toHaveLength(3);
});
