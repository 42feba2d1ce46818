'use strict';
// The live stream and the page of a running gateway: its figures are those of real devices and a real broker, and they
// need the login.

const path = require('node:path');
const { viewLive } = require('../fixtures/gateway/live-viewer');
const { startFlow } = require('../fixtures/gateway/deployed');
const { connectDevice, receive } = require('../fixtures/devices/device');
const { startCloud } = require('../../bench/harness/cloud');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { run, until, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

jest.setTimeout(90000);

describe('the live stream of a gateway with devices and a broker', () => {
  const { test: withMosquitto } = needs('mosquitto');
  const place = { z: 'tab', x: 0, y: 0 };
  /** @type {(() => unknown)[]} */
  const cleanups = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  withMosquitto(
    'shows the records that devices published and the cloud has, by class, node and device',
    async () => {
      const cloud = await startCloud();
      cleanups.push(() => cloud.close());
      const port = await freePort();
      const gateway = await startFlow([
        { id: 'tab', type: 'tab', label: 'live' },
        { id: 'gw', type: 'seganet-engine', name: 'hall', workers: '1', acknowledge: 'safe' },
        { id: 'broker', type: 'seganet-uplink-broker', url: `mqtt://127.0.0.1:${cloud.plainPort}` },
        {
          ...place,
          id: 'in',
          type: 'seganet-mqtt-devices',
          name: 'sensors',
          engine: 'gw',
          port: String(port),
          wires: [['rank']]
        },
        {
          ...place,
          id: 'rank',
          type: 'seganet-priority',
          engine: 'gw',
          rules: [{ topic: 'alarm', class: 1 }],
          wires: [['out', 'debug']]
        },
        { ...place, id: 'out', type: 'seganet-uplink', engine: 'gw', broker: 'broker', wires: [] },
        { ...place, id: 'debug', type: 'debug', active: false, wires: [] }
      ]);
      cleanups.push(() => gateway.stop());
      await waitForPort(port, '127.0.0.1', 20000);
      const receiver = await receive(cloud, '#');
      cleanups.push(() => receiver.close());
      const device = await connectDevice({ url: `mqtt://127.0.0.1:${port}` }, 'pump-7');
      cleanups.push(() => device.endAsync(true));
      for (let number = 0; number < 200; number++)
        await device.publishAsync('level', `${number}`, { qos: 1 });
      for (let number = 0; number < 30; number++) await device.publishAsync('alarm', `${number}`, { qos: 1 });
      await until(() => receiver.arrivals.length >= 230, { what: 'the records in the cloud' });

      const viewer = await viewLive(`http://127.0.0.1:${gateway.adminPort}/seganet/live?q=PUMP`);
      cleanups.push(() => viewer.close());
      await until(
        () => viewer.newest?.summary?.delivered >= 230 && viewer.newest.devicePage.rows[0]?.records >= 230
      );
      const { newest } = viewer;
      const history = viewer.events.find(({ event }) => event === 'history')?.data;
      expect(history).toMatchObject({ engine: 'gw', stepS: 60, series: { received: [], busy: [] } });
      expect(newest).toMatchObject({
        gateway: 'gw-test',
        engine: 'gw',
        engines: [{ id: 'gw', name: 'hall', running: true, reason: '' }],
        summary: { devices: 1, received: 230, delivered: 230, dropped: 0, slowedFrom: 0, waitsFor: '' },
        log: { state: 'ready', dead: 0 },
        devicePage: {
          known: 1,
          found: 1,
          rows: [
            {
              device: 'pump-7',
              name: 'sensors',
              protocol: 'mqtt',
              connected: true,
              class: 1,
              records: 230,
              worker: 0
            }
          ]
        }
      });
      const byClass = Object.fromEntries(
        newest.classes.map((/** @type {any} */ row) => [row.class, row.delivered])
      );
      expect(byClass).toEqual({ 1: 30, 2: 0, 3: 200, 4: 0 });
      const { sealed, reasons } = newest.batches;
      expect([sealed, reasons.single]).toEqual([230, 230]);
      expect(newest.nodes).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ id: 'in', kind: 'source', protocol: 'mqtt', port, carriage: 'native' }),
          expect.objectContaining({
            id: 'rank',
            carriage: 'both',
            wires: [
              { to: 'out', carriage: 'native', reason: '' },
              { to: 'debug', carriage: 'message', reason: expect.any(String) }
            ]
          })
        ])
      );
      const [{ sessions, state, window }] = newest.uplinks;
      expect([state, window]).toEqual(['connected', 32]);
      expect(sessions.map((/** @type {any} */ session) => session.state)).toEqual(['connected', 'connected']);

      // The rates are those of the second before.
      const timer = setInterval(() => device.publish('level', 'x', { qos: 1 }), 20);
      try {
        await until(() => {
          const { summary, nodes } = viewer.newest;
          const rank = nodes.find((/** @type {any} */ node) => node.id === 'rank');
          return (
            summary.receivedPerS > 20 && summary.receivedPerS < 60 && rank.outPerS > 20 && rank.outPerS < 60
          );
        });
      } finally {
        clearInterval(timer);
      }

      // An outage shows as a state with its reason in words, and the records that wait.
      await receiver.close();
      await cloud.close();
      await until(
        () =>
          viewer.newest.uplinks[0].state === 'disconnected' ||
          viewer.newest.uplinks[0].state === 'reconnecting'
      );
      for (let number = 0; number < 20; number++) await device.publishAsync('level', 'kept', { qos: 1 });
      await until(() => viewer.newest.classes[2].waiting === 20);
      await until(() => /\w+ .*\./.test(viewer.newest.uplinks[0].reason), {
        what: () => JSON.stringify(viewer.newest.uplinks[0])
      });

      // An open stream does not hold up the stop.
      await device.endAsync(true);
      expect(await gateway.stop()).toMatchObject({ code: 0 });
      await until(() => viewer.ended);
      cleanups.splice(0);
    }
  );
});

