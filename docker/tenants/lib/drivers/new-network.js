'use strict';

const { isEngineAway, messageOf } = require('../base/errors');
const { networkOf, places } = require('./networks');

/** Tries to find a subnet that nothing else on this machine uses. */
const MAX_PLACES = 64;

/**
 * Makes a tenant's network.
 * @param {import('./engine-client').EngineClient} client
 * @param {{ engine: 'docker' | 'podman', range: Parameters<typeof places>[0], name: string,
 *   labels: Record<string, string> }} options
 * @returns {Promise<string>} address of the tenant in it
 * @throws {Error} if the engine is away, or has no subnet left
 */
async function makeNetwork(client, { engine, range, name, labels }) {
  let tries = 0;
  let reason = '';
  for (const { subnet, gateway, address } of places(range, name)) {
    if (++tries > MAX_PLACES) break;
    const { path: at, body } = networkOf(engine, { name, subnet, gateway, labels });
    try {
      await client.ask('POST', at, { body });
      return address;
    } catch (error) {
      if (isEngineAway(error)) throw error;
      reason = messageOf(error);
      if (!/overlap|already used|in use|conflict/i.test(reason)) break;
    }
  }
  throw new Error(`no network can be made: ${reason}`);
}

exports.makeNetwork = makeNetwork;
