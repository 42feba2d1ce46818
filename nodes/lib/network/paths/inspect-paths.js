'use strict';
// Reads the present state of the network. Needs no privileges.

const { complaint, run } = require('../common/run-command');
const { EXIT, CliError } = require('../common/network-error');
const { MAIN_TABLE, PROTOCOL } = require('./path-numbers');
const { parseEndpoints, parseInterfaces, parseLimits, parseRoutes, parseRules } = require('./ip-output');
const { readSysctls } = require('./sysctls');

/**
 * @typedef {object} Facts
 * @property {import('./ip-output').Interface[]} interfaces
 * @property {import('./ip-output').Route[]} defaults of the main table, best first
 * @property {import('./ip-output').Route[]} routes ours
 * @property {import('./ip-output').Rule[]} rules all
 * @property {boolean} mptcp true if the kernel and ip support it
 * @property {import('./ip-output').Endpoint[]} endpoints all
 * @property {import('./ip-output').Limits | null} limits
 * @property {import('./sysctls').Sysctls} sysctls
 */

/** @param {string[]} args */
async function ask(...args) {
  const result = await run('ip', args);
  if (result.code === 0) return result.stdout;
  throw new CliError(`'ip ${args.join(' ')}' failed: ${complaint(result)}.`, EXIT.CANNOT);
}

/** @returns {Promise<Facts>} */
async function inspect() {
  const sysctls = readSysctls();
  const hasMptcp = sysctls.enabled !== null;
  const mptcp = (/** @type {string[]} */ ...args) =>
    hasMptcp ? run('ip', ['-j', 'mptcp', ...args]) : { code: 1, stdout: '' };
  const [interfaces, defaults, routes, rules, endpoints, limits] = await Promise.all([
    ask('-j', '-4', 'addr', 'show'),
    ask('-j', '-N', '-4', 'route', 'show', 'default'),
    ask('-j', '-N', '-4', 'route', 'show', 'table', 'all', 'proto', String(PROTOCOL)),
    ask('-j', '-N', '-4', 'rule', 'show'),
    mptcp('endpoint', 'show'),
    mptcp('limits', 'show')
  ]);
  const found = parseInterfaces(interfaces);
  if (found.length === 0) {
    throw new CliError(
      "'ip' does not print JSON: it is that of BusyBox, or too old. Install iproute2 (apt-get install iproute2).",
      EXIT.CANNOT
    );
  }
  return {
    interfaces: found,
    defaults: parseRoutes(defaults, MAIN_TABLE).sort((a, b) => a.metric - b.metric),
    routes: parseRoutes(routes, MAIN_TABLE),
    rules: parseRules(rules),
    mptcp: endpoints.code === 0,
    endpoints: parseEndpoints(endpoints.stdout),
    limits: parseLimits(limits.stdout),
    sysctls
  };
}

module.exports = { inspect };
