'use strict';
// Conditions and filters in the nodes, with the real engine: the result must not depend on how wires carry records.

const { helper, tab, engine, broker, node, load, inbox, until, errors, parts } = require('./support/gateway');
const { replaceModules } = require('../../nodes/lib/engine/modules');
const { native, Puller, lines } = require('./support/puller');

beforeAll(() => helper.startServer());
beforeEach(() => lines.splice(0));
afterEach(async () => {
  await helper.unload();
  replaceModules();
});
afterAll(() => helper.stopServer());

const batching = { minDevices: '0', maxBytes: '65536', maxDelayMs: '60000' };
const real = () => replaceModules({ native, uplink: { ...parts.uplink, UplinkThread: Puller } });

/** A path with these nodes between ingest and batch; `middle` = through a node that is not ours. */
function flowOf(fastPath, middle, ...between) {
  const ids = ['in', ...between.map(({ id }) => id), ...(middle ? ['middle'] : []), 'batch'];
  const wired = between.map((each, index) => ({ ...each, wires: [[ids[index + 2]]] }));
  return [
    tab,
    { ...engine, fastPath, workers: '2', acknowledge: 'received' },
    broker,
    node('in', 'ingest', {}, ids[1]),
    ...wired,
    node('middle', 'helper', {}, 'batch'),
    node('batch', 'batch', batching, 'cloud'),
    node('cloud', 'uplink', { broker: 'broker' })
  ];
}

/** Sends the records and one mark at the end of each device; returns what arrived without the marks. */
async function run(flow, records) {
  lines.splice(0);
  await load(flow, {}, [real]);
  const through = helper.getNode('middle');
  through.on('input', (msg) => through.send(msg));
  const devices = [...new Set(records.map(({ deviceId }) => deviceId))];
  for (const record of records) helper.getNode('in').receive({ ...record });
  for (const deviceId of devices) helper.getNode('in').receive({ deviceId, topic: 'end', payload: '"end"' });
  const { engine: running } = helper.getNode('engine').host;
  const isMark = ([, , topic]) => topic === 'end';
  await until(() => {
    running.flush(0);
    return lines.filter(isMark).length === devices.length;
  }, 'the marks of all devices');
  expect(errors()).toEqual([]);
  const filtered = running.stats().counters.recordsFiltered;
  const arrived = lines.filter((line) => !isMark(line));
  await helper.unload();
  return { filtered, arrived: arrived.map((line) => JSON.stringify(line)).sort() };
}

const ways = [
  ['auto', false],
  ['off', false],
  ['auto', true]
];

/** Random records; a failure can be repeated with the seed. */
function randomRecords(seed, count) {
  let state = seed;
  const below = (n) => (state = (state * 48271) % 2147483647) % n;
  const values = [0, 1, 2.5, -3, 80, 80.5, '80', 'alarm', 'al\narm', true, false, null, [1], { a: 1 }];
  const pick = () => values[below(values.length)];
  return Array.from({ length: count }, (_, i) => {
    const texts = ['not json', '{"a":', '21.5', '{"value":81,"value":79}', '{"st\\u0061te":"alarm"}'];
    const payloads = [
      { value: pick(), state: pick(), i },
      { value: { deep: [pick(), { temp: below(40) }] }, i },
      texts[below(texts.length)],
      Buffer.from([0xff, i & 0xff])
    ];
    const deviceId = `d${below(3)}`;
    return { deviceId, topic: below(2) ? 'alarm/x' : 't', payload: payloads[below(payloads.length)] };
  });
}

const seed = Date.now() % 2147483647;

test(`a condition gives the same class whichever way wires carry records (seed ${seed})`, async () => {
  const rules = [
    { topic: 'alarm/#', when: 'value > 80 or state == "alarm"', class: 1 },
    { device: 'd1', when: 'not exists(value) and $ != 21.5', class: 5 },
    { when: '$.value.deep[1].temp >= 30', class: 2 },
    { when: 'value == null or state == "al\\narm" or $ == 21.5', class: 6 },
    { topic: 't', class: 4 }
  ];
  const records = randomRecords(seed, 400);
  const results = [];
  for (const [fastPath, middle] of ways) {
    const rank = node('rank', 'priority', { rules });
    results.push(await run(flowOf(fastPath, middle, rank), records));
  }
  expect(results[0].arrived).toHaveLength(400);
  const classes = new Set(results[0].arrived.map((line) => JSON.parse(line)[0]));
  // A rule that few records fit may have none.
  expect(classes.size).toBeGreaterThanOrEqual(5);
  expect(results[1]).toEqual(results[0]);
  expect(results[2]).toEqual(results[0]);
});

const mark = 'or $ == "end"';
test.each([
  [{ mode: 'pass', when: `value > 2 ${mark}` }],
  [{ mode: 'block', when: 'value > 2 or $ == 21.5' }],
  [{ mode: 'change', path: 'value', band: '1' }],
  [{ mode: 'change', path: '$' }]
])(`a filter with %j passes the same records on every wire (seed ${seed})`, async (properties) => {
  const records = randomRecords(seed, 300);
  const results = [];
  for (const [fastPath, middle] of ways) {
    results.push(await run(flowOf(fastPath, middle, node('sift', 'filter', properties)), records));
  }
  const [{ arrived, filtered }] = results;
  expect(arrived.length + filtered).toBe(300);
  expect(arrived.length).toBeGreaterThan(0);
  // Values at random may never be the same twice.
  if (properties.mode !== 'change') expect(filtered).toBeGreaterThan(0);
  expect(results[1]).toEqual(results[0]);
  expect(results[2]).toEqual(results[0]);
});

