'use strict';

// npm start as a user runs it: a real process, the demo cloud and its fleet, signals.

const palette = require('../../package.json')['node-red'].nodes;
const fs = require('fs');
const path = require('path');
const mqtt = require('mqtt');
const { cacheFolder } = require('../../native/node/fetch-node');
const {
  run,
  until,
  temporaryFolder,
  cleanEnvironment,
  childrenOf,
  isAlive,
  accepts,
  cleanUp
} = require('./process');

afterEach(cleanUp);

/** The launcher's cache for its Node if npm's is too old: irrelevant in these tests. */
const CACHE = cacheFolder(process.env);

/** @typedef {ReturnType<typeof run>} Run */

/** @param {Record<string, string>} [env] @param {string[]} [args] @param {string} [command] */
function startGateway(env, args = ['flows/launcher/start.js'], command = process.execPath) {
  const home = path.join(temporaryFolder(), 'home');
  const gateway = run(command, args, {
    env: cleanEnvironment({
      SEGANET_HOME: home,
      SEGANET_GATEWAY_ID: 'gw-test',
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: '0',
      SEGANET_WORKERS: '1',
      ...env
    })
  });
  return Object.assign(gateway, { home });
}

/** @param {Run} gateway */
async function editorOf(gateway) {
  return (await gateway.says(/editor: (http:\/\/127\.0\.0\.1:\d+\/)/))[1];
}

/** @param {string} url @param {Record<string, string>} [headers] */
async function getJson(url, headers) {
  const response = await fetch(url, { headers: { accept: 'application/json', ...headers } });
  return { status: response.status, body: response.ok ? await response.json() : null };
}

/** @param {Run} gateway */
async function expectCleanEnd(gateway) {
  const { code, signal, output } = await gateway.ended;
  expect({ code, signal, output }).toMatchObject({ code: 0, signal: null });
  expect(output).not.toMatch(/^(error|warning)/m);
}

describe('npm start without an uplink', () => {
  test('runs the demo from devices to cloud, shows the flow, and SIGTERM ends all of it with code 0', async () => {
    const gateway = startGateway();
    const [, url, ca] = await gateway.says(/demo cloud: (mqtts:\S+) \(TLS 1\.3\), its CA is (\S+)/);
    const editor = await editorOf(gateway);
    await gateway.says(/devices: MQTT listener on port \d+/);
    await gateway.says(/uplink: connected/);
    await gateway.says(/demo fleet: 64 devices connected/);
    await gateway.says(/demo cloud: the first record has arrived, on gw\/gw-test\/(normal|critical)/);

    const { body: flow } = await getJson(`${editor}flows`);
    expect(flow.map((/** @type {{ type: string }} */ { type }) => type)).toEqual(
      expect.arrayContaining(['seganet-mqtt-devices', 'seganet-priority', 'seganet-batch', 'seganet-uplink'])
    );
    const { body: nodes } = await getJson(`${editor}nodes`);
    const own = nodes.filter((/** @type {any} */ { module }) => module === '@seganet/node-red-gateway');
    expect(own).toHaveLength(Object.keys(palette).length);
    expect(own.filter((/** @type {any} */ { err, enabled }) => err || !enabled)).toEqual([]);

    // A class 1 record overtakes on its own topic: the demo's rule makes alarms critical.
    const cloud = await mqtt.connectAsync(url, { ca: fs.readFileSync(ca), protocolVersion: 4 });
    await cloud.subscribeAsync('gw/gw-test/#');
    /** @type {Map<string, any>} */
    const seen = new Map();
    cloud.on('message', (topic, payload) => {
      const [first] = payload.toString().trimEnd().split('\n');
      seen.set(topic, JSON.parse(first));
    });
    await until(() => seen.has('gw/gw-test/critical') && seen.has('gw/gw-test/normal'), {
      what: 'records of both classes'
    });
    expect(seen.get('gw/gw-test/critical').t).toMatch(/^d\/dev-\d{4}\/alarm$/);
    expect(seen.get('gw/gw-test/normal')).toMatchObject({ d: expect.stringMatching(/^dev-/), c: 3 });
    await cloud.endAsync();

    const children = childrenOf(Number(gateway.child.pid));
    expect(children).toHaveLength(2);
    gateway.child.kill('SIGTERM');
    await expectCleanEnd(gateway);
    await until(() => !children.some(isAlive), { what: 'the end of the demo' });
  }, 60000);

  test('leaves no child behind after kill -9', async () => {
    const gateway = startGateway();
    await gateway.says(/demo fleet: 64 devices connected/);
    const children = childrenOf(Number(gateway.child.pid));
    gateway.child.kill('SIGKILL');
    await until(() => !children.some(isAlive), { what: 'the end of the demo' });
  }, 60000);

  test('ends the gateway with a launcher that is killed -9', async () => {
    const call = "require('./native/node/run.js').runWith(process.execPath, 'flows/launcher/start.js', [])";
    const launcher = startGateway({}, ['-e', call]);
    await launcher.says(/uplink: connected/);
    const [gateway] = childrenOf(Number(launcher.child.pid));
    launcher.child.kill('SIGKILL');
    await until(() => !isAlive(gateway), { what: 'the end of the gateway' });
  }, 60000);

  test('ends npm with code 0 on SIGTERM, and leaves nothing behind after kill -9 of npm', async () => {
    /** @type {[NodeJS.Signals, number | null][]} */
    const ends = [
      ['SIGTERM', 0],
      ['SIGKILL', null]
    ];
    for (const [signal, code] of ends) {
      const npm = startGateway({ SEGANET_CACHE: CACHE }, ['start'], 'npm');
      await npm.says(/uplink: connected/);
      const [port] = (await npm.says(/listener on port (\d+)/)).slice(1).map(Number);
      npm.child.kill(signal);
      expect((await npm.ended).code).toBe(code);
      await until(async () => !(await accepts(port)), { what: 'the end of the listener' });
    }
  }, 90000);

  test('counts one Ctrl-C that arrives several times as one', async () => {
    const gateway = startGateway();
    await gateway.says(/uplink: connected/);
    for (let i = 0; i < 3; i++) gateway.child.kill('SIGINT');
    await expectCleanEnd(gateway);
  }, 60000);
});

