'use strict';
// Checks whether NetworkManager creates the MPTCP endpoints (1.40 and newer do, unless a connection disables it): two
// managers would remove each other's endpoints.

const { run } = require('../common/run-command');

const PATIENCE_MS = 3000;
const ARGS = /** @type {const} */ (['-t', '-e', 'no', '-f']);

/** @param {string[]} args @returns {Promise<string>} '' = no answer */
async function nmcli(...args) {
  try {
    const { code, stdout } = await run('nmcli', args, { timeoutMs: PATIENCE_MS });
    return code === 0 ? stdout.trim() : '';
  } catch {
    return '';
  }
}

/** Parses connection.mptcp-flags, such as `0x22 (enabled,subflow)`; 0 is the default: enabled. @param {string} text */
function isDisabled(text) {
  const value = text.replace(/^connection\.mptcp-flags:/, '');
  return /\bdisabled\b/.test(value) || (Number.parseInt(value, 16) & 1) === 1;
}

/** @param {string[]} interfaces @returns {Promise<string[]>} interfaces whose endpoints NetworkManager creates */
async function managedInterfaces(interfaces) {
  if ((await nmcli(...ARGS, 'RUNNING', 'general')) !== 'running') return [];
  const active = (await nmcli(...ARGS, 'UUID,DEVICE', 'connection', 'show', '--active')).split('\n');
  const managed = [];
  for (const line of active) {
    const [uuid, ...rest] = line.split(':');
    const device = rest.join(':');
    if (!/^[0-9a-f-]{36}$/.test(uuid) || !interfaces.includes(device)) continue;
    // An older version does not know the property, and creates no endpoints.
    const flags = await nmcli(...ARGS, 'connection.mptcp-flags', 'connection', 'show', 'uuid', uuid);
    if (flags !== '' && !isDisabled(flags)) managed.push(device);
  }
  return managed;
}

/** @param {string[]} managed @returns {string} a sentence with a remedy */
const standAside = (managed) =>
  `NetworkManager manages the MPTCP endpoints of ${managed.join(', ')}, and two managers would remove each other's endpoints. ` +
  `Turn that off ('nmcli connection modify NAME connection.mptcp-flags disabled', then 'nmcli connection up NAME'), or use --force.`;

module.exports = { managedInterfaces, standAside, isDisabled };
