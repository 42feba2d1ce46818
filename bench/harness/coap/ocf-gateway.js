'use strict';
// A gateway with an ocf cloud node, and devices of one user that have signed up.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { newCode } = require('../../../nodes/lib/ocf/cloud');
const { encode } = require('../../../nodes/lib/ocf/cloud/bodies');
const { FORMAT, OPTION, uint } = require('../../../nodes/lib/ocf/cloud/coap');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { hashOf, newPair } = require('../../../nodes/lib/ocf/cloud/tokens');
const { Child } = require('../child');
const { coapBody, coapFrame } = require('./coap-bytes');
const { gatewayCommand, root } = require('../gateway');
const { freePort, waitForPort } = require('../net');

const POST = 2;

/** @param {string} home @param {number} port @param {number} workers */
function flowOf(home, port, workers) {
  const place = { z: 'tab', x: 100, y: 100, engine: 'engine' };
  return [
    { id: 'tab', type: 'tab', label: 'cloud' },
    { id: 'engine', type: 'seganet-engine', workers: String(workers), logDir: path.join(home, 'log') },
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1', clientId: 'bench' },
    {
      ...place,
      id: 'cloud',
      type: 'seganet-ocf-cloud',
      version: 1,
      port: String(port),
      storeFile: path.join(home, 'ocf.db'),
      wires: [['uplink']]
    },
    { ...place, id: 'uplink', type: 'seganet-uplink', broker: 'broker', topic: 'up/{class}', wires: [] }
  ];
}

/**
 * Starts the gateway and signs devices up.
 * @param {{ devices: number, workers: number, cpus?: string }} options
 */
async function startOcfGateway({ devices, workers, cpus }) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-home-'));
  const [port, adminPort] = [await freePort(), await freePort()];
  const flow = JSON.stringify(flowOf(home, port, workers));
  fs.writeFileSync(path.join(home, 'gateway.json'), flow, { mode: 0o600 });
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
  const env = {
    ...Object.fromEntries(clean),
    SEGANET_HOME: home,
    SEGANET_GATEWAY_ID: 'gw-bench',
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
    SEGANET_EDITOR_PORT: String(adminPort)
  };
  const [command, ...args] = gatewayCommand();
  const child = new Child(command, args, { name: 'gateway', cwd: root, env, cpus });
  const stop = async () => {
    await child.stop('SIGTERM');
    fs.rmSync(home, { recursive: true, force: true });
  };
  try {
    await waitForPort(port, '127.0.0.1', 30000, () => Boolean(child.exit));
    const hellos = await signUp(path.join(home, 'ocf.db'), devices);
    const stats = async () =>
      (await fetch(`http://127.0.0.1:${adminPort}/seganet/engines/engine/stats`)).json();
    return { child, port, hellos, stats, stop };
  } catch (error) {
    await stop();
    throw new Error(`the gateway did not become ready; its output:\n${child.output.slice(-4000)}`, {
      cause: error
    });
  }
}

/**
 * Signs devices of one user up.
 * @param {string} file of the store @param {number} count
 * @returns {Promise<{ di: string, hello: Buffer }[]>} hello: the request that signs the device in
 */
async function signUp(file, count) {
  const store = new SqliteStore(file);
  const found = [];
  try {
    for (let i = 0; i < count; i += 1) {
      const di = randomUUID();
      const now = Date.now();
      const { code } = await newCode(store, 'bench');
      const pair = newPair(now, -1);
      const { uid, problem } = await store.write('signUp', {
        hash: hashOf(code),
        di,
        kind: 'device',
        identity: null,
        now,
        tokens: pair.stored,
        redeemedUntil: now,
        isFull: false
      });
      if (problem !== '') throw new Error(`a device could not sign up: ${problem}`);
      const body = encode({ di, uid, accesstoken: pair.access, login: true });
      found.push({ di, hello: coapFrame(POST, coapBody(signInOptions(), body)) });
    }
  } finally {
    await store.close();
  }
  return found;
}

/** @returns {import('./coap-bytes').Option[]} */
const signInOptions = () => [
  ...['oic', 'sec', 'session'].map((segment) => /** @type {[number, string]} */ ([OPTION.URI_PATH, segment])),
  [OPTION.CONTENT_FORMAT, uint(FORMAT.OCF)]
];

module.exports = { startOcfGateway };
