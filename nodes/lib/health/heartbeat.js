'use strict';
// The gateway's own record for the cloud: what an operator of many gateways wants to know of each.

const { readiness } = require('./readiness');

/**
 * @typedef {object} Heartbeat JSON; docs/reference/messages.md documents it
 * @property {string} gateway
 * @property {string} version
 * @property {number} ts ms since 1970
 * @property {number} uptimeS of the process
 * @property {boolean} ok see readyz
 * @property {string} reason '' while it is ok
 * @property {{ ts: number, reason: string } | null} lastProblem the latest reason since the node was deployed, and when
 *   it was last seen; null = none
 * @property {string} uplink state of the worst session; none = no uplink
 * @property {number} devices connected
 * @property {number} receivedPerS records, since the previous heartbeat
 * @property {number} deliveredPerS
 * @property {number} inMemory records that the cloud has not acknowledged
 * @property {number} backlog records that are only on disk
 * @property {number} dropped records since the start of the engine
 * @property {number} memoryUsed 0 to 1, of the memory for records
 * @property {number} busiestWorker 0 to 1, of its core, in the last second
 * @property {{ state: string, used: number, deadLetters: number } | null} log used: 0 to 1; null = none is kept
 */

/** Makes the heartbeats of one engine. */
class Heart {
  #names;
  #now;
  /** @type {Heartbeat['lastProblem']} */
  #lastProblem;

  /**
   * @param {{ gateway: string, version: string }} names
   * @param {() => number} [now] ms since 1970
   */
  constructor(names, now = () => Date.now()) {
    this.#names = names;
    this.#now = now;
    this.#lastProblem = null;
  }

  /**
   * Call it once a second, so that a problem between two heartbeats is seen.
   * @param {import('./index').EngineHealth} health
   */
  look(health) {
    const { ok, reason } = readiness([health]);
    if (!ok) this.#lastProblem = { ts: this.#now(), reason };
  }

  /**
   * @param {import('./index').EngineHealth} health
   * @param {ReturnType<import('../engine/host').EngineHost['snapshot']>} stats
   * @param {Record<string, number>} perS rates of the counters
   * @param {number} uptimeS
   * @returns {Heartbeat}
   */
  beat(health, stats, perS, uptimeS) {
    this.look(health);
    const { ok, reason, checks } = readiness([health]);
    const { bytes = 0, limitBytes = 0, dead = 0, state = '' } = /** @type {any} */ (stats.log) ?? {};
    return {
      ...this.#names,
      ts: this.#now(),
      uptimeS: Math.round(uptimeS),
      ok,
      reason,
      lastProblem: this.#lastProblem,
      uplink: String(checks.uplink.state),
      devices: stats.devices,
      receivedPerS: perS.recordsReceived ?? 0,
      deliveredPerS: perS.recordsDelivered ?? 0,
      inMemory: sum(stats.heldRecords),
      backlog: sum(stats.backlogRecords),
      dropped: sum(Object.values(stats.drops).map(sum)),
      memoryUsed: ratio(stats.heldBytes, stats.budgetBytes),
      busiestWorker: round(Math.max(0, ...(stats.placement?.workers ?? []).map(({ busy }) => busy))),
      log: stats.log && { state, used: ratio(bytes, limitBytes), deadLetters: dead }
    };
  }
}

/** @param {number[]} counts */
const sum = (counts) => counts.reduce((total, count) => total + count, 0);
/** @param {number} value */
const round = (value) => Math.round(value * 1000) / 1000;
/** @param {number} part @param {number} whole */
const ratio = (part, whole) => (whole > 0 ? round(part / whole) : 0);

exports.Heart = Heart;
