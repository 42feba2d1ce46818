'use strict';
// What goes to devices and to the cloud, with real queues of commands and a real file, while devices come and go.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { Commands } = require('../../../nodes/lib/commands');
const { DeviceEvents } = require('../../../nodes/lib/engine/device-events');
const { parseOptions } = require('../../../nodes/lib/base/options');
const { Refusal } = require('../../../nodes/lib/shadow/refusal');
const { schema } = require('../../../nodes/lib/shadow/settings');
const { ShadowDesk } = require('../../../nodes/lib/shadow/shadow-desk');
const { ShadowFile } = require('../../../nodes/lib/shadow/shadow-file');
const { Owed } = require('../../../nodes/lib/shadow/owed');
const { Shadows } = require('../../../nodes/lib/shadow/shadows');

const TAKEN = 0;
const OFFLINE = 1;
const UNHEARD = 2;
const TIMEOUT = 3;
const GONE = 4;
/** @type {string} */
let folder;
/** @type {any} */
let world;

/** A gateway whose engine is the test. */
class World {
  /** @type {[string, string, any][]} */
  got = [];
  /** @type {Map<string, number>} */
  ends = new Map();
  results = [];
  happened = [];
  reports = [];
  warnings = [];
  time = 0;
  /** Answers of changes wait for it. */
  stored = Promise.resolve();
  isOvertaken = false;
  /** The file cannot be opened. */
  isFailing = false;

  constructor() {
    const engine = {
      command: (ticket, device, topic, payload) => {
        const end = this.ends.get(device) ?? OFFLINE;
        if (end !== OFFLINE && end !== UNHEARD) this.got.push([device, topic, JSON.parse(String(payload))]);
        if (end !== -1) this.results.push(ticket, end);
        this.ticket = ticket;
        return 0;
      },
      takeCommandResults: () => this.results.splice(0)
    };
    this.commands = new Commands({ engine, directory: folder, warn() {}, now: () => this.time });
    this.commands.reportTo('cloud', ({ device, body }) => this.reports.push([device, body]));
    this.deviceEvents = new DeviceEvents({ takeEvents: () => this.happened.splice(0) });
    this.deviceEvents.follow(({ kind, device }) => kind !== 'disconnected' && this.commands.wake(device));
    this.file = new ShadowFile(folder);
    this.desk = new ShadowDesk(this.file);
    this.shadows = new Shadows({
      commands: this.commands,
      deviceEvents: this.deviceEvents,
      agents: () => [],
      start: () => ({
        ask: async (op) => {
          if (this.isFailing) throw new Refusal(503, 'The disk fails.');
          const isRead = op.kind === 'get' || op.kind === 'delta';
          const [result] = isRead ? this.desk.read([{ ...op, id: 1 }]) : this.desk.change([{ ...op, id: 1 }]);
          if (!isRead) await this.stored;
          return isRead ? result : { ...result, isOvertaken: this.isOvertaken };
        },
        list: async () => '',
        stop: async () => this.file.close(),
        state: { reason: '', shadows: 0, deleted: 0, bytes: 0, counters: {} }
      }),
      warn: (sentence) => this.warnings.push(sentence)
    });
  }

  join(settings = {}) {
    const { values } = parseOptions(settings, schema);
    const leave = this.shadows.join({ values, wantsChanges: false, changed() {} });
    this.shadows.begin();
    return leave;
  }

  async turn() {
    for (let i = 0; i < 5; i++) {
      await new Promise(setImmediate);
      this.commands.ring();
    }
  }

  /** @param {string} device @param {any} desired */
  async desire(device, desired) {
    await this.shadows.ask({ kind: 'update', device, text: JSON.stringify({ desired }) });
    await this.turn();
  }

  /** Changes what is on disk, as an earlier process. */
  store(device, desired) {
    const text = JSON.stringify({ desired });
    const limits = { maxBytes: 8192, maxDepth: 8, maxShadows: 1000 };
    this.desk.change([{ id: 1, kind: 'update', device, text, section: null, dialect: 'own', limits }]);
  }

  async happens(kind, device, end = kind === 'disconnected' ? OFFLINE : TAKEN) {
    this.ends.set(device, end);
    this.happened.push({ kind, device });
    this.deviceEvents.take();
    await this.turn();
  }

  async cloud(device, rest, payload = '') {
    const safe = [];
    const given = { device, rest, payload: Buffer.from(payload), qos: /** @type {const} */ (1), id: 'o' };
    this.commands.fromCloud('cloud', given, (status) => safe.push(status));
    await this.turn();
    return safe[0];
  }

  states(device) {
    return this.got.filter(([id]) => id === device).map(([, , { state }]) => state);
  }
}

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadows-'));
  world = new World();
});
afterEach(async () => {
  expect(world.warnings).toEqual([]);
  await world.shadows.close();
  world.commands.close();
  fs.rmSync(folder, { recursive: true });
});

