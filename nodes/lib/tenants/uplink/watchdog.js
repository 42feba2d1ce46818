'use strict';
// Notices tenants whose records wait although nothing keeps them, whatever the cause: an event of the keeper that was
// lost, or a bell that was not heard. Such a tenant is tried again, and counted.

/** Time between two looks. */
const LOOK_MS = 10000;

/** @typedef {import('./roster').Roster} Roster */

class Watchdog {
  #parts;
  #lookAt;
  #isAsking = false;

  /**
   * @param {object} parts
   * @param {Pick<import('../keeper/keeper-client').KeeperClient, 'tenants'>} parts.keeper
   * @param {Roster} parts.roster
   * @param {() => number} parts.now ms, monotonic
   * @param {(name: string, what: string) => void} parts.found a sentence about the tenant
   */
  constructor(parts) {
    this.#parts = parts;
    this.#lookAt = parts.now() + LOOK_MS;
  }

  /** Call it several times a second. @returns {Promise<void>} */
  async tick() {
    const { roster, now, found } = this.#parts;
    if (now() < this.#lookAt || this.#isAsking) return;
    this.#lookAt = now() + LOOK_MS;
    for (const name of roster.listenAgain()) found(name, 'its records waited, but no wake was requested');
    // The list costs the keeper more than a lease, so it is asked for only if somebody waits for it.
    if (roster.refused().length === 0) return;
    this.#isAsking = true;
    try {
      const ready = new Set((await this.#parts.keeper.tenants()).filter(mayTake).map(({ name }) => name));
      for (const name of roster.refused()) {
        if (ready.has(name) && roster.rescue(name))
          found(name, 'its records waited although the keeper would start it, or it runs');
      }
    } catch {
      // The next look asks again. A keeper that is away is reported by the roster.
    } finally {
      this.#isAsking = false;
    }
  }
}

/** @param {Record<string, unknown>} row of the keeper's list @returns {boolean} a lease would be granted */
function mayTake({ state, failures }) {
  return state === 'running' || state === 'paused' || (state === 'stopped' && failures === 0);
}

exports.Watchdog = Watchdog;
exports.LOOK_MS = LOOK_MS;
