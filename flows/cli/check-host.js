'use strict';
// Checks of the machine: engine, log folder and disk, clock, rights, MPTCP.

const fs = require('node:fs');
const path = require('node:path');
const { size } = require('../../nodes/lib/base/cli/cli-output');
const { hasCapability } = require('./capabilities');

/** @typedef {import('./check').Finding} Finding */
/** @typedef {Record<string, string>} Values */

/** Space that the log needs beside its limit (docs/use/operations.md). */
const BESIDE_LOG_MIB = 12;
/** Less than this, and the log cannot keep anything. */
const LEAST_MIB = 8;

/** @param {string} home @param {Values} values @returns {Finding[]} */
function checkHost(home, values) {
  return [
    checkNodeRed(),
    checkEngine(),
    ...checkLog(home, values),
    checkClock(home),
    ...checkRights(values),
    ...checkMptcp(values)
  ];
}

/** @returns {Finding} */
function checkNodeRed() {
  const about = 'node-red';
  try {
    const { version } = require('node-red/package.json');
    const [major, minor] = version.split('.').map(Number);
    if (major > 4 || (major === 4 && minor >= 1))
      return { about, result: 'ok', text: `Node-RED ${version}.` };
    const text = `Node-RED ${version} is too old. Install version 4.1 or newer: npm install -g node-red`;
    return { about, result: 'problem', text };
  } catch {
    const text = 'Node-RED is not installed beside the gateway. Install it: npm install -g node-red';
    return { about, result: 'problem', text };
  }
}

/** @returns {Finding} */
function checkEngine() {
  const about = 'engine';
  try {
    const native = require('../../native');
    if (typeof native.notify !== 'function') throw new Error('The native engine is from another version.');
    return { about, result: 'ok', text: `The native engine loads in Node ${process.versions.node}.` };
  } catch (error) {
    const text = /** @type {Error} */ (error).message.trim().replace(/\s*\n\s*/g, ' ');
    return { about, result: 'problem', text };
  }
}

/** @param {string} home @param {Values} values @returns {Finding[]} */
function checkLog(home, { SEGANET_ACKNOWLEDGE, SEGANET_LOG_DIR, SEGANET_LOG_MIB }) {
  const about = 'log';
  if (SEGANET_ACKNOWLEDGE === 'received') {
    return [
      {
        about,
        result: 'note',
        text: 'No log is kept (SEGANET_ACKNOWLEDGE=received): an outage loses records.'
      }
    ];
  }
  const folder = SEGANET_LOG_DIR || path.join(home, 'seganet-log');
  const existing = firstExisting(folder);
  try {
    fs.accessSync(existing, fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    const text = `This user cannot write to ${existing}, so no log can be kept. Change its owner, or set SEGANET_LOG_DIR.`;
    return [{ about, result: 'problem', text }];
  }
  const { bavail, bsize } = fs.statfsSync(existing);
  const [free, used] = [bavail * bsize, usedBytes(folder)];
  const limit = Number(SEGANET_LOG_MIB) * 2 ** 20;
  if (free < LEAST_MIB * 2 ** 20) {
    const text = `${folder} has ${size(free)} free space; the log needs ${LEAST_MIB} MiB at least. Make room there.`;
    return [{ about, result: 'problem', text }];
  }
  if (free + used < limit + BESIDE_LOG_MIB * 2 ** 20) {
    const text =
      `${folder} has ${size(free)} free space, less than the log may use (SEGANET_LOG_MIB=${SEGANET_LOG_MIB}, and ` +
      `${BESIDE_LOG_MIB} MiB). The disk may become full in an outage: lower the limit, or make room.`;
    return [{ about, result: 'note', text }];
  }
  return [{ about, result: 'ok', text: `${folder}: ${size(free)} free, limit ${SEGANET_LOG_MIB} MiB.` }];
}

/** @param {string} folder @returns {string} it, or the nearest folder above that exists */
function firstExisting(folder) {
  let existing = folder;
  while (!fs.existsSync(existing)) existing = path.dirname(existing);
  return existing;
}

/** @param {string} folder @returns {number} bytes of all logs in it */
function usedBytes(folder) {
  if (!fs.existsSync(folder)) return 0;
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /log\.db(-wal)?$|log\.reserve$/.test(name))
    .reduce(
      (all, name) => all + (fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
      0
    );
}

/**
 * A machine without a battery-backed clock starts in the past: certificates are then not valid yet, and records get
 * wrong times.
 * @param {string} home
 * @param {number} [now] ms since 1970
 * @returns {Finding}
 */
function checkClock(home, now = Date.now()) {
  const about = 'clock';
  const files = [path.join(home, 'gateway.json'), path.join(__dirname, '../../package.json')];
  const newest = Math.max(...files.map((file) => (fs.existsSync(file) ? fs.statSync(file).mtimeMs : 0)));
  const shown = new Date(now).toISOString();
  if (now + 1000 < newest) {
    const text =
      `The clock shows ${shown}, before the time of the gateway's own files. Certificates would be refused, and ` +
      'records would get wrong times. Set the clock, or enable time synchronization.';
    return { about, result: 'problem', text };
  }
  const service = '/run/systemd/timesync';
  if (fs.existsSync(service) && !fs.existsSync(path.join(service, 'synchronized'))) {
    const text = `The clock shows ${shown} and is not synchronized yet. Start the gateway after time-sync.target.`;
    return { about, result: 'note', text };
  }
  return { about, result: 'ok', text: `The clock shows ${shown}.` };
}

/** @param {Values} values @returns {Finding[]} */
function checkRights({ SEGANET_UPLINK_PATHS }) {
  if (process.platform !== 'linux') return [];
  const mayConfigure = hasCapability('CAP_NET_ADMIN');
  const needs = SEGANET_UPLINK_PATHS ? 'seganet-net and seganet-paths' : 'seganet-net';
  const text = mayConfigure
    ? `This user may configure the network (${needs}). The gateway itself does not need that.`
    : `This user may not configure the network. The gateway does not need that; ${needs} apply does: run it as root or with CAP_NET_ADMIN.`;
  return [{ about: 'rights', result: 'ok', text }];
}

/** @param {Values} values @returns {Finding[]} */
function checkMptcp({ SEGANET_UPLINK_PATHS }) {
  if (!SEGANET_UPLINK_PATHS) return [];
  const about = 'mptcp';
  try {
    if (fs.readFileSync('/proc/sys/net/mptcp/enabled', 'utf8').trim() === '1') {
      return [{ about, result: 'ok', text: 'The kernel supports Multipath TCP.' }];
    }
    const text =
      'Multipath TCP is turned off, so the uplink uses one path. Run "sysctl -w net.mptcp.enabled=1".';
    return [{ about, result: 'note', text }];
  } catch {
    return [
      { about, result: 'note', text: 'This kernel has no Multipath TCP, so the uplink uses one path.' }
    ];
  }
}

module.exports = { checkHost };