test('sends the newest difference to a device that connects again, and not the one before', async () => {
  world.join();
  await world.happens('connected', 'a');
  await world.desire('a', { n: 1 });
  await world.happens('disconnected', 'a');
  await world.desire('a', { n: 2 });
  await world.desire('a', { n: 3 });
  expect(world.states('a')).toEqual([{ n: 1 }]);
  await world.happens('connected', 'a');
  expect(world.states('a')).toEqual([{ n: 1 }, { n: 3 }]);
  // It may have restarted: it gets the same again when it connects again.
  await world.happens('connected', 'a');
  expect(world.states('a')).toEqual([{ n: 1 }, { n: 3 }, { n: 3 }]);
  expect(world.commands.isIdle).toBe(true);
});

test('replaces a difference that the device has not acknowledged, behind the one in flight', async () => {
  world.join();
  await world.happens('connected', 'a', -1);
  for (const n of [1, 2, 3]) await world.desire('a', { n });
  expect(world.states('a')).toEqual([{ n: 1 }]);
  world.ends.set('a', TAKEN);
  world.results.push(world.ticket, TAKEN);
  await world.turn();
  expect(world.states('a')).toEqual([{ n: 1 }, { n: 3 }]);
});

test('sends what is newest if a read has overtaken the answers of changes', async () => {
  world.join();
  await world.happens('connected', 'a');
  let store = () => {};
  world.stored = new Promise((resolve) => (store = () => resolve(undefined)));
  world.isOvertaken = true;
  const changes = [1, 2].map((n) => world.desire('a', { n }));
  await world.turn();
  // It gets the second one before the answers of both.
  await world.happens('connected', 'a');
  store();
  await Promise.all(changes);
  expect(world.states('a')).toEqual([{ n: 2 }]);
});

test('sends it when the device subscribes, and again when an acknowledgement is missing', async () => {
  world.join();
  await world.desire('a', { n: 1 });
  await world.happens('connected', 'a', UNHEARD);
  expect(world.states('a')).toEqual([]);
  await world.happens('listening', 'a', GONE);
  await world.happens('disconnected', 'a');
  await world.happens('connected', 'a');
  const states = world.states('a');
  expect(states.length).toBeGreaterThan(1);
  expect(new Set(states.map(({ n }) => n))).toEqual(new Set([1]));
  world.ends.set('a', TIMEOUT);
  await world.desire('a', { n: 2 });
  for (let i = 0; i < 5; i++) {
    world.time += 1100;
    await world.turn();
  }
  world.ends.set('a', TAKEN);
  const before = world.states('a').length;
  // A report shows that the device lives.
  await world.shadows.take(responsible(), record('a', 'shadow/reported', '{"t":1}'));
  await world.turn();
  expect(world.states('a').slice(before)).toEqual([{ n: 2 }]);
});

const responsible = () => ({ values: parseOptions({}, schema).values, wantsChanges: false, changed() {} });
const record = (device, topic, payload) => ({ device, topic, payload: Buffer.from(payload) });

test('keeps at most 1,000 differences in memory for devices that are away, and sends all when they connect', async () => {
  world.join();
  const desire = (i) => world.shadows.ask({ kind: 'update', device: `d${i}`, text: '{"desired":{"n":1}}' });
  // Those in flight count until the engine has answered.
  for (let i = 0; i < 1099; i++) await desire(i);
  await world.turn();
  await desire(1099);
  await world.turn();
  expect(world.commands.view().devices).toBe(1000);
  for (const i of [0, 50, 99, 100, 1099]) {
    await world.happens('connected', `d${i}`);
    expect([i, world.states(`d${i}`)]).toEqual([i, [{ n: 1 }]]);
  }
});

test('forgets the difference of a deleted shadow, and of one that is reported', async () => {
  world.join();
  await world.desire('a', { n: 1 });
  await world.desire('b', { n: 1 });
  await world.shadows.ask({ kind: 'delete', device: 'a', text: '' });
  await world.shadows.take(responsible(), record('b', 'shadow/reported', '{"n":1}'));
  for (const device of ['a', 'b']) await world.happens('connected', device);
  expect(world.got).toEqual([]);
});

test('sends nothing of a node that was deleted, and what waits at the topics of one that was changed', async () => {
  const leave = world.join();
  for (const device of ['a', 'b', 'c']) await world.desire(device, { n: 1 });
  await world.happens('connected', 'c', UNHEARD);
  world.shadows.pause();
  leave();
  world.join({ dialect: 'aws', devices: 'a' });
  await world.turn();
  for (const device of ['a', 'b']) await world.happens('connected', device);
  await world.happens('listening', 'c');
  expect(world.got.map(([device, topic]) => [device, topic])).toEqual([
    ['a', '$aws/things/a/shadow/update/delta']
  ]);
});

