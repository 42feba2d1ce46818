'use strict';
// Sets up an interface, completely or not at all.

const { clearRoot, isAsMade, isOurs, rootOf, runAll, stateOf } = require('./qdisc-steps');
const { fingerprint } = require('./verdict');
const { inspect } = require('./inspect-qdisc');
const { beforeOf, comesBack, linkSteps, rootSteps } = require('./restore-qdisc');
const { SCHEMES } = require('./schemes');
const { removeState, writeState } = require('./qdisc-state');
const { EXIT, CliError } = require('../common/network-error');

/** @typedef {import('./schemes').Step} Step */
/** @typedef {import('./schemes').DesiredState} DesiredState */
/** @typedef {import('./qdisc-state').State} State */
/** @typedef {import('./inspect-qdisc').Facts} Facts */

/**
 * @param {Facts} facts
 * @param {State | null} state
 * @param {boolean} force
 */
function refuseForeign(facts, state, force) {
  const root = rootOf(facts);
  if (force || !root || root.isDefault || isOurs(state, facts)) return;
  const { name } = facts.link;
  const what = state
    ? `The queue of '${name}' has changed since apply`
    : `'${name}' already has a queue that seganet-net did not create, '${root.kind} ${root.handle}'`;
  const remedy = "'seganet-net check' shows whether it is sufficient; --force replaces it.";
  throw new CliError(`${what}. ${remedy}`, EXIT.NOT_OK);
}

/**
 * @typedef {object} Change
 * @property {Facts} facts
 * @property {string} scheme
 * @property {Step[]} steps
 * @property {DesiredState} desired
 * @property {string} directory of the state
 * @property {boolean} force
 */
/**
 * lost: what undo cannot restore, or ''.
 * @typedef {{ changed: boolean, facts: Facts, state: State, lost: string }} Applied
 */

/** @param {Change} change @returns {Promise<Applied>} */
async function applyChange({ facts, scheme, steps, desired, directory, force }) {
  const { name, index } = facts.link;
  const old = stateOf(directory, facts);
  const made = { scheme, rate: desired.rate, share: desired.share };
  refuseForeign(facts, old, force);
  const ours = isOurs(old, facts);
  const isSame = old && JSON.stringify(old.made) === JSON.stringify(made);
  if (isSame && isAsMade(old, facts)) {
    return { changed: false, facts, state: old, lost: '' };
  }
  const before = ours && old ? old.before : { ...beforeOf(facts), ...(old && linkOf(old.before)) };
  /** @type {State} */
  const state = {
    version: 1,
    interface: name,
    index,
    status: 'applying',
    made,
    before,
    link: linkOf(before),
    fingerprint: []
  };
  writeState(directory, state);
  try {
    await runAll([...clearRoot(facts), ...linkSteps(name, before, facts.link), ...steps]);
  } catch (error) {
    throw await rollBack(/** @type {Error} */ (error), {
      facts,
      old: ours ? old : null,
      desired,
      directory,
      before
    });
  }
  const after = await inspect(name);
  const done = /** @type {State} */ ({
    ...state,
    status: 'applied',
    link: linkOf(after.link),
    fingerprint: fingerprint(after)
  });
  writeState(directory, done);
  const lost = comesBack(before) ? '' : `${before.kind} ${before.handle}`;
  return { changed: true, facts: after, state: done, lost };
}

/** @param {import('./qdisc-state').LinkSettings} link */
const linkOf = ({ txqueuelen, gsoMaxSegs }) => ({ txqueuelen, gsoMaxSegs });

/**
 * @typedef {object} Previous the state before a change
 * @property {Facts} facts
 * @property {State | null} old
 * @property {DesiredState} desired
 * @property {string} directory
 * @property {import('./qdisc-state').Before} before
 */

/**
 * Undoes a failed change.
 * @param {Error} error
 * @param {Previous} previous
 * @returns {Promise<InstanceType<typeof CliError>>} the error to report
 */
async function rollBack(error, { facts, old, desired, directory, before }) {
  const { name } = facts.link;
  const exitCode = error instanceof CliError ? error.exitCode : EXIT.CANNOT;
  try {
    const now = await inspect(name);
    await runAll([...clearRoot(now), ...linkSteps(name, old ? old.before : beforeOf(facts), now.link)]);
    // Our own earlier set-up is restored as it was made. A set-up made by hand is restored as far as possible.
    if (old?.status === 'applied') {
      await runAll(SCHEMES[old.made.scheme].steps({ ...desired, ...old.made }));
      writeState(directory, old);
    } else {
      await runAll(rootSteps(name, before));
      removeState(directory, name);
    }
  } catch (second) {
    const message = `${error.message} The change could not be undone: ${/** @type {Error} */ (second).message}`;
    return new CliError(`${message} Run 'seganet-net undo --interface ${name}' to try again.`, EXIT.NOT_OK);
  }
  const gone = old || comesBack(before) ? '' : `, except for '${before.kind}', which is lost`;
  return new CliError(`${error.message} Everything is as it was before${gone}.`, exitCode);
}

module.exports = { applyChange };
