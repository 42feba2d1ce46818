'use strict';
// The kernel's MPTCP settings for this network namespace: the desired values, and why. Not every kernel has all of
// them.

const fs = require('node:fs');
const path = require('node:path');

const FOLDER = '/proc/sys/net/mptcp';

/**
 * `holds`: true if the present value is acceptable, so that nothing is written.
 * @typedef {{ name: string, value: number, why: string, holds: (now: number) => boolean }} DesiredState
 */
/** @type {DesiredState[]} */
const DESIRED = [
  {
    name: 'enabled',
    value: 1,
    why: 'allows MPTCP sockets',
    holds: (now) => now === 1
  },
  {
    name: 'stale_loss_cnt',
    value: 1,
    why: 'leaves a silent path after one lost segment, not four',
    holds: (now) => now === 1
  },
  {
    name: 'close_timeout',
    value: 2,
    why: 'a connection without any path fails after 2 s, not 60 s',
    holds: (now) => now <= 2
  },
  {
    name: 'blackhole_timeout',
    value: 0,
    why: 'one lost handshake does not turn MPTCP off for an hour',
    holds: (now) => now === 0
  }
];

/** null: this kernel does not have the setting. @typedef {Record<string, number | null>} Sysctls */

/** @returns {Sysctls} */
function readSysctls() {
  return Object.fromEntries(DESIRED.map(({ name }) => [name, readSysctl(name)]));
}

/** @param {string} name @returns {number | null} */
function readSysctl(name) {
  try {
    const value = fs.readFileSync(path.join(FOLDER, name), 'utf8').trim();
    return /^\d{1,10}$/.test(value) ? Number(value) : null;
  } catch {
    return null;
  }
}

/** @param {string} name @param {number} value */
function writeSysctl(name, value) {
  fs.writeFileSync(path.join(FOLDER, name), String(value));
}

module.exports = { DESIRED, readSysctls, writeSysctl };
