'use strict';
// The thread of the tenants with a real engine, real sockets, a keeper in memory and scripted gateways as tenants.

const mqttPacket = require('mqtt-packet');
const { Engine } = require('../../../native');
const { eventually } = require('../../../bench/harness/net');
const { readEnvelope } = require('../../../nodes/lib/unbatch/unbatch');
const { TenantsThread } = require('../../../nodes/lib/tenants/uplink');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { TestKeeper } = require('../../fixtures/tenants/keeper');

jest.setTimeout(60000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Stages of a tenant. @param {number} i from 0 */
const ingest = (i) => 3 * i + 1;

class Lab {
  /** @type {Map<string, ScriptedBroker>} */
  brokers = new Map();
  /** @type {any} */
  state = null;
  /** @type {Map<string, any>} */
  rows = new Map();
  /** @type {string[]} */
  problems = [];

  /** @param {number} count of tenants @param {object} [options] of the thread */
  async start(count, options = {}) {
    this.names = Array.from({ length: count }, (_, i) => `t${i}`);
    this.engine = new Engine({ workers: 1, memoryMiB: 16 }, () => {});
    cleanups.push(() => this.engine.close());
    const stages = this.names.flatMap((_, i) => [
      { id: ingest(i), kind: 'ingest', next: [ingest(i) + 1], messages: false },
      {
        id: ingest(i) + 1,
        kind: 'batch',
        next: [ingest(i) + 2],
        messages: false,
        mode: 'envelope',
        format: 'ndjson',
        minDevices: 0,
        maxBytes: 1024,
        maxDelayMs: 20,
        immediateClass: 1
      },
      { id: ingest(i) + 2, kind: 'uplink', uplink: i + 1, next: [], messages: false }
    ]);
    this.engine.applyPlan(/** @type {any} */ ({ stages }));
    this.keeper = await new TestKeeper({ wake: (name) => this.wake(name) }).open();
    cleanups.push(() => this.keeper.remove());
    this.thread = new TenantsThread(
      { gateway: 'gw1', socket: this.keeper.socket, mostAwake: 64, idleMs: 400, connectMs: 5000, ...options },
      this.engine.token
    );
    cleanups.push(() => this.thread.stop(0));
    this.thread.on('state', (state) => {
      this.state = state;
      for (const row of state.changes) this.rows.set(row.name, row);
    });
    this.thread.on('problem', ({ reason }) => this.problems.push(reason));
    this.thread.serve(this.names.map((name, i) => ({ name, number: i + 1, stage: ingest(i) + 2 })));
    return this;
  }

  /** Starts the tenant's gateway if it does not run. @param {string} name */
  async wake(name) {
    const known = this.brokers.get(name);
    if (known) {
      if (!known.server.listening) await known.listen();
      return { host: '127.0.0.1', port: known.port };
    }
    const broker = await ScriptedBroker.start({});
    this.brokers.set(name, broker);
    cleanups.push(() => broker.close());
    return { host: '127.0.0.1', port: broker.port };
  }

  /** @param {number} i @param {number} from @param {number} to @param {number} [cls] */
  push(i, from, to, cls = 3) {
    for (let n = from; n < to; n++) {
      const result = this.engine.push(ingest(i), `d${n % 3}`, 't', Buffer.from(String(n)), cls, 0, 0, -1, 0);
      if (result !== 0) throw new Error(`push: ${result}`);
    }
  }

  /** @param {number} i @returns {number[]} numbers that the tenant has, copies of batches removed */
  got(i) {
    const keys = new Set();
    return (this.brokers.get(`t${i}`)?.received ?? []).flatMap(({ payload }) => {
      const { key, records } = readEnvelope(payload);
      if (keys.has(key?.key)) return [];
      keys.add(key?.key);
      return records.map((record) => Number(record.payload));
    });
  }
}

/** @param {number} count */
const upTo = (count) => Array.from({ length: count }, (_, i) => i);

test('wakes a tenant, delivers in order, gives the lease back, and wakes it again', async () => {
  const lab = await new Lab().start(2);
  lab.push(0, 0, 500);
  await eventually(() => lab.got(0).length === 500);
  expect(lab.got(0)).toEqual(upTo(500));
  expect(lab.brokers.get('t0')?.clientIds).toEqual(['front']);
  expect(lab.keeper.requests.find(({ method }) => method === 'POST')?.body).toEqual({
    reason: 'records',
    class: 3,
    holder: 'gateway gw1'
  });
  await eventually(() => lab.keeper.leases.size === 0 && lab.state?.counts.asleep === 2);
  expect(lab.brokers.get('t0')?.goodbyes).toBe(1);
  expect(lab.brokers.has('t1')).toBe(false);
  lab.push(0, 500, 520, 1);
  await eventually(() => lab.got(0).length === 520);
  expect(lab.brokers.get('t0')?.clientIds).toEqual(['front', 'front']);
  await eventually(() => lab.rows.get('t0')?.wakes === 2 && lab.state.counts.asleep === 2);
  expect(lab.rows.get('t0')).toMatchObject({ state: 'asleep', failures: 0, lastWake: { how: 'start' } });
  await eventually(() => lab.engine.stats().counters.recordsDelivered === 520);
  expect(lab.state.totals).toMatchObject({ failed: 0, deadLetters: 0 });
});

test('serves 20 tenants with 3 places, each once at a time', async () => {
  const lab = await new Lab().start(20, { mostAwake: 3, idleMs: 60000 });
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, lab.keeper.leases.size)), 1);
  cleanups.push(() => clearInterval(watch));
  for (let i = 0; i < 20; i++) lab.push(i, 0, 30);
  await eventually(() => upTo(20).every((i) => lab.got(i).length === 30), { timeoutMs: 40000 });
  for (let i = 0; i < 20; i++) expect(lab.got(i)).toEqual(upTo(30));
  expect(most).toBeLessThanOrEqual(3);
});

