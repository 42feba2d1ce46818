'use strict';
// What happened to the engine's devices, for everybody who wants to know: the engine gives each event out once.

/**
 * @typedef {import('../../native/index.js').DeviceEvent} DeviceEvent
 * @typedef {(event: DeviceEvent) => void} Follower must not throw
 */

class DeviceEvents {
  /** @param {{ takeEvents?: () => DeviceEvent[] }} engine */
  constructor(engine) {
    this.engine_ = engine;
    /** @type {Set<Follower>} */
    this.followers_ = new Set();
  }

  /**
   * @param {Follower} follower
   * @returns {() => void} ends it
   */
  follow(follower) {
    this.followers_.add(follower);
    return () => void this.followers_.delete(follower);
  }

  /** Call it when the engine's doorbell rang. */
  take() {
    for (const event of this.engine_.takeEvents?.() ?? []) {
      for (const follower of this.followers_) follower(event);
    }
  }
}

exports.DeviceEvents = DeviceEvents;
