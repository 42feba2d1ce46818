'use strict';
// CoAP servers for comparison. They answer at once and forward nothing.

const path = require('node:path');
const { Child } = require('../harness/child');
const { freePort, waitForPort } = require('../harness/net');
const { python } = require('../harness/tools');
const { build } = require('../harness/build');
const { needsCommand, needsCompiler, needsPython } = require('../harness/lacking');

/** @typedef {'tcp' | 'udp'} Transport */

/**
 * @typedef {object} CoapServer
 * @property {string} name @property {string} label @property {Transport[]} transports
 * @property {() => string} lacking returns '' if the server can run here
 * @property {(port: number, transport: Transport) => string[]} command
 * @property {(output: string) => unknown} [ready] tests its output; absent = it is ready when its TCP port is open
 * @property {Record<string, string>} [load] options of coapgen that differ from those for the gateway
 */

const folder = path.join(__dirname, '../coap');
/** @param {string} output */
const saysReady = (output) => output.includes('ready');

/** @type {CoapServer[]} */
const servers = [
  {
    name: 'aiocoap',
    label: 'aiocoap (Python)',
    transports: ['tcp', 'udp'],
    lacking: () =>
      needsPython('aiocoap', 'Run pip install aiocoap and set SEGANET_PYTHON to the Python that has it.'),
    command: (port, transport) => [python(), path.join(folder, 'aiocoap-server.py'), String(port), transport],
    ready: saysReady
  },
  {
    name: 'node-coap',
    label: 'node-coap (Node.js)',
    transports: ['udp'],
    lacking: () => '',
    command: (port) => [process.execPath, path.join(folder, 'node-coap-server.js'), String(port)],
    ready: saysReady
  },
  {
    name: 'libcoap',
    label: 'libcoap (C)',
    transports: ['tcp', 'udp'],
    lacking: () => needsCommand('coap-server-notls', 'Debian: apt install libcoap3-bin.'),
    command: (port) => ['coap-server-notls', '-A', '127.0.0.1', '-p', String(port), '-v', '0'],
    // libcoap's resource that takes any body; its path is fixed.
    load: { method: 'put', path: 'example_data' }
  },
  {
    name: 'bare',
    label: 'bare server',
    transports: ['tcp'],
    lacking: needsCompiler,
    command: (port) => [build('coapbare'), '--port', String(port), '--response-bytes', '7']
  }
];

/**
 * @param {CoapServer} server @param {Transport} transport @param {{cpus?: string, openFiles: number}} options
 * @returns {Promise<{port: number, child: Child}>}
 */
async function startServer(server, transport, options) {
  const port = await freePort();
  const [file, ...args] = server.command(port, transport);
  const child = new Child(file, args, { ...options, name: server.name });
  try {
    // libcoap listens on both with the same port.
    if (server.ready) await child.until(server.ready);
    else await waitForPort(port, '127.0.0.1', 10000, () => Boolean(child.exit));
  } catch (error) {
    await child.stop();
    throw error;
  }
  return { port, child };
}

module.exports = { servers, startServer };
