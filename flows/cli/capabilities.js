'use strict';
// Linux capabilities: those of this process, and those that a flow needs.

const fs = require('node:fs');

/** Bits of <linux/capability.h>. */
const BITS = /** @type {const} */ ({ CAP_NET_BIND_SERVICE: 10, CAP_NET_ADMIN: 12, CAP_NET_RAW: 13 });

/** @typedef {keyof typeof BITS} Capability */

/** @param {Capability} name @returns {boolean} true if this process has it in effect */
function hasCapability(name) {
  try {
    const [, hex] = /^CapEff:\s*([0-9a-f]+)$/m.exec(fs.readFileSync('/proc/self/status', 'utf8')) ?? [];
    return ((BigInt(`0x${hex}`) >> BigInt(BITS[name])) & 1n) === 1n;
  } catch {
    return false;
  }
}

/**
 * @param {{ type: string, d?: boolean }[]} flow
 * @param {number[]} ports that the gateway opens
 * @returns {{ name: Capability, why: string }[]}
 */
function neededCapabilities(flow, ports) {
  /** @type {{ name: Capability, why: string }[]} */
  const needed = [];
  const low = ports.filter((port) => port > 0 && port < 1024);
  if (low.length > 0) needed.push({ name: 'CAP_NET_BIND_SERVICE', why: `port ${low.join(', ')}` });
  if (flow.some(({ type, d }) => type === 'seganet-ble-devices' && !d)) {
    needed.push({ name: 'CAP_NET_RAW', why: 'Bluetooth' });
  }
  return needed;
}

module.exports = { hasCapability, neededCapabilities };
