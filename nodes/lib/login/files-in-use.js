'use strict';
// The password files of the listeners that are open, and who logged in with which user.

/**
 * @typedef {import('../../../native/index.js').Login} Login
 * @typedef {object} Use of a file by a listener
 * @property {string} file absolute
 * @property {string} node name of the listener
 * @property {boolean} hasTenants names of its users begin with that of a tenant, as in acme/pump-1
 * @property {() => Promise<void>} refresh reads the file again if it changed
 * @property {(user: string) => number} end ends the connections of a user; returns their number
 */

/** @type {Set<Use>} */
const uses = new Set();

/** @param {Use} use @returns {() => void} removes it */
function addUse(use) {
  uses.add(use);
  return () => void uses.delete(use);
}

/** @returns {Map<string, Use[]>} by file */
function filesInUse() {
  const files = new Map();
  for (const use of uses) files.set(use.file, [...(files.get(use.file) ?? []), use]);
  return files;
}

/** Devices of a listener whose users are known; the one that logged in longest ago is forgotten first. */
const MAX_DEVICES = 100_000;

/** The user of each device that logged in at one listener, connected or not. */
class Users {
  /** By device, latest login last. @type {Map<string, string>} */
  #users = new Map();
  /** @type {Pick<import('../../../native/index.js').Engine, 'dismissDevice'> | null} */
  #engine = null;

  /**
   * A user was accepted as a device.
   * @param {string} user
   * @param {string} device
   * @param {Pick<import('../../../native/index.js').Engine, 'dismissDevice'>} engine
   */
  add(user, device, engine) {
    this.#engine = engine;
    this.#users.delete(device);
    this.#users.set(device, user);
    if (this.#users.size > MAX_DEVICES) this.#users.delete(this.#users.keys().next().value ?? '');
  }

  /** Ends the connections of a user. @param {string} user @returns {number} connections that ended */
  end(user) {
    const devices = [...this.#users].filter(([, each]) => each === user).map(([device]) => device);
    for (const device of devices) this.#users.delete(device);
    return devices.filter((device) => this.#engine?.dismissDevice(device)).length;
  }
}

module.exports = { Users, addUse, filesInUse };
