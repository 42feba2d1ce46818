'use strict';

// Several sessions of one uplink thread: each is independent of the others. Real sockets, a scripted broker.

const { until } = require('../../../bench/harness/broker');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { Load, UplinkBench, firstArrivals } = require('../../fixtures/uplink/uplink-bench');
const { PATIENCE } = require('../../../bench/harness/patience');

jest.setTimeout(60000);

const URGENT = '1,2';
const BULK = '3,4,5,6,7,8';

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(manners, options = {}) {
  const broker = await ScriptedBroker.start(manners);
  cleanups.push(() => broker.close());
  const bench = new UplinkBench({ url: broker.url, groups: '', ...options });
  cleanups.push(() => bench.stop(0));
  return { broker, bench };
}

const delivered = (bench) => until(() => bench.engine.held.size === 0, 20000);
const last = (bench) => bench.states.at(-1);
const sessionState = (bench, i) => last(bench)?.sessions[i]?.state;
const push = (bench, cls, count, more = {}) => {
  for (let i = 0; i < count; i++) bench.engine.push({ class: cls, topic: `t/${cls}`, ...more });
};

test('gives each group a client id, and sends its classes there', async () => {
  const { broker, bench } = await start({});
  for (let cls = 1; cls <= 8; cls++) push(bench, cls, 2);
  await delivered(bench);
  expect(new Set(broker.clientIds)).toEqual(new Set(['gw1-1', 'gw1-2']));
  expect([...new Set(broker.topicsOf('gw1-1'))].sort()).toEqual(['t/1', 't/2']);
  expect([...new Set(broker.topicsOf('gw1-2'))].sort()).toEqual(['t/3', 't/4', 't/5', 't/6', 't/7', 't/8']);
  await until(() => last(bench).state === 'connected' && last(bench).acknowledged === 16);
  expect(last(bench).sessions).toMatchObject([
    { group: 1, classes: [1, 2], clientId: 'gw1-1', state: 'connected', acknowledged: 4, batchBytes: 16384 },
    { group: 2, classes: [3, 4, 5, 6, 7, 8], clientId: 'gw1-2', state: 'connected', acknowledged: 12 }
  ]);
  expect(bench.engine.upsOf).toEqual({ [URGENT]: [false, true], [BULK]: [false, true] });
});

test('makes one session the whole uplink: one connection, the plain client id, all classes in order of urgency', async () => {
  const { broker, bench } = await start({}, { groups: 'all' });
  const load = new Load(bench.engine);
  for (let i = 0; i < 200; i++) load.add(1 + (i % 4), 1 + (i % 3));
  await delivered(bench);
  expect(broker.clientIds).toEqual(['gw1']);
  expect(firstArrivals(broker.received)).toEqual(load.expected());
  await until(() => last(bench).sessions[0]?.acknowledged === last(bench).acknowledged);
  expect(last(bench).sessions).toHaveLength(1);
  expect(last(bench).sessions[0]).toMatchObject({ classes: [1, 2, 3, 4, 5, 6, 7, 8], clientId: 'gw1' });
});

test('makes eight sessions: one for each class', async () => {
  const { broker, bench } = await start({}, { groups: '1/2/3/4/5/6/7/8' });
  for (let cls = 1; cls <= 8; cls++) push(bench, cls, 5);
  await delivered(bench);
  for (let cls = 1; cls <= 8; cls++) expect(broker.topicsOf(`gw1-${cls}`)).toEqual(Array(5).fill(`t/${cls}`));
  await until(() => bench.state === 'connected');
});

test('continues the first session when a broker refuses the second client id, and reports what waits and the remedy', async () => {
  const { broker, bench } = await start({ connack: (id) => (id === 'gw1-2' ? 0x85 : 0) });
  push(bench, 3, 5);
  push(bench, 1, 5);
  await until(() => bench.engine.delivered.length === 5);
  expect(broker.received.every(({ topic }) => topic === 't/1')).toBe(true);
  await until(() => sessionState(bench, 0) === 'connected' && sessionState(bench, 1) === 'refused');
  expect(last(bench)).toMatchObject({
    state: 'refused',
    code: 'CONNACK 133',
    reason: expect.stringMatching(/^Classes 3–8 wait: The broker refused the client id\..*"Sessions: all"/)
  });
  expect(last(bench).sessions[0]).toMatchObject({ state: 'connected', reason: '' });
  expect(last(bench).sessions[1].reason).toMatch(/"Sessions: all"/);
  expect(bench.engine.upsOf[BULK]).toEqual([false]);
  expect(await bench.thread.drain(50)).toBe(false);
  const began = Date.now();
  expect(await bench.stop(30000)).toBe(true);
  expect(Date.now() - began).toBeLessThan(20000);
  expect(bench.engine.held.size).toBe(5);
});

test('gives the same advice when a broker silently closes the second connection', async () => {
  const { broker, bench } = await start({ connack: (id) => (id === 'gw1-2' ? -1 : 0) });
  await until(() => broker.clientIds.includes('gw1-2') && sessionState(bench, 0) === 'connected');
  const timer = setInterval(() => [...broker.sockets].at(-1)?.destroy(), 20);
  cleanups.push(() => clearInterval(timer));
  await until(() => sessionState(bench, 1) === 'disconnected' && sessionState(bench, 0) === 'connected');
  expect(last(bench).reason).toMatch(/^Classes 3–8 wait: The broker closed.*"Sessions: all"/);
});

