'use strict';

// A running gateway as Prometheus sees it: its metrics, and the login that protects them.

const path = require('path');
const { parseMetrics } = require('../fixtures/gateway/prometheus');
const { run, until, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

afterEach(cleanUp);

/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';

/** @param {Record<string, string>} [env] @returns {Promise<string>} the address of its editor */
async function startGateway(env) {
  const gateway = run(process.execPath, ['flows/launcher/start.js'], {
    env: cleanEnvironment({
      SEGANET_HOME: path.join(temporaryFolder(), 'home'),
      SEGANET_GATEWAY_ID: 'gw-test',
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: '0',
      SEGANET_WORKERS: '1',
      ...env
    })
  });
  return (await gateway.says(/editor: (http:\/\/127\.0\.0\.1:\d+\/)/))[1];
}

test('counts messages, shows sessions as connected, and counts their data', async () => {
  const editor = await startGateway();
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
}, 60000);

test('reads the metrics with a login and a token for reading, which cannot change anything', async () => {
  const editor = await startGateway({
    SEGANET_UPLINK_URL: 'mqtts://127.0.0.1:1',
    SEGANET_ADMIN_USER: 'admin',
    SEGANET_ADMIN_PASSWORD_HASH: HASH
  });
  const get = (/** @type {string} */ route, /** @type {Record<string, string>} */ headers = {}) =>
    fetch(`${editor}${route}`, { headers }).then(({ status }) => status);
  expect(await get('seganet/metrics')).toBe(401);
  expect(await get('seganet/metrics', { authorization: 'Bearer nonsense' })).toBe(401);
  // As in docs/operations.md.
  const login = { client_id: 'node-red-admin', grant_type: 'password', scope: 'seganet.read' };
  const answer = await fetch(`${editor}auth/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...login, username: 'admin', password: 'scrape me' })
  });
  const { access_token: token } = await answer.json();
  const bearer = { authorization: `Bearer ${token}` };
  expect(await get('seganet/metrics', bearer)).toBe(200);
  expect(await get('seganet/engines/seganet-engine-1/stats', bearer)).toBe(200);
  expect(await get('flows', bearer)).toBe(401);
}, 60000);
