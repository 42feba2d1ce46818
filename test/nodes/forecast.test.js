'use strict';
// The forecast node with the real engine: the same classes whichever way wires carry records, what messages say, and
// what a deploy keeps.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { helper, tab, engine, broker, node, load, inbox } = require('./support/gateway');
const { until, errors, outcomeOf, parts } = require('./support/gateway');
const { replaceModules } = require('../../nodes/lib/engine/modules');
const { native, Puller, lines } = require('./support/puller');
const forecast = require('../../nodes/seganet-forecast');
const series = require('../../nodes/seganet-series');

beforeAll(() => helper.startServer());
beforeEach(() => lines.splice(0));
afterEach(async () => {
  await helper.unload();
  replaceModules();
});
afterAll(() => helper.stopServer());

const real = () => replaceModules({ native, uplink: { ...parts.uplink, UplinkThread: Puller } });
const season = { path: 't', periodS: '4', slots: '4', anomalyClass: '1', annotate: true };
const batching = { minDevices: '0', maxBytes: '65536', maxDelayMs: '60000' };

/** A record of a slot. @param {number} slot @param {number} [t] */
const record = (slot, t = 10 + (slot % 4) * 5 + ((slot * 7) % 5) / 10, deviceId = 'd') => ({
  deviceId,
  topic: 'x',
  ts: slot * 1000 + 1,
  priority: 4,
  payload: { t, slot }
});

test('gives anomalies their class whichever way wires carry records', async () => {
  const results = [];
  for (const [fastPath, middle] of /** @type {const} */ ([
    ['auto', 'batch'],
    ['off', 'batch'],
    ['auto', 'middle']
  ])) {
    lines.splice(0);
    const flow = [
      tab,
      { ...engine, fastPath, workers: '2', acknowledge: 'received' },
      broker,
      node('in', 'ingest', {}, 'judge'),
      node('judge', 'seganet-forecast', season, middle),
      node('middle', 'helper', {}, 'batch'),
      node('batch', 'batch', batching, 'cloud'),
      node('cloud', 'uplink', { broker: 'broker' })
    ];
    await load(flow, {}, [forecast, real]);
    const through = helper.getNode('middle');
    through.on('input', (msg) => through.send(msg));
    for (let slot = 0; slot < 60; slot++) {
      helper.getNode('in').receive(record(slot, slot % 20 === 19 ? 500 : undefined));
    }
    const { host } = helper.getNode('engine');
    await until(() => {
      host.engine.flush(0);
      return lines.length === 60;
    }, 'all records');
    expect(errors()).toEqual([]);
    results.push(lines.map(([cls, , , , { slot }]) => `${slot}:${cls}`).sort());
    await helper.unload();
  }
  const urgent = results[0].filter((each) => each.endsWith(':1'));
  // Not the first one, when fewer than 24 slots were known.
  expect(urgent).toEqual(['39:1', '59:1']);
  expect(results[1]).toEqual(results[0]);
  expect(results[2]).toEqual(results[0]);
});

const seenFlow = (/** @type {object} */ properties) => [
  tab,
  { ...engine, workers: '1', acknowledge: 'received' },
  node('in', 'ingest', {}, 'judge'),
  node('judge', 'seganet-forecast', { ...season, ...properties }, 'seen'),
  node('seen', 'helper')
];

test('tells in messages what was expected, if that is chosen', async () => {
  await load(seenFlow({}), {}, [forecast, real]);
  const seen = inbox('seen');
  for (let slot = 0; slot < 40; slot++) helper.getNode('in').receive(record(slot));
  helper.getNode('in').receive(record(40, 500));
  helper.getNode('in').receive({ deviceId: 'd', topic: 'x', payload: 'text' });
  await until(() => seen.length === 42, 'the messages');
  expect(seen[0].forecast).toEqual({
    expected: null,
    low: null,
    high: null,
    sigma: null,
    trusted: false,
    anomaly: false
  });
  expect(seen[40]).toMatchObject({ priority: 1, forecast: { trusted: true, anomaly: true } });
  const { expected, low, high, sigma } = seen[40].forecast;
  expect(expected).toBeGreaterThan(9);
  expect(expected).toBeLessThan(12);
  expect(low).toBeLessThan(expected);
  expect(high).toBeGreaterThan(expected);
  expect(sigma).toBeGreaterThan(0);
  expect(seen[41]).not.toHaveProperty('forecast');
});

