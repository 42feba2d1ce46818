'use strict';
// Privileges of this process for network changes.

const fs = require('node:fs');
const { EXIT, CliError } = require('./network-error');

/** Bits of the effective set [capabilities(7)]. */
const CAPABILITY = { DAC_OVERRIDE: 1n, NET_ADMIN: 12n, SYS_ADMIN: 21n, BPF: 39n };

/**
 * True if this process has one of the capabilities.
 * @param {...bigint} bits of CAPABILITY
 */
function hasCapability(...bits) {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(processStatus())?.[1] ?? '0';
  return bits.some((bit) => (BigInt(`0x${effective}`) >> bit) & 1n);
}

function processStatus() {
  try {
    return fs.readFileSync('/proc/self/status', 'utf8');
  } catch {
    return '';
  }
}

const mayChangeNetwork = () => hasCapability(CAPABILITY.NET_ADMIN);

/**
 * Checks the privileges for a command.
 * @param {string} command
 * @param {string} [what] it changes
 * @throws {CliError} if this process lacks them
 */
function needRights(command, what = 'a network interface') {
  if (mayChangeNetwork()) return;
  throw new CliError(
    `${command} changes ${what}, which requires root or CAP_NET_ADMIN. Run it with sudo, or from a systemd unit with AmbientCapabilities=CAP_NET_ADMIN.`,
    EXIT.CANNOT
  );
}

module.exports = { CAPABILITY, hasCapability, mayChangeNetwork, needRights };
