'use strict';
// Reads the present set-up of an interface. Needs no privileges.

const { parseClasses, parseDefaultRoute, parseFilters, parseLink, parseQdiscs } = require('./tc-output');
const { complaint, run } = require('../common/run-command');
const { EXIT, CliError } = require('../common/network-error');

const WITH_CLASSES = new Set(['htb', 'prio']);

/**
 * @typedef {object} Facts
 * @property {import('./tc-output').Link} link
 * @property {import('./tc-output').Qdisc[]} qdiscs
 * @property {import('./tc-output').Class[]} classes
 * @property {import('./tc-output').Filter[]} filters
 */

/**
 * @param {string} name
 * @param {number} [timeoutMs] of each command
 * @returns {Promise<Facts>}
 */
async function inspect(name, timeoutMs) {
  const [ip, qdisc] = await Promise.all([
    run('ip', ['-j', '-d', 'link', 'show', 'dev', name], { timeoutMs }),
    run('tc', ['-j', '-s', 'qdisc', 'show', 'dev', name], { timeoutMs })
  ]);
  if (ip.code !== 0 && /does not exist|Cannot find device/.test(ip.stderr)) {
    throw new CliError(`There is no interface '${name}'. 'ip link' lists all interfaces.`, EXIT.CANNOT);
  }
  requireSuccess(name, ip, qdisc);
  const link = parseLink(ip.stdout);
  if (!link || !qdisc.stdout.trim().startsWith('[')) {
    const remedy = 'They belong to BusyBox or are too old: install iproute2 (apt-get install iproute2).';
    throw new CliError(`'ip' and 'tc' do not print JSON. ${remedy}`, EXIT.CANNOT);
  }
  const qdiscs = parseQdiscs(qdisc.stdout);
  // The uplink inspects the interface repeatedly, and most interfaces have nothing else to read.
  if (!qdiscs.some(({ kind }) => WITH_CLASSES.has(kind))) return { link, qdiscs, classes: [], filters: [] };
  const [classes, filters] = await Promise.all([
    run('tc', ['-s', 'class', 'show', 'dev', name], { timeoutMs }),
    run('tc', ['filter', 'show', 'dev', name], { timeoutMs })
  ]);
  requireSuccess(name, classes, filters);
  return { link, qdiscs, classes: parseClasses(classes.stdout), filters: parseFilters(filters.stdout) };
}

/** @param {string} name @param {...import('../common/run-command').Result} results */
function requireSuccess(name, ...results) {
  const failed = results.find(({ code }) => code !== 0);
  if (failed) throw new CliError(`The interface '${name}' cannot be read: ${complaint(failed)}`, EXIT.CANNOT);
}

/** @returns {Promise<string>} the interface of the default route, of IPv6 if IPv4 has none */
async function defaultInterface() {
  for (const family of ['-4', '-6']) {
    const { code, stdout } = await run('ip', [family, '-j', 'route', 'show', 'default']);
    const name = code === 0 ? parseDefaultRoute(stdout) : '';
    if (name !== '') return name;
  }
  throw new CliError('There is no default route: choose the interface with --interface.', EXIT.USAGE);
}

module.exports = { inspect, defaultInterface };
