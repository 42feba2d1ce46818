'use strict';
// The command node, and the path of a command from a broker to a device and back.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { CommandStore } = require('../../nodes/lib/commands/command-store');
const { helper, tab, engine, broker, node, load, unload, inbox, until, errors, shown, engines, threads } =
  require('./support/gateway'); // prettier-ignore

let folder;
beforeAll(() => helper.startServer());
afterAll(() => helper.stopServer());
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-command-'))));
afterEach(async () => {
  await unload();
  fs.rmSync(folder, { recursive: true });
});

/** A command node with its ends, and an uplink whose broker has commands on. */
async function start(settings = {}) {
  const flow = [
    tab,
    { ...engine, logDir: folder },
    { ...broker, commands: 'on', commandPrefix: 'site/cmd' },
    node('devices', 'ingest', {}, 'up'),
    node('up', 'uplink', { broker: 'broker' }),
    node('command', 'command', settings, 'out'),
    node('out', 'helper'),
    { id: 'complete', type: 'complete', z: 'tab', scope: ['command'], uncaught: false, x: 1, y: 1, wires: [['completed']] }, // prettier-ignore
    {
      id: 'catch',
      type: 'catch',
      z: 'tab',
      scope: ['command'],
      uncaught: false,
      x: 1,
      y: 1,
      wires: [['caught']]
    },
    node('completed', 'helper'),
    node('caught', 'helper')
  ];
  await load(flow, {}, ends);
  await until(() => threads.length === 1);
  return { out: inbox('out'), completed: inbox('completed'), caught: inbox('caught') };
}
const ends = ['24-complete', '25-catch'].map((name) => require(`@node-red/nodes/core/common/${name}.js`));

const send = (msg) => helper.getNode('command').receive(msg);
const come = (command) =>
  threads[0].emit('command', { rest: '', qos: 1, payload: new Uint8Array([112]), ack: '1.1', ...command });
const statuses = () => threads[0].reports.map(({ body }) => body.status);

test('sends a message as a command under the topic of its device, and completes it when it is taken', async () => {
  const { completed } = await start();
  engines[0].takers.add('pump-7');
  send({ deviceId: 'pump-7', topic: 'valve', payload: { open: true } });
  await until(() => completed.length === 1);
  expect(engines[0].commands).toEqual([
    { deviceId: 'pump-7', topic: 'cmd/pump-7/valve', payload: '{"open":true}', qos: 1 }
  ]);
});

test.each([
  [{}, 'cmd/d/x', 'cmd/d/x'],
  [{}, '', 'cmd/d'],
  [{ topicIs: 'whole' }, 'own/topic', 'own/topic']
])('sends, with %j, the topic %j as %j', async (settings, topic, expected) => {
  const { completed } = await start(settings);
  engines[0].takers.add('d');
  send({ deviceId: 'd', topic, payload: 'p', qos: 0 });
  await until(() => completed.length === 1);
  expect(engines[0].commands).toMatchObject([{ topic: expected, qos: 0 }]);
});

test('completes a command to an absent device when it is kept, or when it is taken, as configured', async () => {
  const { completed } = await start();
  send({ deviceId: 'd', payload: 'p' });
  await until(() => completed.length === 1);
  await until(() => shown('command')?.text === '0 taken · 1 waiting');
  await unload();
  const later = await start({ wait: 'taken' });
  engines[0].arrive('d');
  send({ deviceId: 'e', payload: 'p' });
  await until(() => engines[0].commands.some(({ deviceId }) => deviceId === 'e'));
  expect(later.completed).toEqual([]);
  engines[0].arrive('e');
  await until(() => later.completed.length === 1);
});

