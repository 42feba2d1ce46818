'use strict';

const { size } = require('../../../base/cli/cli-output');
const { shellLine, stepLines, stepsAsJson } = require('../../qdisc/cli/show');
const { endpointIdOf } = require('../path-numbers');
const { WISHES } = require('../sysctls');

/** @param {import('../path-selection').Path} path */
function place({ name, interface: device, address, gateway, isDirect, exists, carrier }) {
  if (!exists) return `there is no interface '${device || name}' now`;
  const by =
    gateway !== '' ? ` by ${gateway}` : isDirect ? ' direct' : ', no default route: local network only';
  return [
    device === name ? '' : `${device} `,
    address === '' ? 'no IPv4 address' : `${address}${by}`,
    carrier ? '' : ', link down'
  ].join('');
}

/** @param {import('../path-selection').Path} path */
const pathLine = (path) => `${path.name} (${path.role}): ${place(path)}`;

/** @param {import('../paths-status-file').PathStatus} of @returns {string[]} what is known of its quality, and what follows */
function qualityLines({ role, quality, actingRole, advice, adviceWhy }) {
  if (!quality) return [];
  const { signalDbm, linkPercent, rttMs, lossPercent, txBytesPerSecond: tx, rxBytesPerSecond: rx } = quality;
  const known = [
    signalDbm === null ? '' : `signal ${signalDbm} dBm, link quality ${linkPercent} %`,
    rttMs === null ? '' : `round trip ${rttMs} ms`,
    lossPercent === null ? '' : `${lossPercent} % of probes lost`,
    tx === null || rx === null ? '' : `out ${size(tx)}/s, in ${size(rx)}/s`
  ].filter(Boolean);
  return [
    ...(known.length > 0 ? [known.join(', ')] : []),
    ...(actingRole !== role ? [`${actingRole} by its quality: ${adviceWhy}`] : []),
    ...(advice !== actingRole ? [`advice: ${advice}, as ${adviceWhy} ('watch --auto-backup' does that)`] : [])
  ];
}

/** What is no error, but should be known. @param {import('../path-steps-run').Prepared} prepared @returns {string[]} */
function warningsOf({ facts, paths, foreign }) {
  const warnings = [];
  if (facts.sysctls.enabled === null) {
    warnings.push(
      'This kernel has no MPTCP: only routes are made. Raspberry Pi OS has it since mid-2023 (apt-get full-upgrade).'
    );
  } else {
    const missing = WISHES.filter(({ name }) => facts.sysctls[name] === null).map(
      ({ name }) => `net.mptcp.${name}`
    );
    if (missing.length > 0) warnings.push(`This kernel does not have ${missing.join(', ')}: left out.`);
    if (!facts.mptcp)
      warnings.push("'ip' knows no MPTCP: only routes are made. Install a newer iproute2 (5.8 or later).");
  }
  for (const { id, address } of foreign) {
    const ours = paths.find(({ slot }) => endpointIdOf(slot) === id);
    warnings.push(
      `The endpoint ${id} (${address}) is of somebody else: ${ours ? ours.name : address} has none of ours.`
    );
  }
  if (paths.length === 1) warnings.push('There is one path only: nothing to go to when it dies.');
  for (const { name, address, gateway, isDirect, prefix } of paths) {
    if (address !== '' && gateway === '' && !isDirect && prefix < 32) {
      warnings.push(`'${name}' has no default route: only its own network is reached by it.`);
    }
  }
  return warnings;
}

module.exports = { pathLine, qualityLines, warningsOf, shellLine, stepLines, stepsAsJson };
