'use strict';

// The health of a running gateway, as a service manager or a load balancer asks for it.

const fs = require('fs');
const http = require('http');
const net = require('net');
const path = require('path');
const mqtt = require('mqtt');
const { ScriptedBroker } = require('../fixtures/uplink/scripted-broker');
const { LOGIN, startGateway } = require('./gateway');
const { run, until, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');
const { PATIENCE } = require('../../bench/harness/patience');

/** @type {(() => unknown)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await cleanUp();
});

/** @param {string} url */
async function get(url) {
  const response = await fetch(url);
  const { headers, status } = response;
  expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([
    'application/json',
    'no-store'
  ]);
  return { status, ...(await response.json()) };
}

/** @param {string} url @param {(body: any) => boolean} is @returns {Promise<any>} the body that `is` */
async function answers(url, is) {
  let last = {};
  return until(
    async () => {
      last = await get(url);
      return is(last) ? last : null;
    },
    { within: 40000, what: () => `the answer; the last was ${JSON.stringify(last)}` }
  );
}

/** @param {import('../fixtures/uplink/scripted-broker').Manners} [manners] */
async function startBroker(manners) {
  const broker = await ScriptedBroker.start(manners);
  ends.push(() => broker.close());
  return broker;
}

/** @param {{ says: (text: RegExp) => Promise<RegExpExecArray> }} gateway */
async function connectDevice(gateway) {
  const [, port] = await gateway.says(/MQTT listener on port (\d+)/);
  const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'secret-device' });
  ends.push(() => device.endAsync(true));
  return device;
}

test('distinguishes connected, stalled and disconnected, and reveals no names', async () => {
  let puback = -1;
  const broker = await startBroker({ puback: () => puback });
  const url = `mqtt://127.0.0.1:${broker.port}`;
  const { editor, gateway } = await startGateway({ SEGANET_UPLINK_URL: url, ...LOGIN });
  const ready = `${editor}seganet/readyz`;

  const connected = await answers(ready, ({ ok }) => ok);
  expect(connected).toEqual({
    status: 200,
    ok: true,
    reason: '',
    checks: {
      flows: { ok: true, reason: '' },
      listeners: { ok: true, reason: '', open: 1, count: 1 },
      log: { ok: true, reason: '', state: 'ready' },
      uplink: expect.objectContaining({ ok: true, state: 'connected' })
    }
  });

  const device = await connectDevice(gateway);
  // Acknowledged when the cloud has it, or when the log has it because the uplink stalls.
  const published = device.publishAsync('d/secret-device/t', 'secret payload', { qos: 1 });
  const stalled = await answers(ready, ({ checks }) => checks.uplink.state === 'stalled');
  expect(stalled).toMatchObject({
    status: 503,
    ok: false,
    reason: expect.stringMatching(
      /^The uplink is stalled: it is connected, but the broker has not acknowledged the oldest record for \d+ s\.$/
    ),
    checks: { flows: { ok: true }, listeners: { ok: true }, log: { ok: true } }
  });
  expect(await get(`${ready}?exclude=uplink`)).toMatchObject({ status: 200, ok: true });
  const live = await get(`${editor}seganet/healthz`);
  expect(live).toMatchObject({
    status: 200,
    ok: true,
    checks: { workers: { count: 1 }, threads: { count: 2 } }
  });

  puback = 0;
  await broker.close();
  const down = await answers(ready, ({ checks }) => !['stalled', 'connected'].includes(checks.uplink.state));
  expect(down).toMatchObject({ status: 503, reason: expect.stringMatching(/^The uplink is (not )?connect/) });
  expect((await get(`${editor}seganet/healthz`)).status).toBe(200);
  await broker.listen();
  await answers(ready, ({ ok }) => ok);
  await published;

  // Without a login nobody learns who the devices, the gateway and the cloud are.
  const told = JSON.stringify([connected, stalled, live, down]);
  expect(told).not.toMatch(new RegExp(`secret|gw-test|127\\.0\\.0\\.1|${broker.port}|seganet-|/tmp`));
  expect((await fetch(`${editor}seganet/metrics`)).status).toBe(401);
}, 150000);

