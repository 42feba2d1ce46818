'use strict';
// What the status page gets of forecasts, with a real engine.

const { Engine } = require('../../../native');
const { addOutlooks, noteSeason } = require('../../../nodes/lib/forecast/outlook');
const { until } = require('../../native/support/addon');
const { cpuMs } = require('../../fixtures/cpu-time');

const STAGE = 2;
const SEASON = { path: '$.t', periodS: 240, slots: 4 };
const MINUTE_MS = 60000;
const NOW = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS + 20000;

/** @type {Engine[]} */
const engines = [];
afterEach(() => {
  for (const engine of engines.splice(0)) engine.close();
});

function start(season = SEASON) {
  const engine = new Engine({ workers: 2, memoryMiB: 64 }, () => {});
  engines.push(engine);
  engine.applyPlan({
    stages: [
      { id: 1, kind: 'ingest', next: [STAGE], messages: false },
      { id: STAGE, kind: 'forecast', next: [], messages: true, ...season }
    ]
  });
  const members = [
    { id: 'in', stage: 1, kind: 'ingest', node: {} },
    { id: 'f', stage: STAGE, kind: 'forecast', node: { name: 'hours' } }
  ];
  const host = { engine, members };
  noteSeason(host, STAGE, season);
  return host;
}

const valueOf = (/** @type {number} */ slot) => 10 + (slot % 4) * 5 + ((slot * 7) % 5) / 10;

/** Puts a value in each of the last `slots` slots of a minute, the current one included. */
async function learn({ engine }, slots = 60, device = 'd') {
  const before = points(engine);
  for (let ago = slots - 1; ago >= 0; ago--) {
    const ts = NOW - ago * MINUTE_MS;
    push(engine, valueOf(Math.floor(ts / MINUTE_MS)), ts, device);
  }
  await until(() => points(engine) === before + slots, 'the values');
}
const points = (/** @type {Engine} */ engine) =>
  engine.stats().stages.find(({ id }) => id === STAGE)?.forecast?.points ?? 0;
const push = (
  /** @type {Engine} */ engine,
  /** @type {number} */ t,
  /** @type {number} */ ts,
  device = 'd'
) => engine.push(1, device, 'x', Buffer.from(JSON.stringify({ t })), 0, 0, ts, -1, 0);

const row = (payload = '{"t":10}', device = 'd') => /** @type {any} */ ({ device, topic: 'x', payload });

test('is the band of the last hour and a quarter ahead, and the anomalies in it', async () => {
  const host = start();
  await learn(host);
  push(host.engine, 500, NOW);
  await until(() => points(host.engine) === 61);
  const rows = [row(), row('{"t":1}', 'other')];
  addOutlooks(host, rows, NOW);
  expect(rows[1]).not.toHaveProperty('forecast');
  const { forecast } = rows[0];
  expect(forecast).toMatchObject({
    node: 'f',
    name: 'hours',
    path: '$.t',
    trusted: true,
    doubt: '',
    seasons: 14,
    seasonsNeeded: 3,
    stepMs: MINUTE_MS,
    from: NOW - 20000 - 59 * MINUTE_MS,
    anomalies: [{ ts: NOW, value: 500 }]
  });
  expect(forecast.bands).toHaveLength(75);
  for (const [i, [expected, low, high]] of forecast.bands.entries()) {
    const usual = valueOf(Math.floor(forecast.from / MINUTE_MS) + i);
    expect(Math.abs(expected - usual)).toBeLessThan(1);
    expect(low).toBeLessThanOrEqual(expected);
    expect(high).toBeGreaterThanOrEqual(expected);
  }
  expect([forecast.expected, forecast.low, forecast.high]).toEqual(forecast.bands[59]);
});

