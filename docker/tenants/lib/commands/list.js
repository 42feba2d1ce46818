'use strict';

const { table } = require('../../../../nodes/lib/base/cli/cli-output');
const { request } = require('../api/client');

const MIB = 1 << 20;

/** @param {number} ms @returns {string} */
function age(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} d`;
}

/** @param {import('../life/keeper').Row} row @param {number} now */
function cells({ name, driver, state, since, memoryBytes, leases, isolated, lastWake, reason }, now) {
  return [
    name,
    isolated ? driver : `${driver} (not isolated)`,
    state,
    age(now - since),
    memoryBytes ? `${Math.round(memoryBytes / MIB)} MiB` : '',
    String(leases),
    lastWake ? `${lastWake.by}, ready after ${lastWake.readyMs} ms` : '',
    reason
  ];
}

/** @param {import('../drivers/spares').SparesRow} row @returns {string} */
const spareLine = ({ waiting, most, memoryBytes, reason }) =>
  `spares: ${waiting} of ${most}, ${Math.round(memoryBytes / MIB)} MiB${reason && `; ${reason}`}`;

/** @type {import('./index').Command} */
module.exports = {
  name: 'list',
  summary: 'lists the tenants with their states',
  usage: '',
  options: {},
  async run({ home, isJson, print }) {
    const answer = await request(home.socket, 'GET', '/v1/tenants');
    if (isJson) return print(JSON.stringify(answer));
    const head = ['tenant', 'driver', 'state', 'since', 'memory', 'leases', 'last wake', 'reason'];
    const now = Date.now();
    const rows = answer.tenants.map((/** @type {any} */ row) => cells(row, now));
    for (const line of table(head, rows)) print(line);
    if (answer.spares?.most > 0) print(spareLine(answer.spares));
  }
};
