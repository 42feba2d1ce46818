'use strict';
// GET /seganet/metrics, and the energy in the stats.

const {
  helper,
  tab,
  engine,
  broker,
  node,
  load,
  unload,
  until,
  engines,
  threads
} = require('./support/gateway');
const { parts } = require('./support/fake-parts');
const { replaceModules } = require('../../nodes/lib/engine/modules');
const { parseMetrics } = require('../fixtures/gateway/prometheus');

beforeAll(() => helper.startServer());
afterEach(() => unload());
afterAll(() => helper.stopServer());

const cloud = node('cloud', 'uplink', { broker: 'broker' });
const scrape = async () => {
  const { text, headers } = await helper.request().get('/seganet/metrics').expect(200);
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parseMetrics(text);
};
/** @param {Awaited<ReturnType<typeof scrape>>} families @param {string} name */
const rows = (families, name) =>
  (families.get(name)?.samples ?? []).map(({ labels, value }) => [labels.engine, value]);

test('answers for all engines at once, also one that cannot start', async () => {
  await load([
    tab,
    { ...engine, name: 'a "b"\n' },
    { ...engine, id: 'other', workers: 'many' },
    broker,
    cloud
  ]);
  const families = await scrape();
  expect(rows(families, 'seganet_engine_up')).toEqual([
    ['engine', 1],
    ['other', 0]
  ]);
  expect(families.get('seganet_engine_info')?.samples[0].labels).toEqual({
    engine: 'engine',
    name: 'a "b"\n',
    gateway: 'gw1'
  });
});

test('answers without an engine too, and omits one that is gone', async () => {
  await load([tab, engine]);
  await helper.clearFlows();
  await until(() => engines.length === 1);
  const names = [...(await scrape()).keys()];
  expect(names).toContain('seganet_build_info');
  expect(names.filter((name) => /engine_(up|info)/.test(name))).toEqual([]);
});

test("shows the machine's energy in the stats and in the metrics where it is known, and nowhere else", async () => {
  /** @type {any} */
  let view = null;
  const followed = [];
  class EnergyWatch {
    follow(bytes) {
      followed.push(bytes);
      return view;
    }
    stop() {
      followed.push('stop');
    }
  }
  await load([tab, engine, broker, cloud], {}, [() => replaceModules({ ...parts, energy: { EnergyWatch } })]);
  await until(() => threads.length === 1);
  const stats = async () =>
    (await helper.request().get('/seganet/engines/engine/stats').expect(200)).body.uplinks[0];
  threads[0].emit('state', { state: 'connected', bytesAcked: 5 });
  expect(await stats()).not.toHaveProperty('energy');
  expect((await scrape()).has('seganet_machine_power_watts')).toBe(false);
  view = { source: 'rapl psys', watts: 7, joulesPerMegabyte: 50 };
  threads[0].emit('state', { state: 'connected', bytesAcked: 6 });
  expect((await stats()).energy).toEqual(view);
  const families = await scrape();
  expect(families.get('seganet_machine_power_watts')?.samples[0].value).toBe(7);
  expect(rows(families, 'seganet_uplink_energy_joules_per_byte')).toEqual([['engine', 0.00005]]);
  view = null;
  threads[0].emit('state', { state: 'connected', bytesAcked: 7 });
  expect(await stats()).not.toHaveProperty('energy');
  expect(followed).toEqual([0, 5, 6, 7]);
  await unload();
  expect(followed.at(-1)).toBe('stop');
});