test('a filter sends the records that pass to other nodes, and shows what it leaves out', async () => {
  const flow = [
    tab,
    { ...engine, workers: '1', acknowledge: 'received' },
    node('in', 'ingest', {}, 'sift'),
    node('sift', 'filter', { mode: 'range', path: 't', low: '0', high: '10' }, 'seen'),
    node('seen', 'helper')
  ];
  await load(flow, {}, [real]);
  const seen = inbox('seen');
  for (const t of [-1, 0, 5, 11]) helper.getNode('in').receive({ deviceId: 'd', topic: 'x', payload: { t } });
  await until(() => seen.length === 2);
  expect(seen.map(({ payload, deviceId }) => [String(payload), deviceId])).toEqual([
    ['{"t":0}', 'd'],
    ['{"t":5}', 'd']
  ]);
  const { host } = helper.getNode('engine');
  await until(() => host.engine.stats().counters.recordsFiltered === 2);
  expect(host.snapshot().filters).toEqual([{ nodeId: 'sift', filtered: 2 }]);
  const { text } = await helper.request().get('/seganet/metrics').expect(200);
  expect(text).toMatch(/^seganet_filter_records_total\{engine="engine",node="sift"\} 2$/m);
});

/** A filter with windows, and a helper that gets its records as messages. */
const windowFlow = (properties) => [
  tab,
  { ...engine, workers: '1', acknowledge: 'received' },
  node('in', 'ingest', {}, 'sift'),
  node('sift', 'filter', { mode: 'window', values: 't', aggregates: 'sum count', ...properties }, 'seen'),
  node('seen', 'helper')
];

test('a filter replaces the records of a window by one record, and ends it with msg.flush', async () => {
  await load(windowFlow({ windowS: '3600', windowClass: 'high' }), {}, [real]);
  const seen = inbox('seen');
  for (const t of [1, 2, 'on', 4])
    helper.getNode('in').receive({ deviceId: 'd', topic: 'x', payload: { t } });
  await until(() => seen.length === 1, 'the record without a number');
  expect(String(seen[0].payload)).toBe('{"t":"on"}');
  const { host } = helper.getNode('engine');
  await until(() => host.engine.stats().counters.recordsFiltered === 3);
  expect(host.engine.stats().openWindows).toBe(1);
  const { text } = await helper.request().get('/seganet/metrics').expect(200);
  expect(text).toMatch(/^seganet_windows_open\{engine="engine"\} 1$/m);
  helper.getNode('sift').receive({ flush: true });
  await until(() => seen.length === 2, 'the window');
  const { deviceId, topic, priority, seq, payload } = seen[1];
  expect({ deviceId, topic, priority, seq }).toEqual({ deviceId: 'd', topic: 'x', priority: 2, seq: 3 });
  const { from, to, ...window } = JSON.parse(String(payload));
  expect(window).toEqual({ records: 3, partial: true, values: { t: { sum: 7, count: 3 } } });
  expect(to - from).toBeGreaterThanOrEqual(0);
  expect(Math.abs(from - Date.now())).toBeLessThan(60000);
});

test('a window ends by time, at a whole second of the clock', async () => {
  await load(windowFlow({ windowS: '1', windowStart: 'clock' }), {}, [real]);
  const seen = inbox('seen');
  helper.getNode('in').receive({ deviceId: 'd', topic: 'x', payload: { t: 1 } });
  await until(() => seen.length === 1, 'the window');
  const { from, to, partial } = JSON.parse(String(seen[0].payload));
  expect([from % 1000, to - from, partial]).toEqual([0, 1000, undefined]);
});

test('a stop of the engine sends the windows that are open', async () => {
  const sift = node('sift', 'filter', { mode: 'window', values: 't', aggregates: 'sum', windowS: '3600' });
  await load(flowOf('auto', false, sift), {}, [real]);
  helper.getNode('in').receive({ deviceId: 'd', topic: 'x', payload: { t: 5 } });
  const { host } = helper.getNode('engine');
  await until(() => host.engine.stats().openWindows === 1, 'the window');
  await helper.unload();
  expect(lines.map(([, device, , , { partial, values }]) => [device, partial, values])).toEqual([
    ['d', true, { t: { sum: 5 } }]
  ]);
});

test('a filter with a wrong condition is red, and closes the sources that lead to it', async () => {
  const flow = [
    tab,
    { ...engine, workers: '1', acknowledge: 'received' },
    broker,
    node('in', 'ingest', {}, 'sift'),
    node('sift', 'filter', { mode: 'pass', when: 'value >' }, 'cloud'),
    node('cloud', 'uplink', { broker: 'broker' })
  ];
  await load(flow, {}, [real]);
  expect(errors()).toEqual([
    ['sift', 'The condition "value >" is invalid (column 8: expected a number or a string after >).'],
    ['in', expect.stringMatching(/"sift" in their path cannot take them/)]
  ]);
});
