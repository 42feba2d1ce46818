'use strict';
// Answers to a broker: in order, once for each message, and only when its record is safe.

const { Acknowledgements } = require('../../../nodes/lib/sources/mqtt-source/acknowledgements');

function bench(version = 4) {
  const acknowledgements = new Acknowledgements(version);
  const sent = [];
  const connect = (present) =>
    acknowledgements.connected((bytes) => sent.push(bytes.toString('hex')), present);
  connect(false);
  const ask = (id, more = {}) =>
    acknowledgements.publish({
      qos: 1,
      id,
      dup: false,
      topic: 't',
      payload: Buffer.from(String(id)),
      ...more
    });
  const turn = async () => {
    await null;
    return sent.splice(0).join(' ');
  };
  return { acknowledgements, connect, ask, turn };
}

test('sends PUBACKs in the order of the packets, those of one turn together', async () => {
  const { acknowledgements, ask, turn } = bench();
  const [first, second, third] = [ask(1), ask(2), ask(3)];
  acknowledgements.settle(third);
  acknowledgements.settle(second);
  expect(await turn()).toBe('');
  acknowledgements.settle(first);
  expect(await turn()).toBe('400200014002000240020003');
  expect(acknowledgements.size).toBe(0);
});

test('sends PUBREC for QoS 2 when it is safe, answers a repeat without handing it over, and sends PUBCOMP at PUBREL', async () => {
  const { acknowledgements, ask, turn } = bench(5);
  const slot = ask(9, { qos: 2 });
  acknowledgements.settle(slot);
  expect(await turn()).toBe('50020009');
  expect(ask(9, { qos: 2, dup: true })).toBe(null);
  expect(await turn()).toBe('50020009');
  acknowledgements.pubrel(9);
  acknowledgements.pubrel(9);
  expect(await turn()).toBe('70020009 7003000992');
  expect(ask(9, { qos: 2 })).not.toBe(null);
});

test('gives MQTT 5 brokers the reason for a refused message; one of QoS 2 ends there', async () => {
  const { acknowledgements, ask, turn } = bench(5);
  acknowledgements.settle(ask(1), 0x83);
  acknowledgements.settle(ask(2, { qos: 2 }), 0x97);
  expect(await turn()).toBe('40030001835003000297');
  expect(ask(2, { qos: 2 })).not.toBe(null);
  const old = bench(4);
  old.acknowledgements.settle(old.ask(1), 0x83);
  expect(await old.turn()).toBe('40020001');
});

describe('after a new connection to the same session', () => {
  test('a message still in the engine takes its place again, and is answered there', async () => {
    const { acknowledgements, connect, ask, turn } = bench();
    const [first, second] = [ask(1), ask(2)];
    acknowledgements.disconnected();
    acknowledgements.settle(second);
    expect(await turn()).toBe('');
    connect(true);
    expect([ask(1, { dup: true }), ask(2, { dup: true })]).toEqual([null, null]);
    expect(await turn()).toBe('');
    acknowledgements.settle(first);
    expect(await turn()).toBe('4002000140020002');
  });

  test('takes another message with the same identifier as a new one', async () => {
    const { acknowledgements, connect, ask, turn } = bench();
    const old = ask(1);
    acknowledgements.disconnected();
    connect(true);
    const fresh = [
      ask(1, { topic: 'u', dup: true }),
      ask(1),
      ask(1, { payload: Buffer.from('x'), dup: true })
    ];
    expect(fresh).not.toContain(null);
    acknowledgements.settle(old);
    expect(await turn()).toBe('');
  });

  test('forgets everything in a new session', async () => {
    const { acknowledgements, connect, ask, turn } = bench();
    ask(1);
    acknowledgements.settle(ask(2, { qos: 2 }));
    acknowledgements.disconnected();
    connect(false);
    expect(ask(1, { dup: true })).not.toBe(null);
    expect(ask(2, { qos: 2, dup: true })).not.toBe(null);
    expect(await turn()).toBe('');
  });

  test('hands a lost record over again', () => {
    const { acknowledgements, connect, ask } = bench();
    const slot = ask(1);
    acknowledgements.abandon(slot);
    acknowledgements.disconnected();
    connect(true);
    expect(ask(1, { dup: true })).not.toBe(null);
  });

  test('bounds the places that are never claimed again', () => {
    const { acknowledgements } = bench();
    for (let id = 1; id <= 70000; id++)
      acknowledgements.pending.push({ qos: 1, id, print: '', settled: false, code: 0 });
    acknowledgements.disconnected();
    expect(acknowledgements.orphans.size).toBe(65535);
  });
});