test('sends a difference that could not be read as soon as it can be, although the device does nothing', async () => {
  world.join();
  for (const device of ['a', 'b', 'c']) world.store(device, { n: 1 });
  world.isFailing = true;
  for (const device of ['a', 'b', 'c']) await world.happens('connected', device);
  await world.happens('disconnected', 'c');
  expect(world.got).toEqual([]);
  world.isFailing = false;
  await eventually(() => world.turn().then(() => world.got.length === 2), { what: 'two differences' });
  expect(world.got.map(([device, , { state }]) => [device, state])).toEqual([
    ['a', { n: 1 }],
    ['b', { n: 1 }]
  ]);
  expect(new Set(world.warnings.splice(0))).toEqual(
    new Set(['a', 'b', 'c'].map((id) => `The difference for ${id} cannot be derived: The disk fails. The gateway tries again.`)) // prettier-ignore
  );
});

test('sends what is on disk although its answer was lost, when the file is open again', async () => {
  world.join();
  await world.happens('connected', 'a');
  await world.desire('a', { n: 1 });
  world.store('a', { n: 2 });
  world.shadows.reopened();
  await world.turn();
  expect(world.states('a')).toEqual([{ n: 1 }, { n: 2 }]);
  // What the device has is not sent again.
  world.shadows.reopened();
  await world.turn();
  expect(world.states('a')).toHaveLength(2);
});

test('derives the differences of many devices a few at a time', async () => {
  const all = Array.from({ length: 2000 }, (_, i) => `d${i}`);
  let [open, most] = [0, 0];
  const started = [];
  const owed = new Owed(async (device) => {
    started.push(device);
    most = Math.max(most, ++open);
    await new Promise(setImmediate);
    open--;
    return true;
  });
  for (const device of all) owed.add(device);
  owed.delete('d1999');
  await eventually(() => open === 0, { what: 'the end' });
  expect(started).toEqual(all.slice(0, -1));
  expect(most).toBe(512);
  owed.close();
});

test('answers the cloud when the change is on disk, and leaves commands of other devices to them', async () => {
  world.join({ devices: 'pump*' });
  expect(await world.cloud('pump', 'shadow/update', '{"desired":{"n":1},"clientToken":"t"}')).toBe('taken');
  expect(await world.cloud('pump', 'shadow/get')).toBe('taken');
  expect(await world.cloud('pump', 'shadow/update', '{"desired":{"n":2},"version":7}')).toBe('refused');
  expect(await world.cloud('pump', 'shadow/update', `{"desired":{"x":"${'y'.repeat(10000)}"}}`)).toBe(
    'refused'
  );
  expect(await world.cloud('pump', 'shadow/delete')).toBe('taken');
  expect(await world.cloud('pump', 'shadow/get')).toBe('refused');
  const timestamp = expect.any(Number);
  expect(world.reports.map(([, { status, code, shadow }]) => [status, code ?? shadow])).toEqual([
    ['taken', { version: 1, timestamp, clientToken: 't' }],
    ['taken', { version: 1, timestamp, desired: { n: 1 }, delta: { n: 1 } }],
    ['refused', 409],
    ['refused', 413],
    ['taken', { version: 1, timestamp }],
    ['refused', 404]
  ]);
  world.ends.set('fan', TAKEN);
  await world.cloud('fan', 'shadow/update', '{"desired":{"n":1}}');
  expect(world.got.at(-1)).toEqual(['fan', 'cmd/fan/shadow/update', { desired: { n: 1 } }]);
});

test('lets the cloud wait while the flows start or are deployed', async () => {
  const first = world.cloud('pump', 'shadow/update', '{"desired":{"n":1}}');
  expect(await first).toBeUndefined();
  const leave = world.join();
  await world.turn();
  expect(world.reports.map(([, { status }]) => status)).toEqual(['taken']);
  world.shadows.pause();
  leave();
  await world.cloud('pump', 'shadow/update', '{"desired":{"n":2}}');
  world.join({ dialect: 'aws' });
  await world.turn();
  expect(world.reports.map(([, { status }]) => status)).toEqual(['taken', 'taken']);
  await world.happens('connected', 'pump');
  expect(world.got.map(([, topic]) => topic)).toEqual(['$aws/things/pump/shadow/update/delta']);
});

test('keeps the shadow of a device whose id is no level of a topic', async () => {
  world.join();
  await world.desire('a+b', { n: 1 });
  await world.happens('connected', 'a+b');
  expect(world.got).toEqual([]);
  await world.shadows.take(responsible(), record('a+b', 'shadow/get', ''));
  expect(world.warnings.splice(0)).toEqual([expect.stringMatching(/topic of a command/)]);
});