test('leaves messages as they are by default', async () => {
  await load(seenFlow({ annotate: false }), {}, [forecast, real]);
  const seen = inbox('seen');
  helper.getNode('in').receive(record(0));
  await until(() => seen.length === 1);
  expect(seen[0]).not.toHaveProperty('forecast');
});

test('shows its series and refusals, and has metrics', async () => {
  await load(seenFlow({ maxSeries: '1' }), {}, [forecast, real]);
  const seen = inbox('seen');
  helper.getNode('in').receive(record(0));
  helper.getNode('in').receive(record(0, 1, 'other'));
  await until(() => seen.length === 2, 'both records, also the one of a series too many');
  await until(
    () => helper.getNode('judge').status.lastCall?.args[0].text === 'more than 1 series',
    'the status'
  );
  const { text } = await helper.request().get('/seganet/metrics').expect(200);
  expect(text).toMatch(/^seganet_forecast_values_total\{engine="engine",node="judge"\} 1$/m);
  expect(text).toMatch(/^seganet_forecast_refused_values_total\{engine="engine",node="judge"\} 1$/m);
  expect(text).toMatch(/^seganet_forecast_series\{engine="engine",node="judge"\} 1$/m);
});

test('is red with a sentence while a setting is wrong, and takes no records', async () => {
  await load(seenFlow({ periodS: '3' }), {}, [forecast, real]);
  expect(errors().join(' ')).toMatch(/A season of 3 s cannot have 4 slots/);
  const { plan } = helper.getNode('engine').host;
  expect(plan.routes.get('in').shut).toMatchObject({ shown: expect.stringContaining('wrong setting') });
});

test('learns what a series node of the flow has stored, and is trusted at once', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-forecast-'));
  try {
    const kept = { engine: undefined, folder: path.join(folder, 'series') };
    const flow = (/** @type {object[]} */ ...more) => [
      tab,
      { ...engine, workers: '1', logDir: path.join(folder, 'log') },
      node('kept', 'seganet-series', kept),
      ...more
    ];
    const minutes = { path: '$.t', periodS: '240', slots: '4' };
    await load(flow(), {}, [series, forecast, real]);
    const now = Math.floor(Date.now() / 60000);
    for (let slot = now - 40; slot < now; slot++) {
      const { payload } = record(slot);
      const msg = { deviceId: 'd', topic: 'x', ts: slot * 60000 + 1, payload };
      expect(await outcomeOf('kept', msg)).toBeUndefined();
    }
    await helper.unload();
    const judge = node('judge', 'seganet-forecast', { ...season, ...minutes }, 'seen');
    await load(flow(node('in', 'ingest', {}, 'judge'), judge, node('seen', 'helper')), {}, [
      series,
      forecast,
      real
    ]);
    const seen = inbox('seen');
    const { host } = helper.getNode('engine');
    const counters = () => host.snapshot().stages.find(({ forecast: own }) => own)?.forecast;
    await until(() => counters()?.begun, 'the end of the history');
    expect(counters()).toMatchObject({ series: 1, points: 0 });
    helper.getNode('in').receive({ deviceId: 'd', topic: 'x', payload: { t: 500 } });
    await until(() => seen.length === 1, 'the message');
    expect(seen[0].forecast).toMatchObject({ trusted: true, anomaly: true });
    const { body } = await helper.request().get('/seganet/values?details=1').expect(200);
    expect(body.values[0].forecast).toMatchObject({
      node: 'judge',
      trusted: true,
      anomalies: [{ value: 500 }]
    });
    expect(errors()).toEqual([]);
  } finally {
    await helper.unload();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
