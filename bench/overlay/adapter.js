'use strict';
// Criterion 19: ten ordinary devices on a LAN behind one node reach the hub, and it reaches them, by name, TCP and UDP.

const fs = require('node:fs');
const { NETWORK, PORT, addressOf, startNode, startServices, stateOf } = require('./network/home');
const { inStar } = require('./scenes');
const { MTU } = require('./systems');
const { load, startServer } = require('./network/traffic');

const DEVICES = 10;
const NODE = 'site';
/** Seconds between a device's messages: ten devices must not wait for the machine's cores. */
const PAUSE_S = '0.02';
const PROTOCOLS = /** @type {const} */ (['tcp', 'udp']);
const ports = PROTOCOLS.map((protocol) => `${protocol}/${PORT}`);
const offers = PROTOCOLS.flatMap((protocol) => ['--offer', `${protocol}=${protocol}/${PORT}`]);

/** @param {number} i from 0 */
const lanAddress = (i) => `192.168.50.${i + 10}`;

/** @param {string} name of the node @returns {{ DNS: string }} where it answers DNS */
const resolver = (name) => ({ DNS: `${addressOf(name)}:53` });

/** @param {import('./network/star').Star} star @returns {Promise<import('./network/star').Place>} with the addresses of all devices */
async function makeLan(star) {
  const [gateway] = star.spokes;
  const lan = await star.place('lan');
  lan.run(`ip link add dev0 type veth peer name lan0 netns ${gateway.holder.pid}`);
  for (let i = 0; i < DEVICES; i++) lan.run(`ip addr add ${lanAddress(i)}/24 dev dev0`);
  lan.run('ip link set dev0 up');
  gateway.run('ip addr add 192.168.50.1/24 dev lan0');
  gateway.run('ip link set lan0 up');
  gateway.setting('ipv4/ip_forward', '1');
  lan.run('ip route add default via 192.168.50.1');
  return lan;
}

/** @param {string} folder of the file @returns {string} a table of devices */
function writeTable(folder) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const devices = Array.from({ length: DEVICES }, (_, i) => ({ name: `d${i}`, lan: lanAddress(i), ports }));
  const file = `${folder}/devices.json`;
  fs.writeFileSync(file, JSON.stringify({ devices }));
  return file;
}

/**
 * @typedef {{ answered: number, sent: number, one: number, all: number }} Exchange p50 in ms, of one device alone and of
 *          all at once
 *
 * @param {number} messages
 * @param {(i: number, messages: number) => Promise<import('./network/traffic').Times>} exchange with a device
 * @returns {Promise<Exchange>}
 */
async function compare(messages, exchange) {
  await Promise.all(Array.from({ length: DEVICES }, (_, i) => exchange(i, 1))); // sessions and neighbors
  const one = await exchange(0, messages);
  const all = await Promise.all(Array.from({ length: DEVICES }, (_, i) => exchange(i, messages)));
  const middle = all.map(({ p50 }) => p50).sort((a, b) => a - b)[DEVICES / 2];
  return {
    one: one.p50,
    all: middle,
    answered: all.filter(({ answered }) => answered > 0).length,
    sent: DEVICES
  };
}

/** @param {{ messages: number }} sizes */
const adapter = ({ messages }) =>
  inStar(1, async (star) => {
    const [gateway] = star.spokes;
    const services = await startServices(star, ['hub', NODE]);
    const lan = await makeLan(star);
    const mtu = ['--mtu', String(MTU)];
    const nodes = [await startNode(star.hub, 'hub', { args: [...offers, ...mtu] })];
    try {
      const table = writeTable(stateOf('devices'));
      nodes.push(await startNode(gateway, NODE, { args: ['--devices', table, ...mtu] }));
      await startServer(star.hub);
      for (let i = 0; i < DEVICES; i++) await startServer(lan, lanAddress(i));
      /** @type {Record<string, Exchange>} */
      const found = {};
      for (const protocol of PROTOCOLS) {
        found[`${protocol}To`] = await compare(messages, (i, count) => {
          const name = `d${i}.${NODE}.${NETWORK}.seganet.internal:${PORT}`;
          return load(star.hub, ['echo', protocol, name, String(count), PAUSE_S], resolver('hub'));
        });
        found[`${protocol}From`] = await compare(messages, (i, count) => {
          const name = `hub.${NETWORK}.seganet.internal:${PORT}`;
          const env = { ...resolver(NODE), FROM: lanAddress(i) };
          return load(lan, ['echo', protocol, name, String(count), PAUSE_S], env);
        });
      }
      return { devices: DEVICES, ...found };
    } finally {
      await Promise.all([...nodes, services].map((child) => child.stop()));
    }
  });

module.exports = { adapter };
