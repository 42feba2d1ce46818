'use strict';
// The devices of an engine, each with its node: devices of the native workers, and devices served by JavaScript.

/**
 * @typedef {import('../../../native/index.js').AgentInfo} AgentInfo
 *
 * @typedef {object} Agent a row of the registry
 * @property {string} device
 * @property {string} node id of the node that serves it, '' = gone
 * @property {string} name of that node
 * @property {string} protocol
 * @property {boolean} connected
 * @property {boolean} listening
 * @property {number} reads filters of a local subscriber; 0 = it is none
 * @property {number} drops records that a local subscriber did not read in time
 * @property {number} class 0 = unknown
 * @property {number} records
 * @property {number} bytes
 * @property {number} ratePerS
 * @property {number} silentMs since its last packet, -1 = unknown
 * @property {string} address
 * @property {string} bridge id of the bridge that it is behind, '' = none
 * @property {number} worker -1: none
 *
 * What JavaScript knows about a device. The engine adds the rest if it has records of the device.
 * @typedef {{ device: string } & Partial<Omit<Agent, 'node' | 'name' | 'device'>>} Known
 *
 * @typedef {object} Provider
 * @property {string} node id
 * @property {string} name
 * @property {string} protocol
 * @property {() => Known[]} devices
 */

const NOTHING = {
  connected: false,
  listening: false,
  reads: 0,
  drops: 0,
  class: 0,
  records: 0,
  bytes: 0,
  ratePerS: 0,
  silentMs: -1,
  address: '',
  bridge: '',
  worker: -1
};

class Registry {
  #engine;
  #nodeOf;
  /** @type {Set<Provider>} */
  #providers;

  /**
   * @param {{ agents?: (after: string, limit: number) => AgentInfo[] }} engine
   * @param {(stage: number) => { id: string, name: string, protocol: string } | undefined} nodeOf
   */
  constructor(engine, nodeOf) {
    this.#engine = engine;
    this.#nodeOf = nodeOf;
    this.#providers = new Set();
  }

  /**
   * Adds the devices of a node that JavaScript serves:
   * `host.registry.provide({ node, name, protocol: 'ble', devices })`.
   * @param {Provider} provider
   * @returns {() => void} removes them
   */
  provide(provider) {
    this.#providers.add(provider);
    return () => void this.#providers.delete(provider);
  }

  /**
   * Returns devices in the order of the bytes of their ids.
   * @param {string} after the last device id of the previous page, '' = first page
   * @param {number} limit 1..10000
   * @returns {{ agents: Agent[], next: string | null }} next: `after` of the next page, null = last page
   */
  page(after, limit) {
    const rows = new Map();
    for (const row of this.#engine.agents?.(after, limit) ?? []) rows.set(row.device, this.#native(row));
    for (const row of this.#known(after)) {
      const native = rows.get(row.device) ?? NOTHING;
      rows.set(row.device, { ...native, ...row, connected: native.connected || Boolean(row.connected) });
    }
    const sorted = [...rows.values()].sort((a, b) => compare(a.device, b.device));
    const agents = sorted.slice(0, limit);
    const last = agents.at(-1);
    return { agents, next: last && agents.length === limit ? last.device : null };
  }

  /** @param {AgentInfo} row */
  #native({ stage, ...row }) {
    const { id: node = '', name = '', protocol = '' } = this.#nodeOf(stage) ?? {};
    return { ...row, node, name, protocol };
  }

  /** @param {string} after */
  #known(after) {
    const providers = [...this.#providers];
    return providers.flatMap(({ node, name, protocol, devices }) =>
      devices()
        .filter(({ device }) => after === '' || compare(device, after) > 0)
        .map((known) => ({ ...known, protocol: known.protocol ?? protocol, node, name }))
    );
  }
}

/**
 * Compares the bytes of two ids, as the engine does.
 * @param {string} a
 * @param {string} b
 */
function compare(a, b) {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

exports.Registry = Registry;
