'use strict';
// What the nodes report as events, and the HTTP endpoints of events.

const fs = require('node:fs');
const os = require('node:os');
const { join } = require('node:path');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');
const gateway = require('./support/gateway');
const { helper, tab, engine, broker, node, load, unload, engines, threads, stores } = gateway;

beforeAll(() => helper.startServer());
afterEach(() => unload());
afterAll(() => helper.stopServer());

const cloud = node('cloud', 'uplink', { broker: 'broker' });
const listener = node('dev', 'mqtt-devices', { name: 'hall', port: '1883', allowAnonymous: true }, 'cloud');
const flow = [
  tab,
  { ...engine, name: 'gw', watchDevices: 'pump*' },
  { ...broker, name: 'azure' },
  listener,
  cloud
];

/** Longer than the time between two looks at the gateway. */
const until = (condition, what = '') => eventually(condition, { timeoutMs: 8000, everyMs: 20, what });

/** @returns {Promise<any>} */
async function events(query = '') {
  const { body } = await helper.request().get(`/seganet/events${query}`).expect(200);
  return body;
}
/** Waits for an event that has these members. */
async function event(wanted) {
  let found;
  // The next look at the gateway, which may be three seconds away.
  engines.at(-1).ring();
  await until(async () => {
    found = (await events()).events.find((each) =>
      Object.entries(wanted).every(([name, value]) => each[name] === value)
    );
    return found;
  }, JSON.stringify(wanted));
  return found;
}
/** Resolves when the events of the newest engine count. */
const watched = () => until(() => helper.getNode('engine').host?.logins.onRefused.length === 1, 'the watch');
const post = (path, body = {}) => helper.request().post(path).send(body);

test('an uplink that is lost and back is one event, with the reason', async () => {
  await load(flow);
  await until(() => threads.length === 1);
  threads[0].emit('state', { state: 'disconnected', code: 'ECONNREFUSED', reason: '' });
  const lost = await event({ kind: 'uplink', until: null });
  expect(lost).toMatchObject({
    subject: 'azure',
    engine: 'engine',
    severity: 'error',
    count: 1,
    sentence: 'The uplink azure is not connected: ECONNREFUSED.'
  });
  // Neither up nor down.
  threads[0].emit('state', { state: 'connecting' });
  engines[0].events.push({ kind: 'disconnected', device: 'pump1', reason: 'keepAlive', stage: 1 });
  await event({ kind: 'device', subject: 'pump1', until: null });
  expect((await events('?open=yes')).events).toHaveLength(2);
  threads[0].emit('state', { state: 'connected' });
  engines[0].ring();
  await until(async () => (await events('?open=yes')).open === 1);
  engines[0].events.push({ kind: 'connected', device: 'pump1', reason: '', stage: 1 });
  engines[0].doorbell();
  await until(async () => (await events('?open=yes')).open === 0);
});

test('each move of an uplink with several URLs is an event, with where, whence and why', async () => {
  await load(flow);
  await watched();
  const state = { state: 'connected', url: 2, urls: [], failovers: 1, returns: 0 };
  const moved = {
    from: 'a:8883',
    to: 'b:8883',
    at: 1,
    code: 'CONNACK 135',
    reason: 'Refused.',
    isReturn: false
  };
  threads[0].emit('state', { ...state, moved });
  expect(await event({ kind: 'move' })).toMatchObject({
    subject: 'azure',
    severity: 'warning',
    until: expect.any(Number),
    sentence: 'The uplink azure moved to b:8883: a:8883 failed (Refused).'
  });
  threads[0].emit('state', { ...state, url: 1, returns: 1, moved: { ...moved, from: 'b:8883', to: 'a:8883', reason: '', isReturn: true } }); // prettier-ignore
  engines[0].ring();
  await until(async () =>
    (await events()).events.some(
      ({ sentence }) => sentence === 'The uplink azure returned to a:8883, which works again.'
    )
  );
});

test('reports silent devices that a glob names, refused logins by listener, drops by class, and a full disk', async () => {
  await load(flow);
  await watched();
  const [native] = engines;
  for (const device of ['pump7', 'other'])
    native.events.push({ kind: 'disconnected', device, reason: 'keepAlive', stage: 1 });
  native.events.push({ kind: 'disconnected', device: 'pump8', reason: 'closed', stage: 1 });
  native.stats = () => ({
    ...Object.getPrototypeOf(native).stats.call(native),
    drops: { logFull: [0, 0, 0, 12] }
  });
  stores[0].emit('state', { state: 'failing', code: 'ENOSPC', reason: 'The disk is full.' });
  const { host } = helper.getNode('engine');
  const [{ stage }] = host.members.filter(({ id }) => id === 'dev');
  for (let i = 0; i < 5; i++) host.logins.onRefused({ stage, address: `192.0.2.${i}:1` });
  expect(await event({ kind: 'login' })).toMatchObject({
    count: 5,
    sentence: 'Wrong logins of devices at hall, the latest from 192.0.2.4:1.'
  });
  expect(await event({ kind: 'drops' })).toMatchObject({ count: 12, subject: 'class 3: logFull' });
  expect(await event({ kind: 'log' })).toMatchObject({
    sentence: 'The log of gw is not written: disk full.'
  });
  const silent = (await events('?limit=200')).events.filter(({ kind }) => kind === 'device');
  expect(silent.map(({ subject }) => subject)).toEqual(['pump7']);
});

