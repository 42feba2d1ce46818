'use strict';
// The status page on a port of its own, at a running gateway: the login of the editor, and nothing but the page.

const { viewLive } = require('../fixtures/gateway/live-viewer');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { cleanEnvironment, cleanUp, run, temporaryFolder, until } = require('./process');

jest.setTimeout(120000);
afterEach(cleanUp);

/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';

/** @param {Record<string, string>} env */
async function start(env) {
  const port = await freePort();
  const gateway = run(process.execPath, ['flows/launcher/start.js'], {
    env: cleanEnvironment({
      SEGANET_HOME: `${temporaryFolder()}/home`,
      SEGANET_GATEWAY_ID: 'demo',
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: '0',
      SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
      SEGANET_STATUS_PORT: String(port),
      ...env
    })
  });
  return { gateway, url: `http://127.0.0.1:${port}/` };
}

test('has the page, its figures behind the login of the editor, and not the editor', async () => {
  const scraper = 'f00d'.repeat(16);
  const { gateway, url } = await start({
    SEGANET_ADMIN_USER: 'admin',
    SEGANET_ADMIN_PASSWORD_HASH: HASH,
    SEGANET_METRICS_TOKEN: scraper
  });
  const [, editor] = await gateway.says(/editor: (\S+)/);
  await waitForPort(Number(new URL(url).port), '127.0.0.1', 20000);
  const page = await fetch(url);
  expect(page.url).toBe(`${url}seganet/`);
  expect(await page.text()).toContain('seganet-status');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  for (const file of ['seganet/main.mjs', 'seganet/status.css', 'seganet/texts.json', 'auth/login'])
    expect([file, (await fetch(url + file)).status]).toEqual([file, 200]);

  expect((await fetch(`${url}seganet/live`)).status).toBe(401);
  const form = { client_id: 'node-red-admin', grant_type: 'password', scope: 'seganet.read' };
  const logIn = (/** @type {string} */ password) =>
    fetch(`${url}auth/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, username: 'admin', password })
    });
  expect((await logIn('wrong')).status).toBe(403);
  const { access_token: token } = await (await logIn('scrape me')).json();
  const headers = { authorization: `Bearer ${token}` };
  const viewer = await viewLive(`${url}seganet/live`, headers);
  try {
    await until(() => viewer.newest, { what: 'a snapshot' });
    expect(viewer.newest).toMatchObject({ gateway: 'demo', engine: 'seganet-engine-1' });
  } finally {
    viewer.close();
  }
  // The token may read the dead letters, and not send them.
  const letters = `${url}seganet/engines/seganet-engine-1/dead-letters`;
  expect(await (await fetch(letters, { headers })).json()).toEqual({ letters: [], next: null });
  const post = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"all":true}'
  };
  const refusal = await fetch(letters, post);
  expect(refusal.status).toBe(403);
  expect((await refusal.json()).error).toMatch(/permission seganet\.write/);

  // Load balancers and Prometheus need no editor.
  const health = await fetch(`${url}seganet/healthz?draining=404`);
  expect([health.status, (await fetch(`${url}seganet/metrics`)).status]).toEqual([200, 401]);
  for (const given of [token, scraper]) {
    const answer = await fetch(`${url}seganet/metrics`, { headers: { authorization: `Bearer ${given}` } });
    expect(await answer.text()).toMatch(/^seganet_engine_up/m);
  }
  const byScraper = { headers: { authorization: `Bearer ${scraper}` } };
  expect((await fetch(`${editor}flows`, byScraper)).status).toBe(401);
  expect((await fetch(letters, { ...post, headers: { ...post.headers, ...byScraper.headers } })).status).toBe(
    403
  );
  const wrong = { headers: { authorization: `Bearer ${scraper}0` } };
  expect((await fetch(`${url}seganet/metrics`, wrong)).status).toBe(401);

  for (const path of ['flows', 'settings', 'nodes', 'seganet/engines/seganet-engine-1/stats']) {
    expect([path, (await fetch(url + path, { headers })).status]).toEqual([path, 404]);
    expect([path, (await fetch(editor + path, { headers })).status]).not.toEqual([path, 404]);
  }
});

test('reports a port that another program has, and the gateway works', async () => {
  const net = require('node:net');
  const other = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = /** @type {net.AddressInfo} */ (other.address());
  try {
    const { gateway } = await start({ SEGANET_STATUS_PORT: String(port) });
    await gateway.says(/no port of its own .*Another program uses it/);
    await gateway.says(/editor: (\S+)/);
  } finally {
    other.close();
  }
});
