'use strict';
// What a container costs: processor, memory, disk and network of the same program in a tenant's container, without one,
// and without one under the same limits (criteria 2 to 4; the paper's figure 5).

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../harness/child');
const { askEngine } = require('../../harness/containers');
const { eventually, freePort, waitForPort } = require('../../harness/net');
const { Home } = require('../home');
const { Keeper } = require('../keeper');
const { Limits } = require('./limits');

const TENANT = 'work';
const WORK = path.join(__dirname, 'work.js');
const HTTP_PORT = 8080;
const UDP_PORT = 9000;
const MBIT = 90;
const START_MS = 30_000;
const RENEW_MS = 5000;
const MEMORY_MIB = 1024;

/** @typedef {{ host: string, port: number, peer: string }} Place peer: address at which it reaches this machine */

/**
 * @param {Place} place @param {string} work @param {Record<string, string | number>} [options]
 * @returns {Promise<any>} its figures
 */
async function ask({ host, port }, work, options = {}) {
  const query = new URLSearchParams(Object.entries(options).map(([name, value]) => [name, String(value)]));
  const response = await fetch(`http://${host}:${port}/${work}?${query}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`${work}: ${text}`);
  return JSON.parse(text);
}

/** Addresses of the link between this machine and a native program. @param {number} index of the program */
const linkOf = (index) => ({ here: `10.212.${index}.1`, there: `10.212.${index}.2`, prefix: 30 });
/** The link of a process that has no other one. */
const AWAIT_LINK = `ip link set lo up
while ! ip addr add "$1" dev bench1 2>/dev/null; do sleep 0.02; done
ip link set bench1 up
shift
exec "$@"`;

/** @param {string} folder of its data @param {string} host @param {number} port */
const environment = (folder, host, port) => ({
  ...process.env,
  SEGANET_HOME: folder,
  SEGANET_TENANT_HOST: host,
  SEGANET_TENANT_HTTP: String(port)
});

/** Starts the other end of the UDP. @param {string} folder of its data */
async function startPeer(folder) {
  const port = await freePort();
  const child = new Child(process.execPath, [WORK], {
    name: 'peer',
    env: environment(folder, '127.0.0.1', port)
  });
  await waitForPort(port, '127.0.0.1', START_MS, () => Boolean(child.exit));
  return { child, place: { host: '127.0.0.1', port, peer: '127.0.0.1' } };
}

/**
 * Starts the program outside of any container. Its only link is one like a container's, but without a bridge: the
 * loopback interface has no cost of a link, and no program uses it to reach another machine.
 * @param {string} folder of its data
 * @param {{ index: number, limits?: Limits }} options limits: that it gets before it begins
 */
async function startNative(folder, { index, limits }) {
  const { here, there, prefix } = linkOf(index);
  const outer = `benchout${index}`;
  const env = environment(folder, there, HTTP_PORT);
  const program = ['/bin/sh', '-c', AWAIT_LINK, 'sh', `${there}/${prefix}`, process.execPath, WORK];
  const child = new Child('unshare', ['--net', '--', ...program], { name: 'native', env });
  const networkOf = (/** @type {number | string} */ pid) => fs.readlinkSync(`/proc/${pid}/ns/net`);
  await eventually(() => networkOf(child.pid) !== networkOf('self'), {
    timeoutMs: START_MS,
    what: 'its network'
  });
  // It waits for its link, so Node.js itself begins under the limits.
  limits?.take(child.pid);
  for (const args of [
    ['link', 'add', outer, 'type', 'veth', 'peer', 'name', 'bench1', 'netns', String(child.pid)],
    ['addr', 'add', `${here}/${prefix}`, 'dev', outer],
    ['link', 'set', outer, 'up']
  ]) {
    execFileSync('ip', args);
  }
  await waitForPort(HTTP_PORT, there, START_MS, () => Boolean(child.exit));
  return { child, place: { host: there, port: HTTP_PORT, peer: here } };
}

/**
 * UDP at 90 Mbit/s to the program, and from it.
 * @param {Place} place @param {Place} peer @param {number} ms
 * @returns {Promise<{ server: number, client: number, arrived: number }>} CPU seconds of the program for a GB; arrived:
 *   fraction of the bytes
 */
async function udp(place, peer, ms) {
  const load = { mbit: MBIT, ms, port: UDP_PORT };
  await ask(place, 'udp-open', { port: UDP_PORT });
  const toIt = await ask(peer, 'udp-send', { ...load, host: place.host });
  const server = await ask(place, 'udp-close');
  const port = UDP_PORT + 1;
  await ask(peer, 'udp-open', { port });
  const client = await ask(place, 'udp-send', { ...load, port, host: place.peer });
  const atPeer = await ask(peer, 'udp-close');
  const perGB = (/** @type {any} */ { bytes, cpuSeconds }) => (cpuSeconds / bytes) * 1e9;
  return {
    server: perGB(server),
    client: perGB(client),
    arrived: Math.min(server.bytes / toIt.bytes, atPeer.bytes / client.bytes)
  };
}

/** @param {Place} place @param {Place} peer @param {{ ms: number, mib: number, threads: number[] }} options */
async function workAll(place, peer, { ms, mib, threads }) {
  /** @type {Record<string, number>} */
  const primes = {};
  for (const each of threads) primes[each] = (await ask(place, 'primes', { threads: each, ms })).perSecond;
  return {
    primes,
    copies: await ask(place, 'copies', { ms: ms / 2 }),
    write: (await ask(place, 'write', { mib })).mibPerSecond,
    udp: await udp(place, peer, ms * 2)
  };
}

/** @param {string} socket @returns {Promise<string[]>} files that differ from the image of the only container */
async function changesOf(socket) {
  const [{ Id: id }] = JSON.parse(await askEngine(socket, 'GET', '/containers/json?all=true'));
  const changes = JSON.parse((await askEngine(socket, 'GET', `/containers/${id}/changes`)) || 'null') ?? [];
  return changes.map((/** @type {{ Path: string }} */ { Path: file }) => file);
}

/**
 * The three take turns.
 * @param {{ driver: import('../stage').Driver, socket: string, ms: number, mib: number, repeats: number, threads:
 *   number[] }} options
 * @returns {Promise<{ native: any[], limited: any[], container: any[], changes: number }>} limited: native under the
 *   limits of the container; changes: files in the container's layer
 */
async function compare({ driver, socket, repeats, ...options }) {
  const home = new Home();
  const keeper = new Keeper(home, driver.env);
  /** @type {Child[]} */
  const children = [];
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Limits | null} */
  let control = null;
  try {
    const limits = { memoryMiB: MEMORY_MIB, cpus: os.availableParallelism() };
    const entry = { name: TENANT, driver: driver.name, image: driver.image, command: driver.command };
    // The program without a container has no limit of writes, either.
    const all = { ...limits, writeMiBps: 0 };
    home.writeTenants([{ ...entry, port: 0, http: HTTP_PORT, limits: all }]);
    await keeper.start();
    const body = { reason: 'operator', class: 8, holder: 'bench' };
    const { lease, host } = await keeper.ask('POST', `/v1/tenants/${TENANT}/lease`, body);
    timer = setInterval(() => void keeper.ask('PUT', `/v1/leases/${lease}`).catch(() => {}), RENEW_MS);
    const native = await startNative(home.folder, { index: 0 });
    children.push(native.child);
    control = Limits.make(limits);
    const limited = await startNative(home.folder, { index: 1, limits: control });
    const peer = await startPeer(home.folder);
    children.push(limited.child, peer.child);
    // The address of this machine in the tenant's network is the one before the tenant's.
    const bridge = host.replace(/\d+$/, (/** @type {string} */ last) => String(Number(last) - 1));
    const container = { host, port: HTTP_PORT, peer: bridge };
    const places = { native: native.place, limited: limited.place, container };
    /** @type {Record<keyof typeof places, any[]>} */
    const found = { native: [], limited: [], container: [] };
    // The engine itself makes the places of its mounts.
    const before = await changesOf(socket);
    // Machine code is made during the first run.
    for (const place of Object.values(places)) {
      await workAll(place, peer.place, { ...options, ms: 100, mib: 16, threads: [1] });
    }
    for (let i = 0; i < repeats; i++) {
      const turns = /** @type {(keyof typeof places)[]} */ (['native', 'limited', 'container']);
      for (const name of i % 2 ? turns.reverse() : turns) {
        found[name].push(await workAll(places[name], peer.place, options));
      }
    }
    const after = await changesOf(socket);
    return { ...found, changes: after.filter((each) => !before.includes(each)).length };
  } finally {
    clearInterval(timer);
    for (const child of children) await child.stop('SIGTERM');
    await control?.remove();
    await keeper.stop();
    home.remove();
  }
}

module.exports = { compare };
