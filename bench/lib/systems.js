'use strict';
// The systems that are compared. Each takes devices on a plain MQTT port of loopback and, but for `bare`,
// forwards to the cloud over TLS 1.3 at QoS 1.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../test/fixtures/child');
const { startMosquitto } = require('../../test/fixtures/cloud');
const { root } = require('../../test/fixtures/gateway');
const { freePort, waitForPort } = require('../../test/fixtures/net');
const { build } = require('./build');
const { BenchGateway } = require('./gateway');
const { writeNodeRed } = require('./nodered');

/**
 * @typedef {object} Context
 * @property {import('../../test/fixtures/cloud').Cloud} cloud
 * @property {string | undefined} cpus cores of the measured system
 * @property {number} openFiles
 * @property {string} datatype of Node-RED's mqtt in node
 * @property {Record<string, string>} gatewayEnv more SEGANET_* variables
 * @property {boolean} [statistics] the gateway's admin API is open
 * @property {object[]} [flow] nodes beside those of the gateway's flow
 *
 * @typedef {object} System
 * @property {number} port where devices connect
 * @property {Child[]} children every process whose cost counts, as of now
 * @property {string[]} parts their names
 * @property {boolean} forwards
 * @property {BenchGateway} [gateway] of SegaNet
 * @property {() => Promise<boolean>} stop true = all ended with 0 after SIGTERM
 * @property {() => Promise<void>} kill kill -9 of all at once, like a reset button
 * @property {() => Promise<number>} restart on the same port and folder; ms until devices can connect
 * @property {() => Promise<void>} close kills what is left and removes its files
 */

const temporary = () => fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-'));

/**
 * A system of ordinary processes.
 * @param {object} plan
 * @param {number} plan.port @param {string[]} plan.parts @param {string} [plan.folder] removed in the end
 * @param {boolean} [plan.forwards]
 * @param {(started: (child: Child) => void) => Promise<void> | void} plan.launch starts the processes
 * @param {(children: Child[]) => Promise<void>} [plan.ready] waits until the first start is complete
 * @returns {Promise<System>}
 */
async function assemble({ port, parts, folder, forwards = true, launch, ready }) {
  /** @type {Child[]} */
  let children = [];
  const kill = async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.exited));
  };
  const restart = async () => {
    const since = Date.now();
    children = [];
    await launch((child) => children.push(child));
    await waitForPort(port, '127.0.0.1', 10000, () => children.some((child) => child.exit));
    return Date.now() - since;
  };
  const close = async () => {
    await kill();
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
  };
  try {
    await restart();
    if (ready) await ready(children);
  } catch (error) {
    await close();
    throw error;
  }
  const stop = async () => {
    // One after the other, the forwarding end last to start and first to stop.
    let clean = true;
    for (const child of [...children].reverse()) clean = (await child.stop()).code === 0 && clean;
    return clean;
  };
  return {
    port,
    parts,
    forwards,
    stop,
    kill,
    restart,
    close,
    get children() {
      return children;
    }
  };
}

/** @param {Context} context @param {string} mode @returns {Promise<System>} */
async function seganet(context, mode) {
  const { cloud, cpus, openFiles, statistics, flow } = context;
  const env = { SEGANET_BATCH_MODE: mode, ...context.gatewayEnv };
  const gateway = new BenchGateway({ cloud, cpus, openFiles, statistics, flow, env });
  try {
    await gateway.start();
    // Every client but the receivers is the gateway.
    await cloud.waitForClient(/^(?!receiver|bench-)/, 20000);
  } catch (error) {
    await gateway.close();
    throw error;
  }
  return {
    port: gateway.port,
    parts: ['gateway'],
    forwards: true,
    gateway,
    stop: () => gateway.stop(),
    kill: () => gateway.kill(),
    restart: () => gateway.start(),
    close: () => gateway.close(),
    get children() {
      return gateway.child ? [gateway.child] : [];
    }
  };
}

/**
 * What a mosquitto keeps of its queues. `saved` is the most careful that it can: all of it, every second.
 * @typedef {'memory' | 'exit' | 'saved'} Keeping
 * @param {Keeping} keeping @param {string} folder @returns {string[]}
 */
function persistence(keeping, folder) {
  if (keeping === 'memory') return [];
  const lines = ['persistence true', `persistence_location ${folder}/`];
  return keeping === 'saved' ? [...lines, 'autosave_interval 1'] : lines;
}

const brokerLog = ['log_dest stderr', 'log_type error', 'log_type subscribe'];

/** @param {Context} context @param {Keeping} keeping @returns {Promise<System>} */
async function nodered(context, keeping) {
  const { cloud, datatype } = context;
  const folder = temporary();
  const port = await freePort();
  const uiPort = await freePort();
  const lines = [...brokerLog, ...persistence(keeping, folder), `listener ${port} 127.0.0.1`];
  const sessions = keeping !== 'memory';
  const [command, ...args] = writeNodeRed(folder, { uiPort, localPort: port, cloud, datatype, sessions });
  return assemble({
    port,
    folder,
    parts: ['mosquitto', 'node-red'],
    launch: async (started) => {
      const local = startMosquitto(folder, 'local', lines, context);
      started(local);
      await waitForPort(port, '127.0.0.1', 10000, () => Boolean(local.exit));
      started(new Child(command, args, { ...context, cwd: root, name: 'node-red' }));
    },
    ready: async ([local]) => {
      await local.until((output) => output.includes('nodered-in'), 30000);
      await cloud.waitForClient(/^nodered-out$/);
    }
  });
}

/** @param {Context} context @param {Keeping} keeping @returns {Promise<System>} */
async function mosquittoBridge(context, keeping) {
  const folder = temporary();
  const port = await freePort();
  const { cloud } = context;
  const lines = [
    ...brokerLog,
    ...persistence(keeping, folder),
    `listener ${port} 127.0.0.1`,
    'connection cloud',
    `address ${cloud.host}:${cloud.tlsPort}`,
    `bridge_cafile ${cloud.files.ca}`,
    'bridge_tls_version tlsv1.3',
    'remote_clientid bridge',
    'cleansession false',
    'restart_timeout 1 5',
    'notifications false',
    'topic d/# out 1'
  ];
  return assemble({
    port,
    folder,
    parts: ['mosquitto'],
    launch: (started) => started(startMosquitto(folder, 'bridge', lines, context)),
    ready: () => cloud.waitForClient(/^bridge$/)
  });
}

/** @param {Context} context @returns {Promise<System>} */
async function bare(context) {
  const port = await freePort();
  const launch = (/** @type {(child: Child) => void} */ started) =>
    started(new Child(build('bare'), ['--port', String(port)], { ...context, name: 'bare' }));
  return assemble({ port, parts: ['bare'], forwards: false, launch });
}

/** @type {Record<string, (context: Context) => Promise<System>>} */
const systems = {
  seganet: (context) => seganet(context, 'envelope'),
  'seganet-records': (context) => seganet(context, 'records'),
  nodered: (context) => nodered(context, 'memory'),
  'nodered-persistent': (context) => nodered(context, 'saved'),
  'mosquitto-bridge': (context) => mosquittoBridge(context, 'memory'),
  'mosquitto-bridge-persistent': (context) => mosquittoBridge(context, 'exit'),
  'mosquitto-bridge-saved': (context) => mosquittoBridge(context, 'saved'),
  bare
};

module.exports = { systems };