test('a wrong token at a listener is a wrong login, a missing one is not', async () => {
  const port = await freePort();
  const tokenFile = join(fs.mkdtempSync(join(os.tmpdir(), 'events-')), 'tokens');
  fs.writeFileSync(tokenFile, `pump:$sha256$${'0'.repeat(64)}:*`, { mode: 0o600 });
  const settings = { name: 'yard', port: String(port), login: 'tokens', tokenFile };
  await load([...flow, node('http', 'http-devices', settings, 'cloud')]);
  await watched();
  helper.getNode('engine').host.upkeep.tick();
  await waitForPort(port);
  const send = (/** @type {object} */ headers) =>
    fetch(`http://127.0.0.1:${port}/r/pump/t`, { method: 'POST', body: '1', headers });
  expect((await send({})).status).toBe(401);
  for (let i = 0; i < 3; i++) expect((await send({ authorization: 'Bearer guess' })).status).toBe(401);
  expect(await event({ kind: 'login' })).toMatchObject({
    count: 3,
    sentence: expect.stringMatching(/^Wrong logins of devices at yard, the latest from 127\.0\.0\.1:\d+\.$/)
  });
});

test('a certificate of a broker that ends soon is an event until a connection has another one', async () => {
  const DAY = 86_400_000;
  const session = (/** @type {number} */ days) => ({
    classes: [1],
    state: 'connected',
    certificateEnds: days === 0 ? 0 : Date.now() + days * DAY
  });
  const connected = (/** @type {number[]} */ ...days) => ({
    state: 'connected',
    sessions: days.map(session)
  });
  await load(flow);
  await until(() => threads.length === 1);
  threads[0].emit('state', connected(30, 13));
  const found = await event({ kind: 'certificate', until: null });
  expect(found).toMatchObject({
    subject: 'azure',
    engine: 'engine',
    severity: 'warning',
    sentence: expect.stringMatching(
      /^The certificate of the broker of the uplink azure ends on \d{4}-\d\d-\d\d\.$/
    )
  });
  threads[0].emit('state', connected(-1, 13));
  expect(await event({ kind: 'certificate', severity: 'error' })).toMatchObject({ id: found.id, count: 1 });
  // Not known again after a restart, until the broker was reached.
  threads[0].emit('state', {
    state: 'disconnected',
    code: 'ECONNREFUSED',
    reason: '',
    sessions: [{ ...session(0), state: 'disconnected' }]
  });
  await event({ kind: 'uplink', until: null });
  expect(await event({ kind: 'certificate' })).toMatchObject({ id: found.id, until: null });
  threads[0].emit('state', connected(60, 60));
  await until(async () => (engines[0].ring(), (await events('?open=yes')).open === 0));
});

test('an engine that cannot start is an event', async () => {
  await load([tab, { ...engine, workers: 'many' }]);
  await until(async () =>
    (await events()).events.some(({ kind, until: end }) => kind === 'engine' && end === null)
  );
});

test('acknowledges an event, and writes down who did', async () => {
  await load(flow);
  const { id } = await event({ kind: 'restart' });
  expect((await post(`/seganet/events/${id}/acknowledge`).expect(200)).body.acknowledged.by).toBe('');
  expect((await events()).events[0].acknowledged).toMatchObject({ at: expect.any(Number) });
  await helper.request().post(`/seganet/events/${id}/acknowledge`).type('form').send('a=b').expect(400);
  await post('/seganet/events/4711/acknowledge').expect(404);
  const { body } = await helper.request().get('/seganet/audit').expect(200);
  expect(body.lines[0]).toMatchObject({ what: 'seganet.events.acknowledge', detail: `id: ${id}` });
  expect(body.next).toBe(null);
});

test.each([
  '/seganet/events?limit=0',
  '/seganet/events?limit=201',
  '/seganet/events?before=x',
  '/seganet/events?open=maybe',
  '/seganet/events?since=-1',
  '/seganet/audit?limit=many'
])('refuses %s with a sentence', async (path) => {
  await load([tab, engine]);
  const { body } = await helper.request().get(path).expect(400);
  expect(body.error).toMatch(/must be/);
});

test('a deploy in an outage does not end the event of the uplink', async () => {
  await load(flow);
  await until(() => threads.length === 1);
  threads[0].emit('state', { state: 'disconnected', code: 'ETIMEDOUT', reason: '' });
  const { id } = await event({ kind: 'uplink', until: null });
  for (const { held } of engines) held.length = 0;
  await helper.setFlows(flow, 'full');
  await until(() => threads.length === 2);
  threads[1].emit('state', { state: 'connecting' });
  await watched();
  engines.at(-1).events.push({ kind: 'disconnected', device: 'pump1', reason: 'keepAlive', stage: 1 });
  await event({ kind: 'device' });
  expect(await event({ kind: 'uplink' })).toMatchObject({ id, until: null, count: 1 });
});
