'use strict';
// Which devices are on, and who learns of it when that changes.

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./elsewhere').State} State */

class DeviceStates {
  #cloud;
  /**
   * Devices that were announced as on here. A sign-in that is still checked has a session, but is not announced.
   * @type {Set<string>}
   */
  #on = new Set();

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /** Whether a device is signed in, here or at another gateway. @param {string} di @returns {State} */
  of(di) {
    const { elsewhere, sessions } = this.#cloud;
    return sessions.of(di) ? 'on' : elsewhere.stateOf(di);
  }

  /**
   * A device has signed in here. No effect if it was announced.
   * @param {string} di
   * @param {boolean} isSeen those that watch the device know that it is on
   */
  on(di, isSeen) {
    if (this.#on.has(di)) return;
    this.#on.add(di);
    const { events, presence } = this.#cloud;
    if (!isSeen) presence.changed(di, this.of(di));
    events.presence?.({ di, state: 'on', reason: 'signedIn' });
  }

  /**
   * A device is no longer signed in here.
   * @param {string} di
   * @param {string} reason
   * @param {string[]} [viewers] users that may see the device, if the caller knows them
   */
  off(di, reason, viewers) {
    const { elsewhere, events, observedRecords, ownObservations, presence } = this.#cloud;
    observedRecords.off(di);
    ownObservations.off(di);
    elsewhere.signedOut(di, reason === 'deleted');
    if (!this.#on.delete(di)) return;
    const shown = this.of(di);
    if (shown !== 'on') presence.changed(di, shown, viewers);
    events.presence?.({ di, state: 'off', reason });
  }
}

exports.DeviceStates = DeviceStates;
