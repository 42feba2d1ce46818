'use strict';
// Several gateways with one cloud, each with devices of its own or behind HAProxy.

const fs = require('node:fs');
const path = require('node:path');
const { engineId } = require('../harness/bench-gateway');
const { Child } = require('../harness/child');
const { sbin } = require('../harness/cloud');
const { root } = require('../harness/gateway');
const { freePort, waitForPort } = require('../harness/net');
const { systems } = require('../options/systems');

/**
 * @typedef {import('../systems').System} System
 * @typedef {import('./stage').Stage} Stage
 */

const CONFIG = path.join(root, 'docker/cluster/haproxy.cfg');

/**
 * Starts them one after the other, so that none waits for the cores longer than it may.
 * @param {Stage} stage @param {number} count @param {Record<string, string>} env settings of each
 * @param {System[]} started gets each of them as soon as it is there
 */
async function startGateways(stage, count, env, started) {
  const { profile, openFiles } = stage;
  const cloud = /** @type {import('../harness/cloud').Cloud} */ (stage.cloud);
  for (let number = 1; number <= count; number++) {
    const gatewayEnv = { ...env, ...profile.gatewayEnv, SEGANET_GATEWAY_ID: `gw-${number}` };
    started.push(
      await systems.seganet({ ...profile, cloud, openFiles, cpus: profile.gatewayCpus, gatewayEnv })
    );
  }
}

/**
 * Starts HAProxy with docker/cluster/haproxy.cfg, with one server line for each gateway.
 * @param {Stage} stage @param {System[]} gateways with an admin API
 * @returns {Promise<{ child: Child, port: number }>}
 */
async function startBalancer(stage, gateways) {
  const port = await freePort();
  const shipped = fs.readFileSync(CONFIG, 'utf8').split('\n');
  const isServer = (/** @type {string} */ line) => /^\s+server a /.test(line);
  const pattern = /** @type {string} */ (shipped.find(isServer));
  const servers = gateways.map(({ port: devices, gateway }, index) =>
    pattern
      .replace('server a', `server gw-${index + 1}`)
      .replace('${GATEWAY_A}', `127.0.0.1:${devices}`)
      .replace('${STATUS_A}', String(gateway?.editorPort))
  );
  const others = shipped.filter((line) => !/^\s+server /.test(line));
  const file = path.join(stage.folder, 'haproxy.cfg');
  fs.writeFileSync(file, `${[...others, ...servers].join('\n')}\n`);
  const env = { ...process.env, LISTEN: `127.0.0.1:${port}` };
  const child = new Child(sbin('haproxy'), ['-q', '-f', file], {
    env,
    cpus: stage.profile.harnessCpus,
    openFiles: stage.openFiles * 2
  });
  stage.tools.push(child);
  await waitForPort(port, '127.0.0.1', 10000, () => Boolean(child.exit));
  return { child, port };
}

/**
 * Returns the addresses of the connected devices of each gateway.
 * @param {System[]} gateways
 * @returns {Promise<Map<string, { gateway: number, address: string }>>} by device
 */
async function whereabouts(gateways) {
  const found = new Map();
  for (const [index, { gateway }] of gateways.entries()) {
    const url = `http://127.0.0.1:${gateway?.editorPort}/seganet/engines/${engineId}/agents?limit=10000`;
    const { agents } = /** @type {any} */ (await (await fetch(url)).json());
    for (const { device, address, connected } of agents)
      if (connected) found.set(device, { gateway: index, address });
  }
  return found;
}

/**
 * Returns the dead gateway's part of all devices times the number of gateways, and the devices of the others that
 * afterwards are at another gateway, or on another connection.
 * @param {Awaited<ReturnType<typeof whereabouts>>} before @param {typeof before} after @param {number} dead
 * @param {number} count of gateways
 */
function moves(before, after, dead, count) {
  const stayed = [...before].filter(([, { gateway }]) => gateway !== dead);
  const differs = (/** @type {'gateway' | 'address'} */ field) =>
    stayed.filter(([device, place]) => place[field] !== after.get(device)?.[field]).length;
  const share = ((before.size - stayed.length) / before.size) * count;
  return { share, moved: differs('gateway'), cut: differs('address') };
}

module.exports = { moves, startBalancer, startGateways, whereabouts };
