'use strict';
// Runs steps, and determines which parts of an interface's set-up are ours.

const { fingerprint } = require('./verdict');
const { removeRoot } = require('./restore-qdisc');
const { complaint, run } = require('../common/run-command');
const { readState } = require('./qdisc-state');
const { EXIT, CliError } = require('../common/network-error');

/** @typedef {import('./schemes').Step} Step */
/** @typedef {import('./qdisc-state').State} State */
/** @typedef {import('./inspect-qdisc').Facts} Facts */

/** @param {Step} step */
const commandOf = ({ tool, args }) => [tool, ...args].join(' ');

/** @param {Step[]} steps */
async function runAll(steps) {
  for (const step of steps) {
    const result = await run(step.tool, step.args);
    if (result.code === 0) continue;
    const why = complaint(result);
    const remedy = /not permitted|permission denied/i.test(why)
      ? ' The rights of this process do not reach tc: run it as root, or with AmbientCapabilities=CAP_NET_ADMIN.'
      : '';
    throw new CliError(`'${commandOf(step)}' failed: ${why}.${remedy}`, EXIT.NOT_OK);
  }
}

/** @param {Facts} facts */
const rootOf = (facts) => facts.qdiscs.find(({ parent }) => parent === '');

/**
 * Returns the state of this interface. A later interface with the same name does not inherit it.
 * @param {string} directory
 * @param {Facts} facts
 */
function stateOf(directory, { link }) {
  const state = readState(directory, link.name);
  return state?.index === link.index ? state : null;
}

/**
 * True if the present set-up is what apply left, or what it was working on when it was killed.
 * @param {State | null} state
 * @param {Facts} facts
 */
function isOurs(state, facts) {
  if (!state) return false;
  if (state.status === 'applying') return rootOf(facts)?.handle === '1:';
  return state.fingerprint.join('\n') === fingerprint(facts).join('\n');
}

/**
 * True if the whole set-up, including the settings of the interface, is as apply left it.
 * @param {State} state
 * @param {Facts} facts
 */
const isAsMade = (state, facts) =>
  state.status === 'applied' &&
  isOurs(state, facts) &&
  state.link.txqueuelen === facts.link.txqueuelen &&
  state.link.gsoMaxSegs === facts.link.gsoMaxSegs;

/** @param {Facts} facts @returns {Step[]} */
function clearRoot(facts) {
  const root = rootOf(facts);
  return !root || root.isDefault ? [] : [removeRoot(facts.link.name)];
}

module.exports = { runAll, rootOf, stateOf, isOurs, isAsMade, clearRoot, commandOf };
