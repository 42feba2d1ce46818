'use strict';
// A real Node-RED with the fuzzer's flow, and the messages, which do not fit into a pipe. Its parent sends { deploy },
// { pause }, { judge } and { stop }; it sends its findings.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { seeded } = require('../../fixtures/random');
const { makeFlow, inputTypes } = require('./flow');
const { tame, wild } = require('./messages');

const root = path.join(__dirname, '..', '..', '..');
const BUNCH = 10;
const EVERY_MS = 5;
/** Nodes that either take a record or refuse it. */
const TAKERS = /-(ingest|batch|uplink|priority)$/;

const { seed, url, folder } = JSON.parse(process.argv[2]);
const random = seeded(seed);
/** @type {any} */
const RED = require('node-red');

/** Faults visible to a user. @type {string[]} */
const findings = [];
const counts = { sent: 0, done: 0, failed: 0, notReceived: 0, received: 0 };
/** @typedef {{ node: string, tame: number, ends: number, text: string }} Sent */
/** @type {WeakMap<object, Sent>} */
const sent = new WeakMap();
/** Messages without a completion yet. @type {Set<Sent>} */
const open = new Set();
/** Numbers of tame records that the engine with a log took. @type {number[]} */
const taken = [];
let version = 0;
let number = 0;
let isPaused = true;

/** @param {string} finding */
function find(finding) {
  if (findings.length < 20) findings.push(finding);
}

/** @param {any} message of Node-RED's log */
function onLog({ level, msg }) {
  const text = String(msg?.stack ?? msg?.message ?? msg);
  if (/Internal error; the gateway continues/.test(text)) find(text);
  if (level <= 10) find(`fatal: ${text}`);
}

/** Counts the completions of every input node. */
function instrument() {
  for (const { id, type } of flow()) {
    const node = type.startsWith('seganet-') ? RED.nodes.getNode(id) : null;
    if (!node || Object.hasOwn(node, '_complete')) continue;
    const complete = node._complete;
    node._complete = function (/** @type {any} */ msg, /** @type {any} */ error) {
      const entry = sent.get(msg);
      // While plans change, the next node may get the same message.
      if (entry?.node === id) ended(entry, error);
      return complete.call(this, msg, error);
    };
  }
}

/** @param {Sent} entry @param {Error | undefined} error */
function ended(entry, error) {
  open.delete(entry);
  if (++entry.ends > 1) return find(`done was called ${entry.ends} times: ${entry.text}`);
  counts.done++;
  if (error) counts.failed++;
  else if (entry.tame >= 0) taken.push(entry.tame);
}

const flow = () => makeFlow({ url, folder, version });

/** @returns {string[]} ids of nodes with an input */
function targets() {
  const types = inputTypes();
  return flow().flatMap(({ id, type }) => (types.includes(type) ? [id] : []));
}
const ids = targets();

function sendOne() {
  const id = ids[random.integer(ids.length)];
  const isTame = random.integer(4) === 0;
  const msg = isTame ? tame(random, number) : wild(random);
  const node = RED.nodes.getNode(id);
  if (!node) return;
  const mustArrive = isTame && id.startsWith('kept-') && TAKERS.test(id);
  const text = `message ${number} to ${id}`;
  const entry = { node: id, tame: mustArrive ? number : -1, ends: 0, text };
  number++;
  sent.set(msg, entry);
  open.add(entry);
  counts.sent++;
  try {
    node.receive(msg);
  } catch (error) {
    // Node-RED itself cannot give it an id: no tested node got it.
    open.delete(entry);
    counts.notReceived++;
    if (/nodes[/\\]lib/.test(String(/** @type {any} */ (error)?.stack))) find(`${text}: ${error}`);
  }
}

setInterval(() => {
  if (isPaused) return;
  for (let i = 0; i < BUNCH; i++) sendOne();
}, EVERY_MS);

/** @param {'full' | 'nodes' | 'flows'} type */
async function deploy(type) {
  version++;
  const started = new Promise((resolve) => RED.events.once('flows:started', resolve));
  await RED.runtime.flows.setFlows({ flows: { flows: flow() }, deploymentType: type, req: {} });
  await started;
  instrument();
}

/** @param {string} id of an engine */
function countersOf(id) {
  const { host } = RED.nodes.getNode(id);
  const { counters, heldRecords, backlogRecords, drops, waiting } = host.snapshot();
  const sum = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0);
  const dropped = Object.values(drops).reduce((all, list) => all + sum(list), 0);
  const { recordsQueued: queued, recordsRecovered: recovered, recordsDelivered: delivered } = counters;
  return { queued, recovered, delivered, held: sum(heldRecords) + sum(backlogRecords), dropped, waiting };
}

async function start() {
  const server = http.createServer((_request, response) => response.end());
  RED.init(server, {
    userDir: folder,
    nodesDir: [root],
    flowFile: 'flows.json',
    httpAdminRoot: '/red',
    httpNodeRoot: false,
    disableEditor: true,
    credentialSecret: 'fuzzer',
    nodeCloseTimeout: 24000,
    telemetry: { enabled: false },
    logging: { own: { level: 'info', handler: () => onLog } }
  });
  RED.nodes.registerType('fuzz/sink', 'fuzz-sink', function (/** @type {any} */ config) {
    // @ts-expect-error Node-RED's constructor
    RED.nodes.createNode(this, config);
    // @ts-expect-error
    this.on('input', (_msg, _send, done) => {
      counts.received++;
      done();
    });
  });
  fs.writeFileSync(path.join(folder, 'flows.json'), JSON.stringify(flow()));
  const started = new Promise((resolve) => RED.events.once('flows:started', resolve));
  await RED.start();
  await started;
  instrument();
  isPaused = false;
}

/** @type {Record<string, (argument: any) => unknown>} */
const orders = {
  deploy: async (type) => {
    await deploy(type);
  },
  pause: (isOn) => {
    isPaused = isOn;
  },
  look: () => ({ ...counts, open: open.size, kept: countersOf('kept'), small: countersOf('small') }),
  stop: async () => {
    isPaused = true;
    await RED.stop();
    for (const { text } of [...open].slice(0, 5)) find(`done was never called: ${text}`);
    return { ...counts, open: open.size, findings, taken };
  },
  exit: () => process.exit(0)
};

process.on('message', async (/** @type {any} */ { order, argument }) => {
  try {
    process.send?.({ order, answer: await orders[order](argument) });
  } catch (error) {
    process.send?.({ order, error: String(/** @type {any} */ (error)?.stack ?? error) });
  }
});
process.on('disconnect', () => process.exit(1));

start().then(
  () => process.send?.({ order: 'start', types: inputTypes() }),
  (error) => process.send?.({ order: 'start', error: String(error.stack) })
);
