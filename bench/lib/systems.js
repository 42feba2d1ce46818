'use strict';
// The systems that are compared. Each takes devices on a plain MQTT port of loopback and, but for `bare`,
// forwards to the cloud over TLS 1.3 at QoS 1.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../test/fixtures/child');
const { startMosquitto } = require('../../test/fixtures/cloud');
const { startGateway, root } = require('../../test/fixtures/gateway');
const { freePort, waitForPort } = require('../../test/fixtures/net');
const { build } = require('./build');
const { writeNodeRed } = require('./nodered');

/**
 * @typedef {object} Context
 * @property {import('../../test/fixtures/cloud').Cloud} cloud
 * @property {string | undefined} cpus cores of the measured system
 * @property {number} openFiles
 * @property {string} datatype of Node-RED's mqtt in node
 * @property {Record<string, string>} gatewayEnv more SEGANET_* variables
 *
 * @typedef {object} System
 * @property {number} port where devices connect
 * @property {Child[]} children every process whose cost counts
 * @property {string[]} parts their names
 * @property {boolean} forwards
 * @property {() => Promise<boolean>} stop true = all ended with 0 after SIGTERM
 */

/** @param {Child[]} children @param {string} [folder] removed afterwards */
async function stopAll(children, folder) {
  // One after the other, the forwarding end last to start and first to stop.
  let clean = true;
  for (const child of [...children].reverse()) {
    const { code } = await child.stop();
    clean = clean && code === 0;
  }
  if (folder) fs.rmSync(folder, { recursive: true, force: true });
  return clean;
}

const temporary = () => fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-'));

/** @param {Context} context @param {string} mode @returns {Promise<System>} */
async function seganet(context, mode) {
  const gateway = await startGateway(context.cloud, {
    cpus: context.cpus,
    openFiles: context.openFiles,
    env: { SEGANET_BATCH_MODE: mode, ...context.gatewayEnv }
  });
  return {
    port: gateway.port,
    children: [gateway.child],
    parts: ['gateway'],
    forwards: true,
    stop: async () => (await gateway.stop()).code === 0
  };
}

/** @param {Context} context @returns {Promise<System>} */
async function nodered(context) {
  const folder = temporary();
  const port = await freePort();
  const uiPort = await freePort();
  /** @type {Child[]} */
  const children = [];
  try {
    const local = startMosquitto(
      folder,
      'local',
      ['log_dest stderr', 'log_type error', 'log_type subscribe', `listener ${port} 127.0.0.1`],
      context
    );
    children.push(local);
    await waitForPort(port, '127.0.0.1', 10000, () => Boolean(local.exit));
    const { cloud, datatype } = context;
    const [command, ...args] = writeNodeRed(folder, { uiPort, localPort: port, cloud, datatype });
    children.push(new Child(command, args, { ...context, cwd: root, name: 'node-red' }));
    await local.until((output) => output.includes('nodered-in'), 30000);
    await cloud.waitForClient(/^nodered-out$/);
  } catch (error) {
    await stopAll(children, folder);
    throw error;
  }
  const stop = () => stopAll(children, folder);
  return { port, children, parts: ['mosquitto', 'node-red'], forwards: true, stop };
}

/** @param {Context} context @returns {Promise<System>} */
async function mosquittoBridge(context) {
  const folder = temporary();
  const port = await freePort();
  const { cloud } = context;
  const bridge = startMosquitto(
    folder,
    'bridge',
    [
      'log_dest stderr',
      'log_type error',
      `listener ${port} 127.0.0.1`,
      'connection cloud',
      `address ${cloud.host}:${cloud.tlsPort}`,
      `bridge_cafile ${cloud.files.ca}`,
      'bridge_tls_version tlsv1.3',
      'remote_clientid bridge',
      'restart_timeout 1 5',
      'notifications false',
      'topic d/# out 1'
    ],
    context
  );
  const stop = () => stopAll([bridge], folder);
  try {
    await waitForPort(port, '127.0.0.1', 10000, () => Boolean(bridge.exit));
    await cloud.waitForClient(/^bridge$/);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, children: [bridge], parts: ['mosquitto'], forwards: true, stop };
}

/** @param {Context} context @returns {Promise<System>} */
async function bare(context) {
  const port = await freePort();
  const child = new Child(build('bare'), ['--port', String(port)], { ...context, name: 'bare' });
  await waitForPort(port, '127.0.0.1', 10000, () => Boolean(child.exit));
  return { port, children: [child], parts: ['bare'], forwards: false, stop: () => stopAll([child]) };
}

/** @type {Record<string, (context: Context) => Promise<System>>} */
const systems = {
  seganet: (context) => seganet(context, 'envelope'),
  'seganet-records': (context) => seganet(context, 'records'),
  nodered,
  'mosquitto-bridge': mosquittoBridge,
  bare
};

module.exports = { systems };
