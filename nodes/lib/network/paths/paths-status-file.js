'use strict';
// The file in which `seganet-paths watch` reports the states of the paths to the gateway.

const fs = require('node:fs');
const path = require('node:path');
const { isAlive, writeWhole } = require('../../base/cli/state-folder');
const { defaultDirectory, fileOf } = require('./paths-state');

/**
 * @typedef {object} ReportedPath
 * @property {string} name
 * @property {string} interface
 * @property {string} address
 * @property {import('./path-settings').Role} role as configured
 * @property {import('./path-health').Name} state
 * @property {string} why
 * @property {string} since ISO time
 * @property {number} endpointId 0 = it has none now
 */

/**
 * State of a path. A watch of an older version writes no quality, and not whether the path is metered.
 * @typedef {ReportedPath & { metered?: boolean } & Partial<import('./quality-watch').QualityReport>} PathStatus
 */
/**
 * updated: ISO time, at least every 5 s.
 * @typedef {{ version: 1, pid: number, updated: string, broker: string, mptcp: boolean, paths: PathStatus[] }} Status
 */

const LARGEST = 1 << 16;
/** After this time, the writer is stuck, or in a namespace of processes where its process id means nothing here. */
const STALE_MS = 15_000;

/** @param {string} directory @param {Status} status */
function writeStatus(directory, status) {
  writeWhole(fileOf(directory, 'status'), `${JSON.stringify(status)}\n`);
}

/**
 * Removes the file, and what a watch that was killed while it wrote has left beside it.
 * @param {string} directory
 */
function removeStatus(directory) {
  const file = fileOf(directory, 'status');
  fs.rmSync(file, { force: true });
  const start = `${path.basename(file)}.`;
  const names = fs.existsSync(directory) ? fs.readdirSync(directory) : [];
  for (const name of names) {
    const pid = name.startsWith(start) ? Number(name.slice(start.length)) : NaN;
    if (Number.isSafeInteger(pid) && !isAlive(pid)) fs.rmSync(path.join(directory, name), { force: true });
  }
}

/**
 * @param {string} [directory]
 * @param {number} [now]
 * @returns {Status | null} null: no watch runs
 */
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