test('says why it is not trusted, and has no numbers in the first season', async () => {
  const host = start();
  await learn(host, 3);
  const rows = [row()];
  addOutlooks(host, rows, NOW);
  expect(rows[0].forecast).toMatchObject({
    trusted: false,
    doubt: 'seasons',
    seasons: 0,
    expected: null,
    bands: []
  });
  await learn(host, 1, 'e');
  const later = [row('{"t":10}', 'e')];
  // After eight seasons without a value, its level may be another one.
  addOutlooks(host, later, NOW + 32 * 240000);
  expect(later[0].forecast).toMatchObject({ trusted: false });
});

test.each([
  ['{"ts":5,"t":1}', true],
  ['{"t":1,"a":2}', true],
  ['{"a":{"b":"2"},"t":1}', true],
  ['{"a":2,"t":1}', false],
  ['{"a":[1],"t":1}', false],
  ['21.5', false],
  ['no JSON', false],
  [undefined, false]
])('has a band in %p: %p', async (payload, hasBand) => {
  const host = start();
  await learn(host, 1);
  const rows = [{ ...row(), payload }];
  addOutlooks(host, rows, NOW);
  expect(rows[0].forecast.path).toBe('$.t');
  expect('bands' in rows[0].forecast).toBe(hasBand);
});

test('has a limit of rows, and none of an engine that is closed or without forecast nodes', async () => {
  const host = start();
  await learn(host, 1);
  const rows = Array.from({ length: 30 }, () => row());
  addOutlooks(host, rows, NOW);
  expect(rows.filter(({ forecast }) => forecast)).toHaveLength(24);
  const none = [row()];
  addOutlooks({ ...host, members: host.members.slice(0, 1) }, none, NOW);
  host.engine.close();
  addOutlooks(host, none, NOW);
  expect(none[0]).not.toHaveProperty('forecast');
});

test('costs the same whatever the season: a minute has at most sixty slots', async () => {
  const host = start({ path: '$.t', periodS: 1024, slots: 1024 });
  for (let i = 0; i < 1100; i++) push(host.engine, i % 7, NOW - (1100 - i) * 1000);
  await until(() => points(host.engine) === 1100);
  const rows = Array.from({ length: 24 }, () => row());
  const begin = cpuMs();
  addOutlooks(host, rows, NOW);
  expect(cpuMs() - begin).toBeLessThan(500);
  expect(rows[23].forecast.bands).toHaveLength(75);
});

test.each([
  [['x', [], 0, 1000, 1], /stage/],
  [[2, 'd', 0, 1000, 1], /series must be an array/],
  [[2, new Array(101).fill({}), 0, 1000, 1], /at most 100/],
  [[2, [5], 0, 1000, 1], /a series must be an object/],
  [[2, [], -1, 1000, 1], /from/],
  [[2, [], 0, 999, 1], /stepMs/],
  [[2, [], 0, 60001, 1], /stepMs/],
  [[2, [], 0, 1000, 241], /steps/]
])('refuses %j', (args, reason) => {
  const { engine } = start();
  expect(() => /** @type {any} */ (engine).lookAtForecasts(...args)).toThrow(reason);
});

test('refuses lessons that are none', () => {
  const { engine } = start();
  const key = { device: 'd', topic: 'x' };
  const [none, one] = [new Float64Array(), new Float64Array(1)];
  for (const [args, reason] of /** @type {const} */ ([
    [[0, {}, key, none, none, 0], /stage/],
    [[2, null, key, none, none, 0], /settings/],
    [[2, { slots: 1 }, key, none, none, 0], /slots/],
    [[2, {}, 'd', none, none, 0], /a series must be an object/],
    [[2, {}, key, [1], none, 0], /times must be a Float64Array/],
    [[2, {}, key, none, new Uint8Array(), 0], /values must be a Float64Array/],
    [[2, {}, key, one, none, 0], /same length/],
    [[2, {}, key, new Float64Array(100001), none, 0], /100000/],
    [[2, {}, key, none, none, -1], /until/]
  ]))
    expect(() => /** @type {any} */ (engine).teachForecast(...args)).toThrow(reason);
  expect(engine.teachForecast(9, {}, key, none, none, 0)).toBeNull();
});
