'use strict';
// Undoes apply.

const { clearRoot, isOurs, rootOf, runAll, stateOf } = require('./qdisc-steps');
const { isRootOf } = require('./verdict');
const { linkSteps, rootSteps } = require('./restore-qdisc');
const { removeState } = require('./qdisc-state');

/** @typedef {import('./schemes').Step} Step */
/** @typedef {import('./qdisc-state').State} State */
/** @typedef {import('./inspect-qdisc').Facts} Facts */

/**
 * left: the present root if it is not ours, or ''.
 * @typedef {{ done: Step[], left: string, state: State | null }} Undone
 */

/**
 * @param {Facts} facts
 * @param {string} directory
 * @param {boolean} force
 * @returns {Promise<Undone>}
 */
async function undoChange(facts, directory, force) {
  const { name } = facts.link;
  const state = stateOf(directory, facts);
  if (!state) {
    removeState(directory, name);
    return { done: [], left: '', state: null };
  }
  const root = rootOf(facts);
  const isRoot = force || isOurs(state, facts) || isRootOf(root, state.fingerprint);
  const isForeign = root !== undefined && !root.isDefault && !isRoot;
  const { before } = state;
  const done = [
    ...(isForeign ? [] : clearRoot(facts)),
    // pfifo_fast reads the length of its bands when it is created.
    ...linkSteps(name, before, facts.link)
  ];
  if (!isForeign) done.push(...rootSteps(name, before));
  await runAll(done);
  removeState(directory, name);
  return { done, left: isForeign ? `${root.kind} ${root.handle}` : '', state };
}

module.exports = { undoChange };
