'use strict';

// PUBACKs that refuse a packet for now: what was refused for an exceeded quota goes first, no code lets some records
// hold up the others for good, and a refused packet is sent again as a new message.

const { FeederBench: Bench } = require('../../../fixtures/uplink/feeder-bench');
const { dice, seed } = require('../../../fixtures/uplink/feeder-cloud');

process.stdout.write(`seed ${seed}\n`);

const QUOTA = 0x97;
const hex = (codes) => codes.map((code) => [`0x${code.toString(16)}`, code]);

test('sends nothing new after 0x97 until all refused packets are accepted, although earlier ones are', () => {
  const bench = new Bench({ inflight: 16 });
  for (let i = 0; i < 100; i++) bench.source.push({ topic: `${i}` });
  expect(bench.connect().sent()).toHaveLength(16);
  // The third and the seventh are refused. All others in flight are accepted, some of them later.
  const ids = bench.ids.splice(0);
  for (const [i, id] of ids.entries())
    if (i < 10) bench.feeder.sender.acknowledge(id, i === 2 || i === 6 ? QUOTA : 0);
  bench.pump();
  for (const id of ids.slice(10)) bench.feeder.sender.acknowledge(id, 0);
  bench.pump();
  expect(bench.sent()).toEqual([]);
  bench.later(1000);
  for (const topic of ['2', '6', '16']) {
    expect(bench.sent()).toEqual([topic]);
    bench.ack();
  }
});

test('refuses nothing to class 1 while the refused packets of others are sent again', () => {
  const bench = new Bench({ inflight: 8, reserve: 0.25 });
  for (let i = 0; i < 40; i++) bench.source.push({ topic: `${i}`, class: 3 });
  bench.connect().sent();
  bench.ack(Infinity, QUOTA);
  for (let i = 0; i < 3; i++) bench.source.push({ topic: `alarm${i}`, class: 1 });
  bench.later(1000);
  const order = [];
  for (let i = 0; i < 6; i++) {
    const sent = bench.sent();
    expect(sent).toHaveLength(1);
    order.push(...sent);
    bench.ack();
  }
  expect(order.slice(0, 4)).toEqual(['alarm0', '0', 'alarm1', '1']);
});

test.each(hex([0x80, 0x83, 0x87, 0x91, QUOTA]))(
  'sends a packet that was refused with %s without DUP, and with DUP only on another connection',
  (_, code) => {
    const bench = new Bench({ inflight: 4 });
    bench.source.push({ topic: 'x' });
    bench.connect();
    for (let i = 0; i < 3; i++) {
      expect(bench.packets).toMatchObject([{ topic: 'x', dup: false }]);
      bench.sent();
      bench.ack(1, code);
      bench.later(60000);
    }
    expect(bench.packets).toMatchObject([{ topic: 'x', dup: false }]);
    bench.feeder.disconnected();
    bench.ids = [];
    bench.connect();
    expect(bench.packets).toMatchObject([{ topic: 'x', dup: true }]);
    bench.sent();
    bench.ack(1, code);
    bench.feeder.disconnected();
    bench.connect().later(60000);
    expect(bench.packets).toMatchObject([{ topic: 'x', dup: false }]);
    expect(bench.feeder.sender.redelivered).toBe(5);
  }
);

/**
 * Serves a broker that reads the packets one after the other.
 * @param {Bench} bench
 * @param {(packet: any) => number} decide
 * @param {number} [ms]
 */
function serve(bench, decide, ms = 400000) {
  const accepted = [];
  for (const end = bench.time + ms; bench.time < end && bench.source.held > 0;) {
    bench.sent();
    for (const id of bench.ids.splice(0, 3)) {
      const packet = bench.byId.get(id);
      const code = decide(packet);
      if (code === 0) accepted.push(packet);
      bench.feeder.sender.acknowledge(id, code);
    }
    // Only what the feeder asked for may wake it.
    bench.time += 5;
    for (const timer of bench.timers.splice(0))
      timer.at <= bench.time ? timer.fn() : bench.timers.push(timer);
    if (!bench.isScheduled) continue;
    bench.isScheduled = false;
    bench.pump();
  }
  return accepted;
}

test.each([1, 2, 5, 32])(
  'keeps the order of each device and class at a broker whose quota is used up repeatedly (window %i)',
  (inflight) => {
    const random = dice();
    const bench = new Bench({ inflight });
    for (let i = 0; i < 600; i++) {
      const [device, cls, backlog] = [`d${random(5)}`, 2 + random(3), random(4) === 0];
      bench.source.push({ device, topic: `${device}/${cls}/${backlog}/${i}`, class: cls, backlog });
    }
    bench.connect();
    // Long enough for all packets that are in flight together.
    let usedUpUntil = 0;
    const refusals = new Map();
    const accepted = serve(bench, ({ topic }) => {
      const count = refusals.get(topic) ?? 0;
      // A packet that is refused seven times is set apart, and others may overtake it.
      const mayRefuse = count < 6;
      if (mayRefuse && bench.time >= usedUpUntil && random(20) === 0)
        usedUpUntil = bench.time + 100 + random(4000);
      if (!mayRefuse || bench.time >= usedUpUntil) return 0;
      refusals.set(topic, count + 1);
      return QUOTA;
    });
    expect(bench.source.held).toBe(0);
    const last = new Map();
    for (const { topic } of accepted) {
      const [key, number] = topic.split(/\/(?=\d+$)/);
      expect([topic, Number(number) > (last.get(key) ?? -1)]).toEqual([topic, true]);
      last.set(key, Number(number));
    }
    expect(bench.window).toMatchObject({ waiting: 0, inflight: 0 });
  }
);

/** Seven minutes for each one that is refused with 0x97. */
const poisons = (code) => (code === QUOTA ? [1, 3] : [1, 4, 40]);
describe.each(hex([0x80, 0x91, QUOTA]))('records that are always refused with %s', (_, code) => {
  test.each(poisons(code).flatMap((count) => [1, 3, 8].map((inflight) => [count, inflight])))(
    'do not hold up the others for good: %i of them, window %i',
    (count, inflight) => {
      const bench = new Bench({ inflight });
      for (let i = 0; i < count; i++) bench.source.push({ topic: 'poison' });
      for (let i = 0; i < 20; i++) bench.source.push({ topic: `${i}` });
      bench.connect();
      const accepted = serve(bench, ({ topic }) => (topic === 'poison' ? code : 0), 1200000);
      expect(accepted.map(({ topic }) => topic)).toEqual(Array.from({ length: 20 }, (_each, i) => `${i}`));
      expect(bench.source.held).toBe(count);
      // And then all are accepted, without anything new.
      expect(serve(bench, () => 0)).toHaveLength(count);
      expect(bench.source.held).toBe(0);
    }
  );
});

test('does not hold up the others for more records that look permanently refused than it may set aside', () => {
  const bench = new Bench({ inflight: 8 });
  for (let i = 0; i < 1100; i++) bench.source.push({ topic: 'bad' });
  for (let i = 0; i < 20; i++) bench.source.push({ topic: `${i}` });
  bench.connect();
  const accepted = serve(bench, ({ topic }) => (topic === 'bad' ? 0x87 : 0), 2000000);
  expect(accepted).toHaveLength(20);
});
