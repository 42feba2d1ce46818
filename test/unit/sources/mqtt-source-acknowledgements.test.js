'use strict';
// Answers to a broker: in order, once for each message, and only when its record is safe.

const { Ledger } = require('../../../nodes/lib/sources/mqtt-source/acknowledgements');

function bench(version = 4) {
  const ledger = new Ledger(version);
  const sent = [];
  const connect = (present) => ledger.connected((bytes) => sent.push(bytes.toString('hex')), present);
  connect(false);
  const ask = (id, more = {}) =>
    ledger.publish({ qos: 1, id, dup: false, topic: 't', payload: Buffer.from(String(id)), ...more });
  const turn = async () => {
    await null;
    return sent.splice(0).join(' ');
  };
  return { ledger, connect, ask, turn };
}

test('PUBACKs leave in the order of the packets, those of one turn together', async () => {
  const { ledger, ask, turn } = bench();
  const [first, second, third] = [ask(1), ask(2), ask(3)];
  ledger.settle(third);
  ledger.settle(second);
  expect(await turn()).toBe('');
  ledger.settle(first);
  expect(await turn()).toBe('400200014002000240020003');
  expect(ledger.size).toBe(0);
});

test('QoS 2: PUBREC when it is safe, a repeated one is answered and not handed over, PUBCOMP at PUBREL', async () => {
  const { ledger, ask, turn } = bench(5);
  const slot = ask(9, { qos: 2 });
  ledger.settle(slot);
  expect(await turn()).toBe('50020009');
  expect(ask(9, { qos: 2, dup: true })).toBe(null);
  expect(await turn()).toBe('50020009');
  ledger.pubrel(9);
  ledger.pubrel(9);
  expect(await turn()).toBe('70020009 7003000992');
  expect(ask(9, { qos: 2 })).not.toBe(null);
});

test('MQTT 5 brokers are told why a message was not taken; a refused one of QoS 2 ends there', async () => {
  const { ledger, ask, turn } = bench(5);
  ledger.settle(ask(1), 0x83);
  ledger.settle(ask(2, { qos: 2 }), 0x97);
  expect(await turn()).toBe('40030001835003000297');
  expect(ask(2, { qos: 2 })).not.toBe(null);
  const old = bench(4);
  old.ledger.settle(old.ask(1), 0x83);
  expect(await old.turn()).toBe('40020001');
});

describe('after a new connection to the same session', () => {
  test('what is in the engine already takes its place again, and is answered there', async () => {
    const { ledger, connect, ask, turn } = bench();
    const [first, second] = [ask(1), ask(2)];
    ledger.disconnected();
    ledger.settle(second);
    expect(await turn()).toBe('');
    connect(true);
    expect([ask(1, { dup: true }), ask(2, { dup: true })]).toEqual([null, null]);
    expect(await turn()).toBe('');
    ledger.settle(first);
    expect(await turn()).toBe('4002000140020002');
  });

  test('another message with the same identifier is another message', async () => {
    const { ledger, connect, ask, turn } = bench();
    const old = ask(1);
    ledger.disconnected();
    connect(true);
    const fresh = [
      ask(1, { topic: 'u', dup: true }),
      ask(1),
      ask(1, { payload: Buffer.from('x'), dup: true })
    ];
    expect(fresh).not.toContain(null);
    ledger.settle(old);
    expect(await turn()).toBe('');
  });

  test('in a new session nothing is known', async () => {
    const { ledger, connect, ask, turn } = bench();
    ask(1);
    ledger.settle(ask(2, { qos: 2 }));
    ledger.disconnected();
    connect(false);
    expect(ask(1, { dup: true })).not.toBe(null);
    expect(ask(2, { qos: 2, dup: true })).not.toBe(null);
    expect(await turn()).toBe('');
  });

  test('a record that was lost is handed over again', () => {
    const { ledger, connect, ask } = bench();
    const slot = ask(1);
    ledger.abandon(slot);
    ledger.disconnected();
    connect(true);
    expect(ask(1, { dup: true })).not.toBe(null);
  });

  test('places that nobody asks about again are bounded', () => {
    const { ledger } = bench();
    for (let id = 1; id <= 70000; id++)
      ledger.slots_.push({ qos: 1, id, print: '', settled: false, code: 0 });
    ledger.disconnected();
    expect(ledger.orphans_.size).toBe(65535);
  });
});