test('loses nothing and keeps the order when a tenant dies repeatedly', async () => {
  const lab = await new Lab().start(1);
  for (let round = 0; round < 5; round++) {
    lab.push(0, round * 200, round * 200 + 200);
    await eventually(() => lab.got(0).length > round * 200);
    await lab.brokers.get('t0')?.close();
  }
  await eventually(() => lab.got(0).length === 1000, { timeoutMs: 40000 });
  expect(lab.got(0)).toEqual(upTo(1000));
  expect(lab.rows.get('t0').failures).toBeGreaterThan(0);
});

test('continues without the keeper, and requests new leases from the next one', async () => {
  const lab = await new Lab().start(2, { idleMs: 3000 });
  lab.push(0, 0, 10);
  await eventually(() => lab.got(0).length === 10);
  await lab.keeper.close();
  lab.push(0, 10, 20);
  lab.push(1, 0, 10);
  await eventually(() => lab.got(0).length === 20);
  await eventually(() => /does not answer/.test(lab.state?.keeperProblem));
  expect(lab.state.counts.waiting).toBe(1);
  await lab.keeper.open();
  await eventually(() => lab.got(1).length === 10);
  await eventually(() => lab.state.keeperProblem === '' && lab.state.counts.asleep === 2);
});

test('tries a tenant that failed when the keeper reports it ready, and when the stream of events is back', async () => {
  const lab = new Lab();
  let isBroken = true;
  const wake = lab.wake.bind(lab);
  lab.wake = async (name) => {
    if (isBroken) throw Object.assign(new Error('It crashed.'), { retryMs: 300000 });
    return wake(name);
  };
  await lab.start(2);
  lab.push(0, 0, 10);
  await eventually(() => lab.rows.get('t0')?.state === 'failed');
  isBroken = false;
  lab.keeper.tell({ at: 1, tenant: 't0', event: 'ready', by: 'operator' });
  await eventually(() => lab.got(0).length === 10 && lab.rows.get('t0').reason === '', { timeoutMs: 5000 });
  // The keeper restarts with all failures forgotten, and nobody asks it.
  isBroken = true;
  lab.push(1, 0, 10);
  await eventually(() => lab.rows.get('t1')?.state === 'failed');
  await lab.keeper.close();
  await eventually(() => lab.state.keeperProblem !== '');
  isBroken = false;
  await lab.keeper.open();
  await eventually(() => lab.got(1).length === 10 && lab.state.keeperProblem === '', { timeoutMs: 10000 });
});

test('takes a tenant out of the thread, and takes it in again with its records', async () => {
  const lab = await new Lab().start(2, { idleMs: 60000 });
  lab.push(0, 0, 10);
  lab.push(1, 0, 10);
  await eventually(() => lab.got(0).length === 10 && lab.got(1).length === 10);
  await lab.thread.part(['t0'], 1000);
  expect(lab.keeper.leasesOf('t0')).toEqual([]);
  expect(lab.keeper.leasesOf('t1')).toHaveLength(1);
  lab.push(0, 10, 20);
  lab.push(1, 10, 20);
  await eventually(() => lab.got(1).length === 20);
  expect(lab.got(0)).toHaveLength(10);
  lab.thread.serve([{ name: 't0', number: 1, stage: ingest(0) + 2 }]);
  await eventually(() => lab.got(0).length === 20);
});

