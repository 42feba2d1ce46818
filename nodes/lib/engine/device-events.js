'use strict';
// What happened to the engine's devices, for everybody who wants to know: the engine gives each event out once.

const { onceATurn } = require('../base/once-a-turn');

/** Of one turn: a flood of events leaves time for everything else of Node-RED. */
const MAX_EVENTS = 256;

/**
 * @typedef {import('../../../native/index.js').DeviceEvent} DeviceEvent
 * @typedef {(event: DeviceEvent) => void} Follower must not throw
 */

class DeviceEvents {
  /** @param {{ takeEvents?: (limit: number) => DeviceEvent[] }} engine */
  constructor(engine) {
    this.engine_ = engine;
    /** @type {Set<Follower>} */
    this.followers_ = new Set();
    /** Call it when the engine's doorbell rang. */
    this.take = onceATurn(() => this.takeSome_());
  }

  /**
   * @param {Follower} follower
   * @returns {() => void} ends it
   */
  follow(follower) {
    this.followers_.add(follower);
    return () => void this.followers_.delete(follower);
  }

  /** @returns {boolean} there may be more */
  takeSome_() {
    const events = this.engine_.takeEvents?.(MAX_EVENTS) ?? [];
    for (const event of events) {
      for (const follower of this.followers_) follower(event);
    }
    return events.length > 0;
  }
}

exports.DeviceEvents = DeviceEvents;
