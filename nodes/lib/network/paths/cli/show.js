'use strict';

const { size } = require('../../../base/cli/cli-output');
const { shellLine, stepLines, stepsAsJson } = require('../../qdisc/cli/show');
const { endpointIdOf } = require('../path-numbers');
const { DESIRED } = require('../sysctls');

/** @param {import('../path-selection').Path} path */
function place({ name, interface: device, address, gateway, isDirect, exists, carrier }) {
  if (!exists) return `the interface '${device || name}' does not exist now`;
  const by =
    gateway !== '' ? ` via ${gateway}` : isDirect ? ' direct' : ', no default route: local network only';
  return [
    device === name ? '' : `${device} `,
    address === '' ? 'no IPv4 address' : `${address}${by}`,
    carrier ? '' : ', link down'
  ].join('');
}

/** @param {import('../path-selection').Path} path */
const pathLine = (path) => `${path.name} (${path.role}): ${place(path)}`;

/**
 * @param {import('../paths-status-file').PathStatus} status
 * @returns {string[]} known figures of its quality, and their consequences
 */
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
    ...(actingRole !== role ? [`${actingRole} because of its quality: ${adviceWhy}`] : []),
    ...(advice !== actingRole
      ? [`advice: ${advice}, because: ${adviceWhy} ('watch --auto-backup' applies it)`]
      : [])
  ];
}

/**
 * Returns warnings, which are not errors.
 * @param {import('../path-steps-run').Prepared} prepared
 * @returns {string[]}
 */
function warningsOf({ facts, paths, foreign }) {
  const warnings = [];
  if (facts.sysctls.enabled === null) {
    warnings.push(
      'This kernel has no MPTCP: only routes are set up. Raspberry Pi OS has MPTCP since mid-2023 (apt-get full-upgrade).'
    );
  } else {
    const missing = DESIRED.filter(({ name }) => facts.sysctls[name] === null).map(
      ({ name }) => `net.mptcp.${name}`
    );
    if (missing.length > 0) warnings.push(`This kernel does not have ${missing.join(', ')}: skipped.`);
    if (!facts.mptcp)
      warnings.push(
        "'ip' does not support MPTCP: only routes are set up. Install a newer iproute2 (5.8 or later)."
      );
  }
  for (const { id, address } of foreign) {
    const ours = paths.find(({ slot }) => endpointIdOf(slot) === id);
    warnings.push(
      `seganet-paths did not create the endpoint ${id} (${address}), so ${ours ? ours.name : address} gets no endpoint.`
    );
  }
  if (paths.length === 1) warnings.push('There is only one path, so there is no alternative if it fails.');
  for (const { name, address, gateway, isDirect, prefix } of paths) {
    if (address !== '' && gateway === '' && !isDirect && prefix < 32) {
      warnings.push(`'${name}' has no default route: it reaches only its own network.`);
    }
  }
  return warnings;
}

module.exports = { pathLine, qualityLines, warningsOf, shellLine, stepLines, stepsAsJson };