describe('npm start with an uplink', () => {
  // Nothing listens there: the tests check only that the gateway starts and reports its state.
  const uplink = { SEGANET_UPLINK_URL: 'mqtts://127.0.0.1:1' };

  test('starts no demo, says that the cloud cannot be reached, and ends on SIGTERM', async () => {
    const gateway = startGateway(uplink);
    await gateway.says(/devices: MQTT listener/);
    await gateway.says(/uplink: disconnected/);
    expect(childrenOf(Number(gateway.child.pid))).toEqual([]);
    expect(gateway.output).not.toContain('demo');
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toMatchObject({ code: 0, signal: null });
  }, 60000);

  test('runs no HTTP server at all with SEGANET_EDITOR_PORT=off', async () => {
    const gateway = startGateway({ ...uplink, SEGANET_EDITOR_PORT: 'off' });
    await gateway.says(/devices: MQTT listener/);
    expect(gateway.output).not.toContain('editor:');
    expect(await accepts(1880)).toBe(false);
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toMatchObject({ code: 0, signal: null });
  }, 60000);

  test('answers no page of another name in the editor, neither by HTTP nor by WebSocket', async () => {
    const gateway = startGateway(uplink);
    const editor = await editorOf(gateway);
    expect((await getJson(`${editor}flows`)).status).toBe(200);
    expect((await getJson(`${editor}flows`, { origin: 'http://evil.example' })).status).toBe(403);
    const open = (/** @type {string} */ origin) =>
      new Promise((resolve) => {
        const request = require('http').request(`${editor}comms`, {
          headers: {
            origin,
            connection: 'Upgrade',
            upgrade: 'websocket',
            'sec-websocket-version': '13',
            'sec-websocket-key': 'c2VnYW5ldC1nYXRld2F5IQ=='
          }
        });
        request.once('upgrade', (_, socket) => {
          socket.destroy();
          resolve('open');
        });
        request.once('error', () => resolve('closed'));
        request.end();
      });
    expect(await open(editor.slice(0, -1))).toBe('open');
    expect(await open('http://evil.example')).toBe('closed');
  }, 60000);

  test('asks for a login on every way in', async () => {
    const gateway = startGateway({
      ...uplink,
      SEGANET_ADMIN_USER: 'admin',
      SEGANET_ADMIN_PASSWORD_HASH: '$2b$08$wuAqPiKJlVN27eF5qJp.RuQYuy6ZYONW7a/UWYxDTtwKFCdB8F19y'
    });
    const editor = await editorOf(gateway);
    for (const route of ['flows', 'nodes', 'diagnostics', 'context/global', 'library/local/flows/']) {
      expect([route, (await getJson(`${editor}${route}`)).status]).toEqual([route, 401]);
    }
  }, 60000);

  test('ends the start with a sentence when the editor port is in use', async () => {
    const first = startGateway(uplink);
    const { port } = new URL(await editorOf(first));
    const second = startGateway({ ...uplink, SEGANET_EDITOR_PORT: port });
    const { code, output } = await second.ended;
    expect(code).toBe(1);
    expect(output).toMatch(/port in use/i);
  }, 60000);
});
