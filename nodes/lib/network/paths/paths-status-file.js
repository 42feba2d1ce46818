'use strict';
// The file in which `seganet-paths watch` says how the paths are, for the gateway.

const fs = require('node:fs');
const { isAlive, writeWhole } = require('../../base/cli/state-folder');
const { defaultDirectory, fileOf } = require('./paths-state');

/**
 * role: as it was set; since: ISO time; endpointId: 0 = it has none now. Without quality: of a watch that is older than that.
 * @typedef {{ name: string, interface: string, address: string, role: import('./path-settings').Role, state: import('./path-health').Name, why: string, since: string, endpointId: number } & Partial<import('./quality-watch').Told>} PathStatus
 */
/** updated: ISO time, at least each 5 s. @typedef {{ version: 1, pid: number, updated: string, broker: string, mptcp: boolean, paths: PathStatus[] }} Status */

const LARGEST = 1 << 16;
/** Its writer is stuck, or in a namespace of processes where its number says nothing. */
const STALE_MS = 15_000;

/** @param {string} directory @param {Status} status */
function writeStatus(directory, status) {
  writeWhole(fileOf(directory, 'status'), `${JSON.stringify(status)}\n`);
}

/** @param {string} directory */
const removeStatus = (directory) => fs.rmSync(fileOf(directory, 'status'), { force: true });

/** @param {string} [directory] @param {number} [now] @returns {Status | null} null: nobody watches */
function readStatus(directory = defaultDirectory(), now = Date.now()) {
  try {
    const file = fileOf(directory, 'status');
    if (fs.statSync(file).size > LARGEST) return null;
    const status = JSON.parse(fs.readFileSync(file, 'utf8'));
    const isSound = status?.version === 1 && Number.isSafeInteger(status.pid) && Array.isArray(status.paths);
    return isSound && now - Date.parse(status.updated) < STALE_MS && isAlive(status.pid) ? status : null;
  } catch {
    return null;
  }
}

module.exports = { writeStatus, removeStatus, readStatus };
