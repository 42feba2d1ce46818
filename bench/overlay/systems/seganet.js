'use strict';
// The overlay of this repository: services, a node at the hub and one at each spoke, with TUN interfaces.

const { PORT, addressOf, startNode, startServices, statusOf } = require('../network/home');
const { eventually } = require('../network/wait');
const { load } = require('../network/traffic');

const OFFERS = ['--offer', `load=tcp/${PORT}`, '--offer', `datagrams=udp/${PORT}`];

/** @param {import('../network/star').Star} star @returns {string[]} */
const spokeNames = (star) => star.spokes.map(({ name }) => name);

/**
 * @param {import('../network/star').Star} star
 * @param {{ mtu: number, workers?: number, args?: string[], servicesCpus?: string, path?: 'direct' | 'relay' }} options
 * @returns {Promise<import('./index').Running>}
 */
async function start(star, { mtu, workers, args = [], servicesCpus, path = 'direct' }) {
  const names = spokeNames(star);
  const services = await startServices(star, ['hub', ...names], { cpus: servicesCpus });
  const env = workers ? { GOMAXPROCS: String(workers) } : undefined;
  const node = (/** @type {import('../network/star').Place} */ place) =>
    startNode(place, place.name, { args: [...OFFERS, '--mtu', String(mtu), ...args], env });
  const engines = await Promise.all([star.hub, ...star.spokes].map(node));
  const hub = addressOf('hub');
  for (const spoke of star.spokes) await load(spoke, ['ping', hub, '1', '0.1']);
  await eventually(`all paths are ${path}`, () =>
    names.every((name) => statusOf(name).peers.some((/** @type {any} */ peer) => peer.path === path))
  );
  return {
    hub,
    engines,
    services,
    figures: async () => statusOf('hub').runtime,
    stop: async () => {
      await Promise.all([...engines, services].map((child) => child.stop()));
    }
  };
}

module.exports = { start };