test('delivers alarms within moments while a socket that reads nothing blocks the bulk session', async () => {
  const { broker, bench } = await start({ deaf: (id) => id === 'gw1-2' });
  await until(() => bench.state === 'connected');
  push(bench, 4, 200, { payload: 'x'.repeat(100000) });
  await until(() => last(bench).sessions[1].inflight > 0);
  const waits = [];
  for (let i = 0; i < 50; i++) {
    const since = performance.now();
    push(bench, 1, 1);
    await until(() => broker.topicsOf('gw1-1').length === i + 1);
    waits.push(performance.now() - since);
  }
  waits.sort((a, b) => a - b);
  process.stdout.write(
    `beside a blocked bulk session: alarm p50 ${waits[25].toFixed(1)} ms, max ${waits[49].toFixed(1)} ms\n`
  );
  expect(waits[25]).toBeLessThan(200 * PATIENCE);
  // Most of the bulk is still in the engine, where it can be overtaken.
  expect(last(bench).sessions[1].inflight).toBeLessThan(100);
  await until(() => bench.state === 'stalled');
  expect(last(bench)).toMatchObject({
    code: 'STALLED',
    reason: expect.stringMatching(/^Classes 3–8 wait: /)
  });
  expect(sessionState(bench, 0)).toBe('connected');
  expect(bench.engine.upsOf[URGENT].at(-1)).toBe(true);
  expect(bench.engine.upsOf[BULK].at(-1)).toBe(false);
});

test('restores one lost connection by itself, and the other does not notice', async () => {
  const { broker, bench } = await start({});
  const load = new Load(bench.engine);
  const timer = setInterval(() => {
    load.add(1);
    load.add(3, 5);
  }, 5);
  cleanups.push(() => clearInterval(timer));
  await until(() => bench.state === 'connected' && broker.received.length > 100);
  const [urgent] = broker.sockets;
  const before = broker.clientIds.length;
  urgent.destroy();
  await until(() => broker.clientIds.length === before + 1);
  clearInterval(timer);
  await delivered(bench);
  expect(firstArrivals(broker.received)).toEqual(load.expected());
  const ids = broker.clientIds.slice(0, 2);
  const lost = broker.clientIds.at(-1);
  expect(ids.includes(lost)).toBe(true);
  const other = lost === 'gw1-1' ? 1 : 0;
  const seen = bench.states.slice(bench.states.findIndex(({ state }) => state === 'connected'));
  expect(seen.every(({ sessions }) => sessions[other].state === 'connected')).toBe(true);
});

test('drains all sessions, and sends DISCONNECT for each at stop', async () => {
  const { broker, bench } = await start({ delayMs: 20 });
  await until(() => bench.state === 'connected');
  push(bench, 1, 3);
  push(bench, 4, 100);
  expect(await bench.thread.drain(10000)).toBe(true);
  expect(broker.received).toHaveLength(103);
  push(bench, 2, 1);
  push(bench, 5, 1);
  await until(() => bench.states.at(-1).inflight > 0 || broker.received.length === 105);
  expect(await bench.stop()).toBe(true);
  expect(last(bench)).toMatchObject({
    state: 'stopped',
    sessions: [{ state: 'stopped' }, { state: 'stopped' }]
  });
  await until(() => broker.goodbyes === 2);
  expect(bench.engine.ends.size).toBe(0);
});

test('keeps the time-out of stop when one session gets no answers, and returns its batches', async () => {
  const { broker, bench } = await start({ puback: ({ topic }) => (topic === 't/4' ? -1 : 0) });
  await until(() => bench.state === 'connected');
  push(bench, 4, 1);
  push(bench, 1, 1);
  await until(() => broker.received.length === 2);
  const began = Date.now();
  expect(await bench.stop(300)).toBe(false);
  expect(Date.now() - began).toBeLessThan(2500 * PATIENCE);
  expect([...bench.engine.held.values()].map((batch) => batch.class)).toEqual([4]);
});

test('restores all sessions after a crash of the thread under load, with nothing lost and counters continued', async () => {
  const { broker, bench } = await start({});
  const load = new Load(bench.engine);
  const timer = setInterval(() => {
    load.add(1);
    load.add(4, 8);
  }, 4);
  cleanups.push(() => clearInterval(timer));
  await until(() => bench.engine.delivered.length > 200);
  bench.engine.crash();
  await until(() => bench.engine.openedOf[URGENT] === 2 && bench.engine.openedOf[BULK] === 2);
  clearInterval(timer);
  await delivered(bench);
  expect(firstArrivals(broker.received)).toEqual(load.expected());
  expect(bench.states.find(({ code }) => code === 'THREAD').sessions).toEqual([]);
  await bench.stop();
  const { acknowledged, sessions } = last(bench);
  expect(acknowledged).toBeGreaterThan(200);
  expect(sessions[0].acknowledged + sessions[1].acknowledged).toBe(acknowledged);
  expect(sessions[0].acknowledged).toBeGreaterThan(0);
});

test('limits the rate of the backlog for the whole uplink', async () => {
  const { broker, bench } = await start({}, { backlogRate: 100, backlogShare: 1 });
  await until(() => bench.state === 'connected');
  push(bench, 1, 200, { backlog: true });
  push(bench, 4, 200, { backlog: true });
  const from = broker.received.length;
  const since = Date.now();
  await until(() => broker.received.length > from + 60);
  const perSecond = ((broker.received.length - from) * 1000) / (Date.now() - since);
  expect(perSecond).toBeLessThan(150);
});

test('gives each session its source when it is attached again', async () => {
  const { bench } = await start({});
  push(bench, 1, 1);
  await delivered(bench);
  bench.thread.attach(bench.engine.token, 1);
  await until(() => bench.engine.openedOf[URGENT] === 2 && bench.engine.openedOf[BULK] === 2);
  push(bench, 1, 1);
  push(bench, 3, 1);
  await delivered(bench);
});
