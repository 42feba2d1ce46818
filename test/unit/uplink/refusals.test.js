'use strict';

// Refusals by a broker: retried indefinitely, or given up as a dead letter.

const { FeederBench: Bench, records } = require('../../fixtures/uplink/feeder-bench');

test('tries a refused record five times, a second apart, and then gives it up because the broker takes others', () => {
  const bench = new Bench({ inflight: 2 });
  const id = bench.source.push({ topic: 'bad' });
  bench.connect();
  for (let i = 1; i <= 5; i++) {
    expect(bench.sent()).toEqual(['bad']);
    bench.ack(1, 0x87);
    expect(bench.sent()).toEqual([]);
    if (i === 1) {
      bench.source.push({ topic: 'good' });
      bench.pump();
      expect(bench.sent()).toEqual(['good']);
      bench.ack();
    }
    bench.later(1000);
  }
  expect(bench.source.released).toMatchObject([
    {},
    { id, refused: [0], code: 0x87, reason: expect.stringMatching(/5 times \(not authorized/) }
  ]);
  expect(bench.problems).toEqual(['PUBACK_135']);
  expect(bench.feeder.sender.failed).toBe(1);
});

test.each([0x87, 0x90, 0x95, 0x99])(
  'gives none up while the broker refuses every record (reason code %i), sends less, and delivers all once it accepts them',
  (code) => {
    const bench = new Bench({ inflight: 32 });
    for (let i = 0; i < 3000; i++) bench.source.push({ topic: `${i}` });
    bench.connect();
    let tries = 0;
    for (let second = 0; second < 3600; second++) {
      for (let sent = bench.sent(); sent.length > 0; sent = bench.sent()) {
        tries += sent.length;
        bench.ack(Infinity, code);
      }
      bench.later(1000);
    }
    expect(bench.source.released).toEqual([]);
    expect(bench.feeder.sender).toMatchObject({ failed: 0, deadLetters: 0 });
    expect(bench.feeder.sender.resends.refusals.allRefused).toBe(code);
    // The engine learns that the cloud takes nothing.
    expect(bench.problems).toContain('ALL_REFUSED');
    // The number of packets waiting outside of the window is bounded: 1,000, and one more each ten seconds.
    expect(bench.source.taken.size).toBeLessThanOrEqual(1032 + 370);
    expect(tries).toBeLessThan(1402 * 75);
    const got = new Set();
    for (let second = 0; second < 200 && bench.source.held > 0; second++) {
      for (let sent = bench.sent(); sent.length > 0; sent = bench.sent()) {
        for (const topic of sent) got.add(topic);
        bench.ack();
      }
      bench.later(1000);
    }
    expect(got.size).toBe(3000);
    expect(bench.source.released.filter((one) => one.refused)).toEqual([]);
    expect(bench.feeder.sender.resends.refusals.allRefused).toBe(0);
  }
);

test.each([0x80, 0x83, 0x91, 0xff])(
  'fills the window, not the memory, when a broker refuses everything (reason code %i), and sends less and less',
  (code) => {
    const bench = new Bench({ inflight: 4 });
    for (let i = 0; i < 100; i++) bench.source.push({ topic: `${i}` });
    bench.connect();
    let tries = 0;
    for (let second = 0; second < 600; second++) {
      for (let sent = bench.sent(); sent.length > 0; sent = bench.sent()) {
        tries += sent.length;
        bench.ack(Infinity, code);
      }
      bench.later(1000);
    }
    // One more packet is tried each ten seconds, and each is tried at 0, 1, 3, 7, 15, 31, 63 s and then each 60 s.
    expect(bench.source.taken.size).toBeGreaterThanOrEqual(4 + 50);
    expect(bench.source.taken.size).toBeLessThanOrEqual(4 + 63);
    expect(tries).toBeGreaterThanOrEqual(4 * 14);
    expect(tries).toBeLessThanOrEqual((4 + 63) * 17);
    expect(bench.source.released).toEqual([]);
    expect(bench.feeder.sender).toMatchObject({ failed: 0, deadLetters: 0 });
    expect(bench.feeder.sender.resends.refusals.count).toBe(tries);
    expect(bench.feeder.sender.resends.waitMs).toBeGreaterThan(0);
  }
);

test('sends one packet, less and less often, to a broker whose quota is used up for long, and keeps the window', () => {
  const bench = new Bench({ inflight: 4 });
  for (let i = 0; i < 100; i++) bench.source.push({ topic: `${i}` });
  expect(bench.connect().sent()).toHaveLength(4);
  bench.ack(Infinity, 0x97);
  let tries = 0;
  for (let second = 0; second < 300; second++) {
    bench.later(1000);
    const sent = bench.sent();
    // After seven refusals, the next packet is tried right behind the first one.
    if (sent.length > 0) expect(sent).toEqual([tries < 6 || sent[0] === '0' ? '0' : '1']);
    tries += sent.length;
    bench.ack(Infinity, 0x97);
    expect(bench.source.taken.size).toBe(4);
  }
  // At 1, 3, 7, 15, 31, 63 s and then each 60 s.
  expect(tries).toBeLessThanOrEqual(6 + 2 * 4);
  expect(bench.source.released).toEqual([]);
  expect(bench.feeder.sender.resends.waitMs).toBeGreaterThan(0);
  const order = [];
  for (let second = 0; second < 100; second++) {
    bench.later(1000);
    for (let sent = bench.sent(); sent.length > 0; sent = bench.sent()) {
      order.push(...sent);
      bench.ack();
    }
  }
  expect(order).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`));
});

test('lets nothing overtake refused records while the quota is used up, however often they are refused', () => {
  const bench = new Bench({ inflight: 4 });
  for (let i = 0; i < 12; i++) bench.source.push({ topic: `${i}` });
  bench.connect();
  /** @type {string[]} */
  const arrived = [];
  let turn = 0;
  for (let step = 0; step < 400 && bench.source.held > 0; step++) {
    bench.sent();
    // The quota comes and goes.
    const refuse = () => (turn++ % 3 === 0 && step % 7 < 3 ? 0x97 : 0);
    const codes = new Map();
    for (const { topic, messageId } of bench.answer((packet) => {
      const code = refuse();
      codes.set(packet.messageId, code);
      return code;
    })) {
      if (codes.get(messageId) === 0) arrived.push(topic);
    }
    bench.later(500);
  }
  expect(bench.source.held).toBe(0);
  // Packets that were in flight together may arrive in another order; a later one never leaves before an earlier one is
  // taken.
  for (const [at, topic] of arrived.entries()) {
    for (const later of arrived.slice(at + 1)) expect(Number(topic) - Number(later)).toBeLessThan(4);
  }
});

test('sends everything in the order of refusal once the quota is back, and opens the window again', () => {
  const bench = new Bench({ inflight: 8 });
  for (let i = 0; i < 20; i++) bench.source.push({ topic: `${i}` });
  bench.connect().sent();
  bench.ack(Infinity, 0x97);
  expect(bench.sent()).toEqual([]);
  const order = [];
  for (let step = 0; step < 30; step++) {
    bench.later(1000);
    order.push(...bench.sent());
    bench.ack(1);
    order.push(...bench.sent());
    bench.ack();
  }
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
  expect(bench.source.held).toBe(0);
  expect(bench.feeder.sender.resends.waitMs).toBe(0);
  expect(bench.window.room).toBe(8);
});

test('costs the others one place in the window, no more, for one record that is refused indefinitely', () => {
  const bench = new Bench({ inflight: 4 });
  bench.source.push({ topic: 'poison' });
  for (let i = 0; i < 200; i++) bench.source.push({ topic: `${i}` });
  bench.connect();
  const got = [];
  for (let step = 0; step < 100; step++) {
    bench.sent();
    for (const packet of bench.answer(({ topic }) => (topic === 'poison' ? 0x80 : 0))) {
      if (packet.topic !== 'poison') got.push(packet.topic);
    }
    bench.later(100);
  }
  expect(got).toEqual(Array.from({ length: 200 }, (_, i) => `${i}`));
  expect(bench.source.taken.size).toBe(1);
});

test('tries a refused packet at once after a reconnect, and then waits as before', () => {
  const bench = new Bench({ inflight: 4 });
  bench.source.push({ topic: 'x' });
  bench.connect();
  for (const wait of [1000, 2000, 4000]) {
    expect(bench.sent()).toEqual(['x']);
    bench.ack(1, 0x97);
    expect(bench.later(wait - 1).sent()).toEqual([]);
    bench.later(1);
  }
  bench.feeder.disconnected();
  bench.ids = [];
  bench.connect();
  expect(bench.sent()).toEqual(['x']);
  bench.ack(1, 0x97);
  expect(bench.later(7999).sent()).toEqual([]);
  expect(bench.later(1).sent()).toEqual(['x']);
});

test('makes only the refused records of a batch dead letters, and keeps the order of the rest', () => {
  const bench = new Bench();
  const id = bench.source.push({ records: records('1', 'bad', '2', 'bad', '3') });
  bench.connect();
  const got = [];
  for (let step = 0; step < 5; step++) {
    bench.sent();
    for (const { topic } of bench.answer((packet) => (packet.topic === 'bad' ? 0x90 : 0))) got.push(topic);
    bench.later(1000);
  }
  expect(got.filter((topic) => topic !== 'bad')).toEqual(['1', '2', '3']);
  expect(got.filter((topic) => topic === 'bad')).toHaveLength(10);
  expect(bench.source.released).toEqual([
    { id, refused: [1, 3], code: 0x90, reason: expect.stringMatching(/topic name invalid.*dead letter/) }
  ]);
  expect(bench.feeder.sender).toMatchObject({ failed: 2, deadLetters: 2 });
});

test('does not delay the others for many permanently refused records', () => {
  const bench = new Bench({ inflight: 4 });
  for (let i = 0; i < 300; i++) bench.source.push({ topic: i % 3 === 0 ? 'bad' : `${i}` });
  bench.connect();
  let taken = 0;
  for (let step = 0; step < 100; step++) {
    bench.sent();
    for (const { topic } of bench.answer((packet) => (packet.topic === 'bad' ? 0x87 : 0))) {
      if (topic !== 'bad') taken++;
    }
    bench.later(10);
  }
  expect(taken).toBe(200);
  expect(bench.window.waiting).toBe(0);
});

test('buries all records of a refused envelope', () => {
  const bench = new Bench();
  const id = bench.source.push({ kind: 1, payload: '{"d":1}\n{"d":2}\n{"d":3}\n' });
  bench.connect();
  for (let step = 0; step < 5; step++) {
    bench.sent();
    bench.answer(({ topic }) => (topic === 'good' ? 0 : 0x99));
    bench.later(1000);
    if (step === 0) bench.source.push({ topic: 'good' });
  }
  expect(bench.source.released.filter((one) => one.refused)).toEqual([
    { id, refused: [0, 1, 2], code: 0x99, reason: expect.stringContaining('payload format invalid') }
  ]);
  expect(bench.feeder.sender).toMatchObject({ failed: 1, deadLetters: 3 });
});

test('sends others first on the next connection when a broker refuses a record and closes, and gives it up', () => {
  const bench = new Bench({ inflight: 4 });
  const id = bench.source.push({ topic: 'bad' });
  for (let i = 0; i < 20; i++) bench.source.push({ topic: `${i}` });
  const got = new Set();
  for (let connection = 0; connection < 10; connection++) {
    bench.ids = [];
    bench.connect();
    for (let step = 0; step < 60; step++) {
      bench.sent();
      let isOver = false;
      for (const messageId of bench.ids.splice(0)) {
        const { topic } = bench.byId.get(messageId);
        isOver = topic === 'bad';
        bench.feeder.sender.acknowledge(messageId, isOver ? 0x87 : 0);
        if (isOver) break;
        got.add(topic);
      }
      if (isOver) {
        bench.feeder.disconnected(true);
        bench.later(3000);
        break;
      }
      bench.later(100);
    }
  }
  expect(got.size).toBe(20);
  expect(bench.source.released.filter((one) => one.refused)).toMatchObject([{ id, code: 0x87 }]);
  expect(bench.source.held).toBe(0);
});

test("drops the old engine's refused records on another engine", () => {
  const bench = new Bench({ inflight: 2 });
  bench.source.push({ topic: 'old' });
  bench.connect().sent();
  bench.ack(1, 0x97);
  bench.feeder.detach();
  bench.later(5000);
  expect(bench.sent()).toEqual([]);
  expect(bench.window).toMatchObject({ waiting: 0, inflight: 0 });
});
