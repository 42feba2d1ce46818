'use strict';
// Distributes the device events of an engine. The engine returns each event only once.

const { onceATurn } = require('../base/once-a-turn');

/** Most events per turn, so that a flood of events leaves Node-RED time for other work. */
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
    /** Call it when the engine's doorbell rings. */
    this.take = onceATurn(() => this.takeSome_());
  }

  /**
   * @param {Follower} follower
   * @returns {() => void} removes the follower
   */
  follow(follower) {
    this.followers_.add(follower);
    return () => void this.followers_.delete(follower);
  }

  /** @returns {boolean} true if there may be more */
  takeSome_() {
    const events = this.engine_.takeEvents?.(MAX_EVENTS) ?? [];
    for (const event of events) {
      for (const follower of this.followers_) follower(event);
    }
    return events.length > 0;
  }
}

exports.DeviceEvents = DeviceEvents;
