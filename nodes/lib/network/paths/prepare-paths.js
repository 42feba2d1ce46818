'use strict';
// The common first part of plan, apply, check and watch.

const { prepare, view } = require('./path-steps-run');
const { managedInterfaces, standAside } = require('./network-manager');
const { EXIT, CliError } = require('../common/network-error');

/** @typedef {{ paths: import('./path-settings').Wanted[], stateDir: string }} Where */

/**
 * @param {Where} where
 * @param {boolean} [mayBeNone] a watch waits for the first path
 * @returns {Promise<{ prepared: import('./path-steps-run').Prepared, refusals: string[] }>} refusals: why nothing
 *   should be changed
 */
async function prepareAll({ paths: wanted, stateDir }, mayBeNone = false) {
  const seen = await view(wanted, stateDir);
  if (seen.paths.length === 0 && !mayBeNone) {
    throw new CliError('There is no default route: list the paths with --paths.', EXIT.USAGE);
  }
  const prepared = prepare(seen);
  const refusals = [];
  const managed = prepared.facts.mptcp
    ? await managedInterfaces(prepared.paths.map(({ interface: name }) => name))
    : [];
  if (managed.length > 0) refusals.push(standAside(managed));
  else if (prepared.foreign.length > 0) {
    const list = prepared.foreign.map(({ id, address }) => `${id} (${address})`).join(', ');
    refusals.push(
      `seganet-paths did not create the MPTCP endpoint ${list}. Delete it ('ip mptcp endpoint delete id ID'), or keep it with --force.`
    );
  }
  return { prepared, refusals };
}

/** @param {string[]} refusals @param {boolean} force */
function refuse(refusals, force) {
  if (refusals.length > 0 && !force) throw new CliError(refusals.join(' '), EXIT.NOT_OK);
}

module.exports = { prepareAll, refuse };
