'use strict';
// WireGuard programs: wireguard-go as it comes, Tailscale's fork with bounded queues, and boringtun.

const { generateKeyPairSync } = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const { findBoringtun, program } = require('../network/programs');
const { stateOf } = require('../network/home');
const { eventually, sleep } = require('../network/wait');
const { ping } = require('../network/traffic');

const PORT = 51820;
const HUB = '10.79.0.1';
const FIGURES_MS = 3000;
const SOCKETS = '/var/run/wireguard';

/** @returns {{ secret: string, open: string }} an X25519 key in hexadecimal digits */
function makeKey() {
  const { d, x } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  const hex = (/** @type {string | undefined} */ text) =>
    Buffer.from(String(text), 'base64url').toString('hex');
  return { secret: hex(d), open: hex(x) };
}

/** @param {number} i of the spoke, from 0 */
const spokeAddress = (i) => `10.79.0.${i + 10}`;

/**
 * @param {import('../network/star').Star} star
 * @returns {{ place: import('../network/star').Place, address: string, text: string }[]} configurations, the hub's first
 */
function configurations(star) {
  const hubKey = makeKey();
  const keys = star.spokes.map(makeKey);
  // Tailscale's fork does not learn an endpoint from a packet, so the hub knows those of its peers, too.
  const peers = keys.flatMap(({ open }, i) => [
    `public_key=${open}`,
    `endpoint=${star.spokeAddress(i)}:${PORT}`,
    `allowed_ip=${spokeAddress(i)}/32`
  ]);
  const hub = [`private_key=${hubKey.secret}`, `listen_port=${PORT}`, ...peers];
  return [
    { place: star.hub, address: HUB, text: hub.join('\n') },
    ...star.spokes.map((place, i) => ({
      place,
      address: spokeAddress(i),
      text: [
        `private_key=${keys[i].secret}`,
        `listen_port=${PORT}`,
        `public_key=${hubKey.open}`,
        `endpoint=${star.hubAddress}:${PORT}`,
        'allowed_ip=10.79.0.0/24'
      ].join('\n')
    }))
  ];
}

/** Sends a configuration to a program's socket. @param {string} path @param {string} text */
function configure(path, text) {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = net.connect(path, () => socket.write(`set=1\n${text}\n\n`));
    socket.setEncoding('utf8').on('data', (part) => {
      answer += part;
      if (!answer.endsWith('\n\n')) return;
      socket.destroy();
      if (answer.includes('errno=0')) resolve(undefined);
      else reject(new Error(`The configuration was refused: ${answer.trim()}`));
    });
    socket.on('error', reject);
    socket.on('end', () => reject(new Error('The program closed its socket.')));
  });
}

/** @param {import('../network/star').Place} place @param {string} device @param {string} address @param {number} mtu */
function setUp(place, device, address, mtu) {
  place.run(`ip addr add ${address}/24 dev ${device}`);
  place.run(`ip link set ${device} mtu ${mtu} up`);
}

/** @param {import('../../harness/child').Child} child @returns {Promise<any>} what it prints after SIGUSR1 */
async function figuresOf(child) {
  const before = child.jsonLines().length;
  process.kill(child.pid, 'SIGUSR1');
  await child.until(() => child.jsonLines().length > before, FIGURES_MS);
  return child.jsonLines().at(-1);
}

/** @param {string} name of the program: wireguard or bounded */
const starter =
  (name) =>
  async (
    /** @type {import('../network/star').Star} */ star,
    /** @type {{ mtu: number, workers?: number }} */ { mtu, workers }
  ) => {
    const env = { ...process.env, ...(workers ? { GOMAXPROCS: String(workers) } : {}) };
    /** @type {import('../../harness/child').Child[]} */
    const engines = [];
    for (const { place, address, text } of configurations(star)) {
      const file = stateOf(`${place.name}.conf`);
      fs.writeFileSync(file, `${text}\n`, { mode: 0o600 });
      const engine = place.start(program(name), ['wg0', String(mtu), file], { env, name });
      engines.push(engine);
      await engine.until((output) => output.includes('ready'));
      setUp(place, 'wg0', address, mtu);
    }
    return running(star, engines, () => figuresOf(engines[0]));
  };

/**
 * @param {import('../network/star').Star} star @param {import('../../harness/child').Child[]} engines
 * @param {() => Promise<any>} figures
 * @returns {Promise<import('./index').Running>}
 */
async function running(star, engines, figures) {
  for (const spoke of star.spokes) {
    const { answered } = await ping(spoke, HUB, 1, 0.1);
    if (answered === 0) throw new Error(`${spoke.name} does not reach the hub.`);
  }
  return {
    hub: HUB,
    engines,
    figures,
    stop: async () => {
      await Promise.all(engines.map((child) => child.stop()));
    }
  };
}

/** @param {import('../network/star').Star} star @param {{ mtu: number, workers?: number }} options */
async function startBoringtun(star, { mtu, workers }) {
  /** @type {import('../../harness/child').Child[]} */
  const engines = [];
  // The programs' sockets are files, which the namespaces share.
  for (const [i, { place, address, text }] of configurations(star).entries()) {
    const device = `b${process.pid % 100_000}x${i}`;
    const threads = workers ? ['--threads', String(workers)] : [];
    const engine = place.start(
      findBoringtun(),
      ['--foreground', '--disable-drop-privileges', ...threads, device],
      {
        name: 'boringtun'
      }
    );
    engines.push(engine);
    const socket = `${SOCKETS}/${device}.sock`;
    await eventually('boringtun has its socket', () => fs.existsSync(socket));
    await sleep(100); // the file exists before it listens
    await configure(socket, text);
    setUp(place, device, address, mtu);
  }
  return running(star, engines, async () => null);
}

module.exports = { startBoringtun, starter };
