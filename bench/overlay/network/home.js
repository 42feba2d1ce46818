'use strict';
// The services and nodes of the overlay under test. All cases of a run share their state folders, so each node joins
// once.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('./wait');
const { program } = require('./programs');

const NETWORK = 'bench';
const PORT = 5201;
const READY_MS = 20_000;
const RULES = ['icmp', `tcp/${PORT}`, `udp/${PORT}`];

/** @type {string} */
let home = '';

/** @returns {string} the folder of the state folders; removed when this process ends */
function homeFolder() {
  if (!home) {
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-overlay-'));
    process.on('exit', removeHome);
  }
  return home;
}

/** A test runner's sandbox emits no `exit`, so a test calls this. */
function removeHome() {
  if (home) fs.rmSync(home, { recursive: true, force: true });
  home = '';
}

/** @param {string} name @returns {string} */
const stateOf = (name) => path.join(homeFolder(), name);

/** @param {string[]} args of seganet-overlay @returns {string} */
const ask = (...args) =>
  execFileSync(program('seganet-overlay'), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** @param {string} name @returns {any} of the node */
const statusOf = (name) => JSON.parse(ask('status', '--state', stateOf(name), '--json'));

/** @param {() => boolean} test @returns {boolean} false also if it throws */
function holds(test) {
  try {
    return test();
  } catch {
    return false;
  }
}

/**
 * Starts the services, makes the nodes members that are none yet, and sets the policy.
 * @param {import('./star').Star} star @param {string[]} names of the nodes
 * @param {{ cpus?: string }} [options] cores of the services
 */
async function startServices(star, names, { cpus } = {}) {
  const state = stateOf('services');
  const own = star.servicesAddress;
  const services = star.services.start(
    program('seganet-overlay'),
    [
      ...['serve', '--state', state, '--network', NETWORK, '--listen', `${own}:443`, '--public', own],
      ...['--relay-listen', `${own}:3478`, '--relay-allow', '10.78.0.0/24']
    ],
    { name: 'the services', cpus }
  );
  await services.until((output) => output.includes('ready'), READY_MS);
  if (!fs.existsSync(stateOf('policy.json'))) {
    const policy = { version: 0, allow: [{ from: '*', to: '*', ports: RULES }] };
    fs.writeFileSync(stateOf('policy.json'), JSON.stringify(policy));
    ask('policy', '--state', state, '--set', stateOf('policy.json'));
  }
  for (const name of names) join(star, name);
  return services;
}

/** @param {import('./star').Star} star @param {string} name */
function join(star, name) {
  if (fs.existsSync(path.join(stateOf(name), 'membership.json'))) return;
  const invitation = JSON.parse(ask('invite', '--state', stateOf('services'), '--name', name, '--json'));
  const { token, root, auth } = Object.fromEntries(
    Object.entries(invitation).map(([key, value]) => [key.toLowerCase(), value])
  );
  const [nsenter, ...enter] = star.services.within;
  const command = [program('seganet-overlay'), 'join', '--state', stateOf(name), '--url', auth[0]];
  execFileSync(nsenter, [...enter, ...command, '--root', root, '--token', token], { stdio: 'pipe' });
}

/** @param {string} name @returns {string} virtual IPv4 address of the node */
function addressOf(name) {
  const { addresses } = JSON.parse(fs.readFileSync(path.join(stateOf(name), 'membership.json'), 'utf8'));
  const found = addresses.find((/** @type {string} */ address) => !address.includes(':'));
  if (!found) throw new Error(`The node ${name} has no IPv4 address.`);
  return found;
}

/**
 * Starts a node that remembers no peer of an earlier case.
 * @param {import('./star').Place} place @param {string} name
 * @param {{ args?: string[], env?: Record<string, string>, within?: string[], hasTun?: boolean }} [options]
 */
async function startNode(place, name, { args = [], env = {}, within = [], hasTun = true } = {}) {
  fs.rmSync(path.join(stateOf(name), 'peers.json'), { force: true });
  const node = place.start(
    program('seganet-overlay'),
    ['node', '--state', stateOf(name), ...(hasTun ? ['--tun', 'ov0'] : []), ...args],
    { name: `the node ${name}`, env: { ...process.env, ...env }, within }
  );
  await Promise.race([
    eventually(`the node ${name} reaches its services`, () => holds(() => statusOf(name).node.signalling)),
    node.exited.then(() => {
      throw new Error(`The node ${name} ended: ${node.output.slice(-2000)}`);
    })
  ]);
  return node;
}

module.exports = { NETWORK, PORT, addressOf, removeHome, startNode, startServices, stateOf, statusOf };
