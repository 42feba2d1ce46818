'use strict';
// Nebula: the hub is the lighthouse, and every node has a certificate of one CA.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { program } = require('../network/programs');
const { stateOf } = require('../network/home');
const { ping } = require('../network/traffic');
const { eventually, sleep } = require('../network/wait');

const PORT = 4242;
const HUB = '10.79.0.1';

/** @param {string} folder @param {string} name @param {string} address */
function sign(folder, name, address) {
  const files = ['-out-crt', `${name}.crt`, '-out-key', `${name}.key`];
  const args = ['sign', '-name', name, '-networks', `${address}/24`, ...files];
  execFileSync(program('nebula-cert'), args, { cwd: folder, stdio: 'pipe' });
}

/** @param {string} folder @param {string} name @param {string} hub @param {number} mtu @returns {string} */
function configuration(folder, name, hub, mtu) {
  const isHub = name === 'hub';
  const any = [{ port: 'any', proto: 'any', host: 'any' }];
  // Nebula reads YAML, of which JSON is a part.
  return JSON.stringify({
    pki: {
      ca: path.join(folder, 'ca.crt'),
      cert: path.join(folder, `${name}.crt`),
      key: path.join(folder, `${name}.key`)
    },
    static_host_map: isHub ? {} : { [HUB]: [`${hub}:${PORT}`] },
    lighthouse: { am_lighthouse: isHub, hosts: isHub ? [] : [HUB] },
    listen: { host: '0.0.0.0', port: PORT },
    tun: { dev: 'neb0', mtu },
    logging: { level: 'error' },
    firewall: { outbound: any, inbound: any }
  });
}

/** @param {import('../network/star').Star} star @param {{ mtu: number, workers?: number }} options */
async function start(star, { mtu, workers }) {
  const folder = stateOf('nebula');
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { mode: 0o700 });
  execFileSync(program('nebula-cert'), ['ca', '-name', 'bench'], { cwd: folder, stdio: 'pipe' });
  const env = { ...process.env, ...(workers ? { GOMAXPROCS: String(workers) } : {}) };
  /** @type {import('../../harness/child').Child[]} */
  const engines = [];
  for (const [i, place] of [star.hub, ...star.spokes].entries()) {
    sign(folder, place.name, i === 0 ? HUB : `10.79.0.${i + 9}`);
    const file = path.join(folder, `${place.name}.yml`);
    fs.writeFileSync(file, configuration(folder, place.name, star.hubAddress, mtu));
    engines.push(place.start(program('nebula'), ['-config', file], { name: 'nebula', env }));
    await eventually('nebula has its interface', () => place.run('ip -o link').includes('neb0'));
  }
  await sleep(500);
  for (const spoke of star.spokes) {
    const { answered } = await ping(spoke, HUB, 2, 0.1);
    if (answered === 0) throw new Error(`${spoke.name} does not reach the hub.`);
  }
  return {
    hub: HUB,
    engines,
    figures: async () => null,
    stop: async () => {
      await Promise.all(engines.map((child) => child.stop()));
    }
  };
}

module.exports = { start };