describe('the login', () => {
  /** Of the password "scrape me". */
  const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
  /** @type {string} */
  let editor;

  beforeAll(async () => {
    const gateway = run(process.execPath, ['flows/launcher/start.js'], {
      env: cleanEnvironment({
        SEGANET_HOME: path.join(temporaryFolder(), 'home'),
        SEGANET_MQTT_PORT: '0',
        SEGANET_EDITOR_PORT: '0',
        SEGANET_WORKERS: '1',
        SEGANET_UPLINK_URL: 'mqtts://127.0.0.1:1',
        SEGANET_ADMIN_USER: 'admin',
        SEGANET_ADMIN_PASSWORD_HASH: HASH
      })
    });
    [, editor] = await gateway.says(/editor: (http:\/\/127\.0\.0\.1:\d+\/)/);
  });
  afterAll(cleanUp);

  /** @param {string} scope @returns {Promise<Record<string, string>>} */
  async function bearer(scope) {
    const login = { client_id: 'node-red-admin', grant_type: 'password', scope, username: 'admin' };
    const answer = await fetch(`${editor}auth/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...login, password: 'scrape me' })
    });
    return { authorization: `Bearer ${(await answer.json()).access_token}` };
  }

  test('is needed for the stream, for which permission to read the gateway is enough', async () => {
    const status = async (/** @type {Record<string, string>} */ headers) => {
      const viewer = await viewLive(`${editor}seganet/live`, headers);
      viewer.close();
      return viewer.status;
    };
    expect(await status({})).toBe(401);
    expect(await status({ authorization: 'Bearer nonsense' })).toBe(401);
    expect(await status(await bearer('flows.write'))).toBe(401);
    expect(await status(await bearer('seganet.read'))).toBe(200);
    // It opens nothing else.
    const { status: flows } = await fetch(`${editor}flows`, { headers: await bearer('seganet.read') });
    expect(flows).toBe(401);
  });

  test('is not needed for the files of the page, which contain no data', async () => {
    for (const name of ['', 'main.mjs', 'status.css', 'texts.json']) {
      const response = await fetch(`${editor}seganet/${name}`);
      expect([name, response.status]).toEqual([name, 200]);
      expect(response.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'/
      );
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
    const bare = await fetch(`${editor}seganet`, { redirect: 'manual' });
    expect([bare.status, bare.headers.get('location')]).toEqual([302, 'seganet/']);
    for (const name of ['page-files.js', '..%2findex.js', 'nothing.mjs'])
      expect([401, 404]).toContain((await fetch(`${editor}seganet/${name}`)).status);
  });

  test('answers a wrong query with the reason', async () => {
    const headers = await bearer('seganet.read');
    const response = await fetch(`${editor}seganet/live?sort=x`, { headers });
    expect(response.status).toBe(400);
    expect((await response.json()).error).toMatch(/^sort must be one of device,/);
  });
});
