'use strict';
// Starts a tenant as a child process in a network namespace of its own, which has nothing but a loopback interface, and
// asks it for its health: a restored tenant must not deliver old records, nor use the addresses of the running one.

const fs = require('node:fs');
const path = require('node:path');
const { spawn, spawnSync } = require('node:child_process');
const { setTimeout: sleep } = require('node:timers/promises');
const { MAX_OUTPUT, lastOf } = require('./output');
const { SOCKET, ask, jsonOf } = require('./gateway-copies');

const READY_MS = 60_000;
const STOP_MS = 30_000;
const EVERY_MS = 50;
/** Longest path of a Unix socket, bytes. */
const MAX_SOCKET_PATH = 107;
const PROBE = `const [port] = process.argv.slice(1);
const socket = require('node:net').connect(Number(port), '127.0.0.1');
socket.setTimeout(2000, () => process.exit(1));
socket.once('connect', () => process.exit(0));
socket.once('error', () => process.exit(1));`;

/**
 * @typedef {object} Program
 * @property {string[]} command
 * @property {NodeJS.ProcessEnv} env
 * @property {number} port on which it accepts connections, on 127.0.0.1 or all addresses
 * @property {number} [uid] user of the process, if this process is root
 * @property {number} [gid]
 */

/** @type {string[] | null | undefined} */
let known;

/** @returns {string[] | null} arguments of unshare that work here; null = no namespace is possible */
function namespaceOptions() {
  if (known !== undefined) return known;
  const tries = [['--net'], ['--user', '--map-root-user', '--net']];
  const enter = ['--', 'sh', '-c', 'ip link set lo up'];
  known =
    tries.find((options) => spawnSync('unshare', [...options, ...enter], { stdio: 'ignore' }).status === 0) ??
    null;
  return known;
}

/**
 * @param {Program} program
 * @param {string} folder its working folder, the copy of the volume
 * @param {{ readyMs?: number, stopMs?: number }} [limits]
 * @returns {Promise<import('./restore').Offline>}
 * @throws {Error} if this system allows no network namespace; ask namespaceOptions() first
 */
async function startOffline({ command, env, port, uid, gid }, folder, limits = {}) {
  const { readyMs = READY_MS, stopMs = STOP_MS } = limits;
  const options = namespaceOptions();
  if (!options) throw new Error('This system does not allow a network namespace');
  const user = uid ? ['setpriv', `--reuid=${uid}`, `--regid=${gid ?? uid}`, '--clear-groups', '--'] : [];
  const script = 'ip link set lo up && exec "$@"';
  const args = [...options, '--', 'sh', '-c', script, 'sh', ...user, ...command];
  const child = spawn('unshare', args, {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe']
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-MAX_OUTPUT)));
  }
  /** @type {string | null} */
  let ended = null;
  const closed = new Promise((resolve) => {
    child.once('error', ({ message }) => resolve((ended ??= message)));
    child.once('close', (code, signal) =>
      resolve((ended ??= signal ? `ended by ${signal}` : `ended with code ${code}`))
    );
  });
  const kill = (/** @type {NodeJS.Signals} */ signal) => {
    try {
      if (child.pid) process.kill(-child.pid, signal);
    } catch {
      // The group has ended.
    }
  };
  const health = async () => {
    const deadline = performance.now() + readyMs;
    let reason = '';
    while (performance.now() < deadline) {
      if (ended !== null) return { ok: false, reason: `it ${ended}${lastOf(output)}` };
      const state = await look(folder, { pid: /** @type {number} */ (child.pid), options, port });
      if (state.ok) return { ok: true, reason: '' };
      reason = state.reason;
      await sleep(EVERY_MS);
    }
    return { ok: false, reason: `it was not healthy after ${readyMs / 1000} s: ${reason}${lastOf(output)}` };
  };
  const stop = async (mostMs = stopMs) => {
    kill('SIGTERM');
    const timer = setTimeout(() => kill('SIGKILL'), mostMs);
    await closed;
    clearTimeout(timer);
    kill('SIGKILL');
  };
  return { health, stop };
}

/**
 * @param {string} folder
 * @param {{ pid: number, options: string[], port: number }} tenant pid: of its network; options: of unshare
 * @returns {Promise<{ ok: boolean, reason: string, isGateway: boolean }>}
 */
async function look(folder, { pid, options, port }) {
  const socket = path.join(folder, SOCKET);
  const isGateway = fs.existsSync(path.join(folder, 'gateway.json'));
  if (isGateway && Buffer.byteLength(socket) <= MAX_SOCKET_PATH) {
    return { ...(await gatewayHealth(socket)), isGateway: true };
  }
  const user = options.includes('--user') ? ['--user', '--preserve-credentials'] : [];
  const enter = [
    '--target',
    String(pid),
    ...user,
    '--net',
    '--',
    process.execPath,
    '-e',
    PROBE,
    String(port)
  ];
  const probe = spawn('nsenter', enter, { stdio: 'ignore' });
  const ok = await new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.once('close', (code) => resolve(code === 0));
  });
  return { ok, reason: `nothing accepts connections on port ${port}`, isGateway: false };
}

/**
 * Asks a gateway. Its uplinks cannot be connected without a network, so they do not count.
 * @param {string} socket
 * @returns {Promise<{ ok: boolean, reason: string }>}
 */
async function gatewayHealth(socket) {
  try {
    const response = await ask(socket, '/status', 2000);
    const { ready, engines, listeners } = await jsonOf(response);
    if (ready !== true) return { ok: false, reason: 'its flows are not started' };
    const down = engines.find((/** @type {any} */ { running }) => running !== true);
    if (down) return { ok: false, reason: `the engine ${down.name || down.id} does not run: ${down.reason}` };
    const log = engines.find((/** @type {any} */ each) => each.log && each.log.state !== 'ready');
    if (log)
      return { ok: false, reason: `the log of ${log.name || log.id} is ${log.log.state}: ${log.log.reason}` };
    const red = listeners.find((/** @type {any} */ { fill }) => fill === 'red');
    if (red) return { ok: false, reason: `${red.name || red.id} shows: ${red.text}` };
    return { ok: true, reason: '' };
  } catch (error) {
    return { ok: false, reason: /** @type {Error} */ (error).message };
  }
}

module.exports = { look, namespaceOptions, startOffline };
