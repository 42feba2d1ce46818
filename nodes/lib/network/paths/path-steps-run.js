'use strict';
// Runs steps, and saves what undo needs.

const { complaint, run } = require('../common/run-command');
const { EXIT, CliError } = require('../common/network-error');
const { choosePaths, knownOf } = require('./path-selection');
const { inspect } = require('./inspect-paths');
const { readState, removeState, writeState } = require('./paths-state');
const { foreignEndpoints, stepsAway, stepsTo } = require('./path-steps');
const { DESIRED, writeSysctl } = require('./sysctls');

/** @typedef {import('./path-steps').Step} Step */
/** @typedef {import('./paths-state').State} State */
/** @typedef {import('./inspect-paths').Facts} Facts */
/** @typedef {import('./path-selection').Path} Path */

const RIGHTS = 'Run it as root, or with AmbientCapabilities=CAP_NET_ADMIN.';

/** @param {Step} step @returns {Promise<void>} */
async function runStep({ tool, args, otherwise }) {
  const shown = [tool, ...args].join(' ');
  if (tool === 'sysctl') {
    const [, name, value] = /** @type {RegExpExecArray} */ (/^net\.mptcp\.(\w+)=(\d+)$/.exec(args[1]));
    try {
      writeSysctl(name, Number(value));
    } catch (error) {
      const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
      const remedy =
        code === 'EROFS' ? 'In a container, /proc/sys is read-only: set the value on the host.' : RIGHTS;
      throw new CliError(`'${shown}' failed: ${message}. ${remedy}`, EXIT.NOT_OK);
    }
    return;
  }
  const result = await run(tool, args);
  if (result.code === 0) return;
  if (otherwise) return runSteps(otherwise);
  const why = complaint(result);
  const remedy = /not permitted|permission denied/i.test(why) ? ` ${RIGHTS}` : '';
  throw new CliError(`'${shown}' failed: ${why}.${remedy}`, EXIT.NOT_OK);
}

/** @param {Step[]} steps */
async function runSteps(steps) {
  for (const step of steps) await runStep(step);
}

/**
 * Returns the values that undo needs. The present value is ours only if we wrote it; otherwise undo restores it. The
 * step that was to write the last one may have failed, or never have run.
 * @param {import('./paths-state').Change | null | undefined} old
 * @param {number} now
 * @param {number} made
 * @returns {import('./paths-state').Change}
 */
const changeOf = (old, now, made) => ({ before: old && isOurs(old, now) ? old.before : now, was: now, made });

/** @param {import('./paths-state').Change} change @param {number} now */
const isOurs = ({ made, was }, now) => now === made || now === was;

/**
 * Returns what undo will need, before the first step runs.
 * @param {State | null} old
 * @param {Facts} facts
 * @param {Path[]} paths
 * @param {Step[]} steps
 * @returns {State}
 */
function stateFor(old, facts, paths, steps) {
  const sysctls = { ...old?.sysctls };
  for (const { name, value } of DESIRED) {
    const isWritten = steps.some(
      ({ tool, args }) => tool === 'sysctl' && args[1].startsWith(`net.mptcp.${name}=`)
    );
    if (isWritten) sysctls[name] = changeOf(sysctls[name], Number(facts.sysctls[name]), value);
  }
  const raises = steps.some(({ args }) => args[1] === 'limits');
  const subflows =
    raises && facts.limits
      ? changeOf(old?.subflows, facts.limits.subflows, paths.length)
      : (old?.subflows ?? null);
  return { version: 1, known: knownOf(paths), subflows, sysctls };
}

/** @typedef {{ facts: Facts, paths: Path[], old: State | null }} View */
/** @typedef {View & { steps: Step[], foreign: import('./ip-output').Endpoint[], state: State }} Prepared */

/**
 * @param {import('./path-settings').Wanted[]} wanted
 * @param {string} directory
 * @returns {Promise<View>}
 */
async function view(wanted, directory) {
  const old = readState(directory);
  const facts = await inspect();
  return { facts, paths: choosePaths(wanted, facts, old?.known ?? []), old };
}

/**
 * Returns the default fate: a path that can carry data has an endpoint.
 * @param {Path} path
 * @returns {import('./desired-state').Fate}
 */
const fateOfLink = ({ carrier, address }) => (carrier && address !== '' ? 'there' : 'gone');

/**
 * @param {View} seen
 * @param {(path: Path) => import('./desired-state').Fate} [fateOf]
 * @returns {Prepared}
 */
function prepare(seen, fateOf = fateOfLink) {
  const { facts, paths, old } = seen;
  const steps = stepsTo(facts, paths, fateOf);
  const foreign = foreignEndpoints(facts, paths);
  return { ...seen, steps, foreign, state: stateFor(old, facts, paths, steps) };
}

/**
 * Runs the steps. REQUIRES: the lock.
 * @param {Prepared} prepared
 * @param {string} directory
 */
async function change({ steps, state, old }, directory) {
  if (JSON.stringify(state) !== JSON.stringify(old)) writeState(directory, state);
  await runSteps(steps);
}

/**
 * left: values changed by another program since apply; unknown: there was no state file.
 * @typedef {{ done: Step[], left: string[], unknown: boolean }} Undone
 */

/**
 * Undoes all changes. REQUIRES: the lock.
 * @param {string} directory
 * @returns {Promise<Undone>}
 */
async function undo(directory) {
  const state = readState(directory);
  const facts = await inspect();
  const done = stepsAway(facts);
  const left = [];
  for (const [name, written] of Object.entries(state?.sysctls ?? {})) {
    const { before } = written;
    const now = facts.sysctls[name];
    if (now === before) continue;
    if (now !== null && isOurs(written, Number(now)))
      done.push({ tool: 'sysctl', args: ['-w', `net.mptcp.${name}=${before}`], why: 'previous value' });
    else if (now !== null) left.push(`net.mptcp.${name} is ${now}, which seganet-paths did not set`);
  }
  const subflows = state?.subflows;
  if (subflows && facts.limits) {
    const now = facts.limits.subflows;
    if (now !== subflows.before && isOurs(subflows, now)) {
      done.push({
        tool: 'ip',
        args: ['mptcp', 'limits', 'set', 'subflows', String(subflows.before)],
        why: 'previous value'
      });
    } else if (now !== subflows.before)
      left.push(`the subflow limit is ${now}, which seganet-paths did not set`);
  }
  await runSteps(done);
  removeState(directory);
  return { done, left, unknown: state === null && done.length > 0 };
}

module.exports = { view, prepare, change, undo };