test('returns what is in flight, and all leases, when it stops', async () => {
  const lab = await new Lab().start(3, { idleMs: 60000 });
  for (let i = 0; i < 3; i++) lab.push(i, 0, 10);
  await eventually(() => upTo(3).every((i) => lab.got(i).length === 10));
  lab.brokers.get('t2')?.close();
  await lab.thread.stop(1000);
  expect(lab.keeper.leases.size).toBe(0);
  expect(lab.brokers.get('t0')?.goodbyes).toBe(1);
  expect(lab.engine.stats().heldRecords[3]).toBe(0);
});

test('ends the session of a tenant that announces a packet of 256 MiB, after announcing the limit to it', async () => {
  const lab = await new Lab().start(2, { idleMs: 60000, maxPacketBytes: 1000 });
  lab.push(0, 0, 10);
  lab.push(1, 0, 10);
  await eventually(() => lab.got(0).length === 10 && lab.got(1).length === 10);
  const [evil, good] = ['t0', 't1'].map((name) => /** @type {ScriptedBroker} */ (lab.brokers.get(name)));
  expect(evil.connects[0].properties.maximumPacketSize).toBe(1000);
  for (const socket of evil.sockets) socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]));
  await eventually(() => lab.rows.get('t0')?.failures === 1);
  expect(lab.problems).toEqual([
    'Tenant t0: The broker sends a packet of 268435460 bytes; this client accepts 1000 at most.'
  ]);
  lab.push(0, 10, 20);
  lab.push(1, 10, 20);
  await eventually(() => lab.got(0).length === 20 && lab.got(1).length === 20);
  expect(good.connections).toBe(1);
});

/** The tenant t0, which is connected, sends commands. @param {Lab} lab */
function speak(lab) {
  const [socket] = /** @type {ScriptedBroker} */ (lab.brokers.get('t0')).sockets;
  /** @type {Buffer[]} */
  const answers = [];
  socket.on('data', (/** @type {Buffer} */ bytes) => answers.push(bytes));
  /** @param {0 | 1} qos @param {number} messageId */
  const send = (qos, messageId) => {
    const message = { cmd: 'publish', topic: 'cmd/front/d1/x', payload: 'p', dup: false, retain: false };
    const packet = /** @type {any} */ ({ ...message, qos, messageId });
    socket.write(mqttPacket.generate(packet, { protocolVersion: 5 }));
  };
  return { send, answered: () => Buffer.concat(answers).toString('hex') };
}

test('acknowledges commands with the reason code of their status, and reads those of QoS 0 only as fast', async () => {
  const lab = await new Lab().start(1, { idleMs: 60000 });
  /** @type {any[]} */
  const commands = [];
  lab.thread?.on('command', (message) => commands.push(message));
  lab.push(0, 0, 10);
  await eventually(() => lab.got(0).length === 10);
  const { send, answered } = speak(lab);
  send(1, 7);
  send(1, 8);
  await eventually(() => commands.length === 2);
  lab.thread?.answer('t0', commands[1].ack, 'full');
  lab.thread?.answer('t0', commands[0].ack, 'queued');
  await eventually(() => answered().includes('400300089740020007'));
  for (let i = 0; i < 100; i++) send(0, 0);
  send(1, 9);
  await eventually(() => commands.length === 2 + 32);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(commands).toHaveLength(2 + 32);
  for (let i = 2; i < 103; i++) {
    await eventually(() => commands.length > i);
    lab.thread?.answer('t0', commands[i].ack, 'taken');
  }
  await eventually(() => answered().endsWith('40020009'));
});

test('acknowledges no command with an answer for a command of an earlier thread', async () => {
  const lab = await new Lab().start(1, { idleMs: 60000 });
  /** @type {any[]} */
  const commands = [];
  lab.thread?.on('command', (message) => commands.push(message));
  lab.push(0, 0, 10);
  await eventually(() => lab.got(0).length === 10);
  speak(lab).send(1, 7);
  await eventually(() => commands.length === 1);
  await lab.thread?.thread.worker?.terminate();
  lab.push(0, 10, 20);
  await eventually(() => lab.got(0).length === 20);
  const { send, answered } = speak(lab);
  send(1, 7);
  await eventually(() => commands.length === 2);
  lab.thread?.answer('t0', commands[0].ack, 'taken');
  lab.thread?.answer('t0', commands[1].ack, 'full');
  await eventually(() => /4003000797$|40020007$/.test(answered()));
  expect(answered()).toMatch(/4003000797$/);
  expect(answered()).not.toContain('40020007');
});

test('costs little for 300 tenants that sleep', async () => {
  const before = process.memoryUsage().rss;
  const lab = await new Lab().start(300);
  await eventually(() => lab.state?.counts.asleep === 300);
  // The thread itself has some 30 MB.
  expect((process.memoryUsage().rss - before) / 300).toBeLessThan(400000);
  lab.push(299, 0, 5);
  await eventually(() => lab.got(299).length === 5);
  expect(lab.keeper.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
});
