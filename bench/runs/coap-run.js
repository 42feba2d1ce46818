'use strict';
// Runs a CoAP server under load: at its capacity, then at a fraction of it.

const { freePort, waitForPort } = require('../harness/net');
const { generate } = require('./coapgen');
const { startServer } = require('./coap-servers');
const { loadOf } = require('./load');
const { readCpu } = require('../harness/proc');
const { Stage, sleep } = require('./stage');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('./coap-servers').Transport} Transport */
/** @typedef {import('./coapgen').LoadOptions} LoadOptions */

/** Returns the options of a step from the result of the previous one. @typedef {(before: any) => LoadOptions} Step */

const ENGINE = 'seganet-engine-1';
const PRIORITY = 'seganet-priority-1';

/** @param {number} port @param {Transport} transport */
const coapNode = (port, transport) => ({
  id: 'seganet-coap-1',
  type: 'seganet-coap-devices',
  z: 'seganet-tab',
  name: '',
  engine: ENGINE,
  transport,
  host: '127.0.0.1',
  port: String(port),
  path: 'd', // the sink expects topics below d/
  commandPath: 'cmd',
  login: 'none',
  wires: [[PRIORITY]],
  x: 120,
  y: 300
});

/** Returns the first core of a list: one worker, and one core for a server with one thread. @param {string} [cpus] */
const oneCore = (cpus) => cpus && (cpus.match(/\d+/) ?? [])[0];

/**
 * @param {Plan} plan @param {number} pid of the server's group @param {number} port @param {Step[]} steps
 * @param {LoadOptions} [own] options for this server
 */
async function runSteps(plan, pid, port, steps, own = {}) {
  const results = [];
  for (const step of steps) {
    const options = { drain: 10, ...step(results.at(-1)), ...own };
    const before = readCpu(pid);
    const since = Date.now();
    const load = await generate(port, options, plan.harnessCpus, plan.openFiles);
    const cpuSeconds = readCpu(pid) - before;
    results.push({
      ...load,
      serverCpuSeconds: cpuSeconds,
      cores: cpuSeconds / ((Date.now() - since) / 1000)
    });
    await sleep(500);
  }
  return results;
}

/** Returns a load's result without its streams, which are too long to keep. @param {any} load */
const short = (load) => ({ ...load, streams: undefined });

/**
 * @param {Plan} plan @param {import('./coap-servers').CoapServer} server @param {Transport} transport
 * @param {Step[]} steps
 */
async function runServer(plan, server, transport, steps) {
  const options = { cpus: oneCore(plan.gatewayCpus), openFiles: plan.openFiles };
  const { port, child } = await startServer(server, transport, options);
  try {
    return { steps: (await runSteps(plan, child.pid, port, steps, server.load)).map(short) };
  } finally {
    await child.stop('SIGTERM');
  }
}

/**
 * @param {Plan} plan @param {Transport} transport @param {Record<string, string>} env @param {Step[]} steps
 * @param {AbortSignal} [signal]
 */
async function runGateway(plan, transport, env, steps, signal) {
  const port = await freePort();
  const profile = loadOf(plan, { gatewayEnv: { SEGANET_WORKERS: '1', ...env } });
  const stage = new Stage({
    ...profile,
    gatewayCpus: oneCore(plan.gatewayCpus),
    flow: [coapNode(port, transport)],
    signal
  });
  try {
    await stage.open();
    const { children } = await stage.startSystem('seganet');
    if (transport === 'tcp') await waitForPort(port, '127.0.0.1', 10000, () => Boolean(children[0].exit));
    else await sleep(1000);
    const results = await runSteps(plan, children[0].pid, port, steps);
    await stage.settle(
      results.reduce((sum, { answered }) => sum + answered, 0),
      4000,
      60000
    );
    for (const { streams } of results) stage.made.push(...streams);
    const { verdict, arrived } = await stage.finish();
    return {
      steps: results.map(short),
      verdict,
      arrived: { duplicates: arrived.duplicates, outOfOrder: arrived.outOfOrder }
    };
  } finally {
    await stage.close();
  }
}

module.exports = { oneCore, runServer, runGateway };
