'use strict';
// Distributes the device events of an engine. The engine returns each event only once.

const { onceATurn } = require('../base/timing/once-a-turn');

/** Most events per turn, so that a flood of events leaves Node-RED time for other work. */
const MAX_EVENTS = 256;

/**
 * @typedef {import('../../../native/index.js').DeviceEvent} DeviceEvent
 * @typedef {(event: DeviceEvent) => void} Follower must not throw
 */

class DeviceEvents {
  #engine;
  /** @type {Set<Follower>} */
  #followers;

  /** @param {{ takeEvents?: (limit: number) => DeviceEvent[] }} engine */
  constructor(engine) {
    this.#engine = engine;
    this.#followers = new Set();
    /** Call it when the engine's doorbell rings. */
    this.take = onceATurn(() => this.#takeSome());
  }

  /**
   * @param {Follower} follower
   * @returns {() => void} removes the follower
   */
  follow(follower) {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** @returns {boolean} true if there may be more */
  #takeSome() {
    const events = this.#engine.takeEvents?.(MAX_EVENTS) ?? [];
    for (const event of events) {
      for (const follower of this.#followers) follower(event);
    }
    return events.length > 0;
  }
}

exports.DeviceEvents = DeviceEvents;