test.each([
  [{ payload: 'p' }, /has no device id/],
  [{ deviceId: 'x'.repeat(257) }, /exceeds 256 bytes/],
  [{ deviceId: 'd', topic: 'a/#' }, /without \+, # and NUL/],
  [{ deviceId: 'd', topic: 7 }, /msg.topic must be text/],
  [{ deviceId: 'd', expiry: -1 }, /msg.expiry must be/],
  [{ deviceId: 'd', expiry: 'soon' }, /msg.expiry must be/],
  [{ deviceId: 'd', payload: 1n }, /has no JSON form/],
  [
    { deviceId: 'away', qos: 0 },
    /expired before its device was reachable. The device is not connected. A command with QoS 0 is not kept/
  ]
])('fails a message (%#) that cannot be a command, or was not delivered', async (msg, reason) => {
  const { caught, completed } = await start();
  send(msg);
  await until(() => caught.length === 1);
  expect(caught[0].error.message).toMatch(reason);
  expect(completed).toEqual([]);
});

test('requires a complete topic', async () => {
  const { caught } = await start({ topicIs: 'whole' });
  send({ deviceId: 'd' });
  await until(() => caught.length === 1);
  expect(caught[0].error.message).toMatch(/has no topic/);
});

test('carries a command of the cloud to its device, acknowledged and reported', async () => {
  await start();
  expect(threads[0].options).toMatchObject({ commands: true, commandPrefix: 'site/cmd' });
  engines[0].takers.add('d');
  come({ device: 'd', rest: 'a', id: 'o-1' });
  await until(() => threads[0].answers.length === 1);
  expect(engines[0].commands).toMatchObject([{ deviceId: 'd', topic: 'cmd/d/a', payload: 'p' }]);
  expect(threads[0].answers).toEqual(['1.1']);
  expect(threads[0].reports).toMatchObject([
    { device: 'd', rest: 'a', body: { status: 'taken', id: 'o-1' } }
  ]);
});

test('outputs a command of the cloud for an absent device, which is then taken', async () => {
  const { out } = await start({ devices: 'modbus-*' });
  come({ device: 'modbus-1', rest: 'a/b', responseTopic: 'r', correlation: new Uint8Array([1]) });
  await until(() => out.length === 1);
  expect(out[0]).toMatchObject({
    deviceId: 'modbus-1',
    topic: 'cmd/modbus-1/a/b',
    payload: Buffer.from('p'),
    qos: 1,
    responseTopic: 'r',
    correlationData: Buffer.from([1]),
    command: { rest: 'a/b', expiresAt: expect.any(Number), id: expect.any(String) }
  });
  expect(statuses()).toEqual(['taken']);
  come({ device: 'other', ack: '1.2' });
  await until(() => threads[0].answers.length === 2);
  expect(statuses()).toEqual(['taken', 'queued']);
  engines[0].arrive('other');
  await until(() => statuses().length === 3);
  expect(statuses()[2]).toBe('taken');
  expect(out).toHaveLength(1);
});

test('continues with pending commands after another deploy of the flow', async () => {
  await start({ take: 'none' });
  come({ device: 'd', rest: 'x' });
  await until(() => threads[0].answers.length === 1);
  await unload();
  await start({ take: 'none' });
  engines[0].arrive('d');
  await until(() => statuses().includes('taken'));
  expect(engines[0].commands.at(-1)).toMatchObject({ topic: 'cmd/d/x', payload: 'p' });
});

test.each([
  [{ take: 'some' }, /"take" must be one of/],
  [{ expiryS: '0' }, /"expiryS" must be a whole number/],
  [{ topicIs: 'half' }, /"topicIs" must be one of/],
  [{ wait: 'for ever' }, /"wait" must be one of/]
])('refuses settings %j', async (settings, reason) => {
  await start(settings);
  expect(errors().map(([id, text]) => id === 'command' && text)).toEqual([expect.stringMatching(reason)]);
  expect(shown('command')).toMatchObject({ fill: 'red', text: 'wrong setting' });
});

test('lists the devices in the admin API and in the stats node', async () => {
  const flow = [
    tab,
    { ...engine, logDir: folder },
    { ...node('devices', 'ingest', {}), name: 'from Modbus' },
    node('stats', 'stats', { intervalS: '1', agents: 'on' }, 'out'),
    node('out', 'helper')
  ];
  await load(flow);
  const out = inbox('out');
  const row = { stage: 1, worker: 0, connected: true, listening: false, class: 3, records: 5, bytes: 9, ratePerS: 1, silentMs: 2, address: '' }; // prettier-ignore
  engines[0].known = ['a', 'b', 'd'].map((device) => ({ device, ...row }));
  const { host } = /** @type {any} */ (helper.getNode('engine'));
  const devices = () => [
    { device: 'c', connected: true, address: 'aa:bb' },
    { device: 'd', listening: true }
  ];
  const stop = host.registry.provide({ node: 'ble', name: '', protocol: 'ble', devices });
  const get = (query) => helper.request().get(`/seganet/engines/engine/agents${query}`);

  const first = await get('?limit=3').expect(200);
  expect(first.body.next).toBe('c');
  expect(first.body.agents[0]).toEqual({ device: 'a', ...row, stage: undefined, node: 'devices', name: 'from Modbus', protocol: 'ingest' }); // prettier-ignore
  expect(first.body.agents.map(({ device }) => device)).toEqual(['a', 'b', 'c']);
  expect(first.body.agents[2]).toMatchObject({ node: 'ble', protocol: 'ble', connected: true, records: 0, silentMs: -1, worker: -1 }); // prettier-ignore
  const second = await get('?limit=3&after=c').expect(200);
  expect(second.body).toMatchObject({ agents: [{ device: 'd', listening: true, connected: true, records: 5, protocol: 'ble' }], next: null }); // prettier-ignore
  for (const wrong of [
    '?limit=0',
    '?limit=10001',
    '?limit=x',
    '?limit=1.5',
    `?after=${'x'.repeat(257)}`,
    '?after[]=a'
  ])
    await get(wrong).expect(400);
  stop();
  await until(() => out.some(({ topic }) => topic === 'agents'));
  const agents = out.find(({ topic }) => topic === 'agents');
  expect(agents).toMatchObject({ after: '', next: null });
  expect(agents.payload.length).toBeGreaterThanOrEqual(3);
});

test('gives commands kept by an earlier run to a flow behind their command node, none before the flow exists', async () => {
  const store = new CommandStore(folder, () => {});
  for (const id of ['1', '2']) {
    const kept = {
      id,
      device: `d${id}`,
      topic: `cmd/d${id}/x`,
      qos: 1,
      payload: Buffer.from('p'),
      expiresAt: Date.now() + 60000
    };
    await new Promise((resolve) => store.add({ ...kept, origin: { broker: 'broker', rest: 'x' } }, resolve));
  }
  store.close();
  const { out } = await start({ take: 'all' });
  await until(() => out.length === 2);
  expect(out.map(({ command }) => command.id)).toEqual(['1', '2']);
});
