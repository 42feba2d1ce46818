'use strict';
// A real Node-RED with a flow of the fuzzer. Its parent deploys, asks what is left to deliver, and kills it.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { makeFlow } = require('./flow');

const root = path.join(__dirname, '..', '..', '..');
const options = JSON.parse(process.argv[2]);
/** @type {any} */
const RED = require('node-red');

/** @param {any} message of Node-RED's log */
function onLog({ level, msg }) {
  const text = String(msg?.stack ?? msg?.message ?? msg);
  const isFault = /Internal error; the gateway continues/.test(text) || level <= 10;
  if (isFault) process.send?.({ fault: text });
}

/** @param {number} ms */
function block(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** @param {'full' | 'nodes' | 'flows'} type @param {number} version */
async function deploy(type, version) {
  const started = new Promise((resolve) => RED.events.once('flows:started', resolve));
  const { flow } = makeFlow({ ...options, version });
  await RED.runtime.flows.setFlows({ flows: { flows: flow }, deploymentType: type, req: {} });
  await started;
}

async function start() {
  const server = http.createServer((_request, response) => response.end());
  RED.init(server, {
    userDir: options.folder,
    nodesDir: [root],
    flowFile: 'flows.json',
    httpAdminRoot: '/red',
    httpNodeRoot: false,
    disableEditor: true,
    credentialSecret: 'fuzzer',
    nodeCloseTimeout: 24000,
    telemetry: { enabled: false },
    functionGlobalContext: { fuzz: { setImmediate, block } },
    logging: { own: { level: 'warn', handler: () => onLog } }
  });
  fs.writeFileSync(path.join(options.folder, 'flows.json'), JSON.stringify(makeFlow(options).flow));
  const started = new Promise((resolve) => RED.events.once('flows:started', resolve));
  await RED.start();
  await started;
}

/** Records that the engine has not delivered yet. */
function left() {
  const { host } = RED.nodes.getNode('engine');
  const { heldRecords, backlogRecords, counters, waiting } = host.snapshot();
  const sum = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0);
  return { held: sum(heldRecords) + sum(backlogRecords) + waiting, dropped: counters.recordsDropped ?? 0 };
}

/** @type {Record<string, (order: any) => unknown>} */
const orders = { deploy: ({ type, version }) => deploy(type, version), left };

process.on('message', async (/** @type {any} */ order) => {
  try {
    process.send?.({ answer: (await orders[order.name](order)) ?? true });
  } catch (error) {
    process.send?.({ fault: String(/** @type {any} */ (error)?.stack ?? error), answer: true });
  }
});
process.on('disconnect', () => process.exit(1));

start().then(
  () => process.send?.({ answer: true }),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
