'use strict';
// The room for commands that wait: a limit of commands and of bytes for all, for one device and for one tenant.

/** @typedef {import('./command').Command} Command */

/**
 * @typedef {object} RoomLimits
 * @property {number} perDevice
 * @property {number} total
 * @property {number} totalBytes
 * @property {number} tenantShare part of both that the commands of one tenant may use
 */

/** Memory for a command, in addition to its texts. */
const ENTRY_BYTES = 256;

class CommandRoom {
  /** What waits of tenants' commands. @type {Map<string, { size: number, bytes: number }>} by tenant */
  #ofTenants = new Map();
  #limits;

  /** @param {RoomLimits} limits */
  constructor(limits) {
    this.#limits = limits;
    this.size = 0;
    this.bytes = 0;
  }

  /**
   * @param {Command} command
   * @param {number} ofDevice commands that wait for its device
   * @returns {string} why there is no room, '' if there is
   */
  fullFor(command, ofDevice) {
    const { perDevice, total, totalBytes, tenantShare } = this.#limits;
    if (ofDevice >= perDevice) return `${perDevice} commands already wait for this device.`;
    if (this.size >= total) return `${total} commands already wait.`;
    const cost = costOf(command);
    if (this.bytes + cost > totalBytes) return `${totalBytes} bytes of commands already wait.`;
    // The first command of a tenant may have any size.
    const own = this.#ofTenants.get(command.origin?.tenant ?? '');
    if (!own) return '';
    const [most, mostBytes] = [total, totalBytes].map((limit) => Math.floor(limit * tenantShare));
    if (own.size >= most) return `${most} commands of the tenant already wait.`;
    return own.bytes + cost > mostBytes ? `${mostBytes} bytes of the tenant's commands already wait.` : '';
  }

  /**
   * Counts a command that enters (1) or ends (-1).
   * @param {Command} command
   * @param {1 | -1} sign
   */
  count(command, sign) {
    const bytes = sign * costOf(command);
    this.size += sign;
    this.bytes += bytes;
    const tenant = command.origin?.tenant;
    if (!tenant) return;
    const own = this.#ofTenants.get(tenant) ?? { size: 0, bytes: 0 };
    own.size += sign;
    own.bytes += bytes;
    if (own.size > 0) this.#ofTenants.set(tenant, own);
    else this.#ofTenants.delete(tenant);
  }
}

/** @param {Command} command */
function costOf({ device, topic, payload }) {
  return ENTRY_BYTES + device.length + topic.length + payload.length;
}

module.exports = { CommandRoom };
