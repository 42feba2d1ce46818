'use strict';

// A running gateway as Prometheus sees it: its metrics, and the login that protects them.

const { parseMetrics } = require('../fixtures/gateway/prometheus');
const { clockSynchronized } = require('../../native');
const { documentedMetrics } = require('../fixtures/gateway/metrics-page');
const { LOGIN, startGateway } = require('./gateway');
const { until, cleanUp } = require('./process');

afterEach(cleanUp);

test('counts messages, shows sessions as connected, and counts their data', async () => {
  const { editor } = await startGateway();
  const scrape = async () => {
    const response = await fetch(`${editor}seganet/metrics`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8'
    ]);
    return parseMetrics(await response.text());
  };
  /** The sum over all labels. @param {Awaited<ReturnType<typeof scrape>>} families @param {string} name */
  const total = (families, name) =>
    (families.get(`seganet_${name}`)?.samples ?? []).reduce((sum, { value }) => sum + value, 0);
  /** @type {Awaited<ReturnType<typeof scrape>>} */
  let first = new Map();
  await until(
    async () => {
      first = await scrape();
      return total(first, 'records_delivered_total') > 0 && total(first, 'session_acked_bytes_total') > 0;
    },
    { what: 'delivered records' }
  );
  expect(total(first, 'engine_up')).toBe(1);
  expect(total(first, 'session_state')).toBe(2);
  expect(total(first, 'uplink_state')).toBe(1);
  expect(total(first, 'worker_silent_seconds')).toBeLessThan(5);
  expect(total(first, 'session_connected')).toBe(2);
  expect(total(first, 'session_connects_total')).toBe(2);
  expect(total(first, 'devices')).toBeGreaterThan(0);
  const grows = [
    'records_received_total',
    'records_delivered_total',
    'received_bytes_total',
    'session_acked_bytes_total'
  ];
  await until(
    async () => {
      const later = await scrape();
      return grows.every((name) => total(later, name) > total(first, name));
    },
    { what: 'growth' }
  );
}, 120000);

test('exposes what docs/reference/metrics.md documents, with these types and labels, and nothing else', async () => {
  const { editor } = await startGateway();
  const page = documentedMetrics();
  // A kernel that does not say.
  if (clockSynchronized() === null) page.delete('seganet_clock_synchronized');
  /** A value that is unknown for a moment has no sample, so several scrapes count. @type {Map<string, string>} */
  const shown = new Map();
  const missing = () => [...page].filter(([name, { isConditional }]) => !isConditional && !shown.has(name));
  await until(
    async () => {
      const families = parseMetrics(await (await fetch(`${editor}seganet/metrics`)).text());
      for (const [name, { type, samples }] of families) {
        const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
        shown.set(name, [type, ...[...labels].sort()].join(' '));
      }
      // The labels of a latency need a delivered record.
      return missing().length === 0 && shown.get('seganet_delivery_latency_seconds')?.includes('class');
    },
    { what: () => `these metrics, which the page has: ${missing().map(([name]) => name)}` }
  );
  const expected = [...page].filter(([name]) => shown.has(name));
  expect(Object.fromEntries(shown)).toEqual(
    Object.fromEntries(expected.map(([name, { type, labels }]) => [name, [type, ...labels].join(' ')]))
  );
}, 120000);

test('reads the metrics with a login and a token for reading, which cannot change anything', async () => {
  const { editor } = await startGateway({ SEGANET_UPLINK_URL: 'mqtts://127.0.0.1:1', ...LOGIN });
  const get = (/** @type {string} */ route, /** @type {Record<string, string>} */ headers = {}) =>
    fetch(`${editor}${route}`, { headers }).then(({ status }) => status);
  expect(await get('seganet/metrics')).toBe(401);
  expect(await get('seganet/overlay')).toBe(401);
  expect(await get('seganet/overlay/plant')).toBe(401);
  expect(await get('seganet/metrics', { authorization: 'Bearer nonsense' })).toBe(401);
  // As in docs/reference/metrics.md.
  const login = { client_id: 'node-red-admin', grant_type: 'password', scope: 'seganet.read' };
  const answer = await fetch(`${editor}auth/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...login, username: 'admin', password: 'scrape me' })
  });
  const { access_token: token } = await answer.json();
  const bearer = { authorization: `Bearer ${token}` };
  expect(await get('seganet/metrics', bearer)).toBe(200);
  expect(await get('seganet/overlay', bearer)).toBe(200);
  expect(await get('seganet/engines/seganet-engine-1/stats', bearer)).toBe(200);
  expect(await get('flows', bearer)).toBe(401);
}, 120000);