test('says which log, listener or engine is not there', async () => {
  const broker = await startBroker();
  const url = `mqtt://127.0.0.1:${broker.port}`;
  const logs = path.join(temporaryFolder(), 'log');
  const first = await startGateway({ SEGANET_UPLINK_URL: url, SEGANET_LOG_DIR: logs });
  await answers(`${first.editor}seganet/readyz`, ({ ok }) => ok);
  const [, port] = await first.gateway.says(/MQTT listener on port (\d+)/);
  // The same folder and the same port: it gets neither.
  const second = await startGateway({
    SEGANET_UPLINK_URL: url,
    SEGANET_LOG_DIR: logs,
    SEGANET_MQTT_PORT: port,
    SEGANET_GATEWAY_ID: 'gw-second'
  });
  const body = await answers(
    `${second.editor}seganet/readyz`,
    ({ checks }) => checks.flows.ok && checks.uplink.ok && checks.log.state === 'log in use'
  );
  expect(body).toMatchObject({
    status: 503,
    reason: '1 of 1 nodes do not accept devices: see their status.',
    checks: {
      listeners: { ok: false, open: 0, count: 1 },
      log: { ok: false, reason: 'A log cannot be written: log in use.' }
    }
  });
  expect(await get(`${second.editor}seganet/readyz?exclude=listeners`)).toMatchObject({
    status: 503,
    reason: 'A log cannot be written: log in use.'
  });
  expect(await get(`${second.editor}seganet/readyz?exclude=listeners,log`)).toMatchObject({ status: 200 });
  expect(await get(`${second.editor}seganet/readyz?exclude=nothing`)).toEqual({
    status: 400,
    error: 'exclude must name checks: flows, standby, listeners, log, replicas, uplink.'
  });

  // A flow without an engine.
  const removed = await fetch(`${second.editor}flows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '[]'
  });
  expect(removed.status).toBe(204);
  const empty = await answers(`${second.editor}seganet/readyz`, ({ checks }) => !checks.flows.ok);
  expect(empty).toMatchObject({ status: 503, reason: 'The flow has no enabled engine.' });
  expect((await get(`${second.editor}seganet/healthz`)).status).toBe(200);
}, 150000);

/** @param {string} editor @param {string} text of a request */
function raw(editor, text) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(new URL(editor).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (bytes) => (answer += bytes));
    socket.on('close', () => resolve(answer.split('\r\n')[0]));
    socket.on('error', reject);
    socket.write(text);
  });
}

test('answers hostile requests and many at once, and serves its devices meanwhile', async () => {
  const broker = await startBroker();
  const { editor, gateway } = await startGateway({ SEGANET_UPLINK_URL: `mqtt://127.0.0.1:${broker.port}` });
  await answers(`${editor}seganet/readyz`, ({ ok }) => ok);
  const device = await connectDevice(gateway);
  const pages = ['seganet/healthz', 'seganet/readyz', 'seganet/metrics'];
  for (const page of pages) {
    const head = await fetch(`${editor}${page}`, { method: 'HEAD' });
    expect([page, head.status, await head.text()]).toEqual([page, 200, '']);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect([page, method, (await fetch(`${editor}${page}`, { method, body: 'x' })).status]).toEqual([
        page,
        method,
        404
      ]);
    }
    expect(
      await raw(
        editor,
        `GET /${page}/${'a'.repeat(20000)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
      )
    ).toMatch(/ 431 /);
    expect(
      await raw(
        editor,
        `GET /${page}/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
      )
    ).toMatch(/ 40[04] /);
    expect(
      await raw(editor, `GET /${page}\0 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    ).toMatch(/ 400 /);
    expect(
      await raw(editor, `GET /${page} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`)
    ).toMatch(/ 403 /);
  }
  for (const query of [
    `exclude=${'log,'.repeat(1000)}`,
    'exclude[]=log&exclude[a]=b',
    'exclude=%00',
    'exclude=__proto__'
  ]) {
    expect([query, (await fetch(`${editor}seganet/readyz?${query}`)).status]).toEqual([query, 400]);
  }
  const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });
  ends.push(() => agent.destroy());
  const ask = (/** @type {string} */ page) =>
    new Promise((resolve, reject) => {
      http
        .get(`${editor}${page}`, { agent }, (response) =>
          response.resume().on('end', () => resolve(response.statusCode))
        )
        .on('error', reject);
    });
  const asked = Array.from({ length: 1500 }, (_, i) => ask(pages[i % pages.length]));
  const published = Array.from({ length: 200 }, (_, i) =>
    device.publishAsync('d/x/t', String(i), { qos: 1 })
  );
  await Promise.all(published);
  expect(new Set(await Promise.all(asked))).toEqual(new Set([200]));
  await until(() => broker.received.length >= 1, { what: 'records in the cloud' });
}, 150000);

test('reports an engine that cannot start', async () => {
  const home = temporaryFolder();
  const flow = JSON.parse(fs.readFileSync(path.join(__dirname, '../../flows/gateway.json'), 'utf8'));
  const engine = flow.find((/** @type {any} */ { type }) => type === 'seganet-engine');
  engine.cpus = '9999';
  fs.chmodSync(home, 0o700);
  fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify(flow), { mode: 0o600 });
  const { editor } = await startGateway({ SEGANET_HOME: home, SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1' });
  const body = await answers(`${editor}seganet/readyz`, ({ checks }) =>
    /not running/.test(checks.flows.reason)
  );
  expect(body).toMatchObject({ status: 503, reason: '1 of 1 engines are not running: see their status.' });
}, 120000);

test('lets a container ask: with the editor, without it, and when nothing runs', async () => {
  const check = async (/** @type {Record<string, string>} */ env) => {
    const { code, output } = await run(process.execPath, ['flows/launcher/health.js'], {
      env: cleanEnvironment(env)
    }).ended;
    return [code, output];
  };
  const { editor, gateway } = await startGateway({ SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1', ...LOGIN });
  const [, devices] = await gateway.says(/MQTT listener on port (\d+)/);
  // The cloud is away, which is no reason to restart the gateway.
  expect(await check({ SEGANET_EDITOR_PORT: new URL(editor).port })).toEqual([0, 'healthy\n']);
  const off = { SEGANET_EDITOR_PORT: 'off', SEGANET_MQTT_PORT: devices, SEGANET_DEVICE_HOST: '0.0.0.0' };
  expect(await check(off)).toEqual([0, expect.stringMatching(/^The port for devices is open\. No editor/)]);
  gateway.child.kill('SIGTERM');
  await gateway.ended;
  expect(await check(off)).toEqual([
    1,
    expect.stringMatching(/^The port for devices is not open: .*ECONNREFUSED/)
  ]);
  expect(await check({ SEGANET_EDITOR_PORT: new URL(editor).port })).toEqual([
    1,
    expect.stringMatching(/^The gateway does not answer: .*ECONNREFUSED/)
  ]);
  const other = http.createServer((_request, response) => response.writeHead(404).end('<html>'));
  await new Promise((resolve) => other.listen(0, '127.0.0.1', () => resolve(null)));
  ends.push(() => other.close());
  const { port } = /** @type {net.AddressInfo} */ (other.address());
  expect(await check({ SEGANET_EDITOR_PORT: String(port) })).toEqual([1, 'The editor answers 404.\n']);
}, 120000);

test('sends its heartbeat to the cloud as a record, also for the time of an outage', async () => {
  const broker = await startBroker();
  const { editor } = await startGateway({ SEGANET_UPLINK_URL: `mqtt://127.0.0.1:${broker.port}` });
  await answers(`${editor}seganet/readyz`, ({ ok }) => ok);
  const flow = await (await fetch(`${editor}flows`)).json();
  const uplink = flow.find((/** @type {any} */ { type }) => type === 'seganet-uplink');
  const place = { z: 'seganet-tab', engine: 'seganet-engine-1', x: 100, y: 400 };
  const heartbeat = [
    {
      ...place,
      id: 'beat',
      type: 'seganet-stats',
      intervalS: '1',
      content: 'heartbeat',
      agents: 'off',
      wires: [['own']]
    },
    {
      ...place,
      id: 'own',
      type: 'seganet-ingest',
      deviceId: 'gateway',
      deviceIdType: 'str',
      class: '4',
      wires: [[uplink.id]]
    }
  ];
  const deployed = await fetch(`${editor}flows`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'Node-RED-Deployment-Type': 'nodes' },
    body: JSON.stringify([...flow, ...heartbeat])
  });
  expect(deployed.status).toBe(204);
  const beats = () =>
    broker.received
      .filter(({ topic }) => topic === 'heartbeat')
      .map(({ payload }) => JSON.parse(payload.toString()))
      .sort((a, b) => a.ts - b.ts);
  const first = await until(() => beats().at(-1), { what: 'a heartbeat' });
  expect(first).toMatchObject({
    gateway: 'gw-test',
    ok: true,
    reason: '',
    uplink: 'connected',
    log: { state: 'ready' }
  });

  await broker.close();
  await answers(`${editor}seganet/readyz`, ({ ok }) => !ok);
  const from = Date.now();
  await until(() => Date.now() - from > 3000, { what: 'heartbeats in the outage' });
  await broker.listen();
  const sick = await until(() => beats().find(({ ok }) => !ok), { what: 'a heartbeat of the outage' });
  expect(sick).toMatchObject({
    uplink: expect.stringMatching(/connecting|disconnected/),
    lastProblem: { ts: expect.any(Number) }
  });
  expect(Math.abs(sick.lastProblem.ts - sick.ts)).toBeLessThan(1000 * PATIENCE);
  const healthy = await until(() => beats().find(({ ok, ts }) => ok && ts > sick.ts), {
    what: 'a later heartbeat'
  });
  expect(healthy.lastProblem).toEqual({
    ts: expect.any(Number),
    reason: expect.stringMatching(/^The uplink is/)
  });
  // None of the outage is missing.
  const times = beats().map(({ ts }) => ts);
  const gaps = times.slice(1).map((ts, i) => ts - times[i]);
  expect(Math.max(...gaps)).toBeLessThan(3000 * PATIENCE);
}, 150000);
