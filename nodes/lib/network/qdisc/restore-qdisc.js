'use strict';
// Computes the steps that restore an interface's state before apply. Pure.

/** @typedef {import('./qdisc-state').Before} Before */
/** @typedef {import('./schemes').Step} Step */

/**
 * Qdiscs that can be created again from their kind and limit alone. Of the others, only those that the kernel created
 * come back by themselves.
 */
const SIMPLE = ['pfifo_fast', 'pfifo', 'bfifo', 'pfifo_head_drop', 'mq', 'noqueue'];

/** @param {import('./inspect-qdisc').Facts} facts @returns {Before} */
function beforeOf({ link, qdiscs }) {
  const root = qdiscs.find(({ parent }) => parent === '');
  return {
    kind: root?.kind ?? 'noqueue',
    handle: root?.handle ?? '0:',
    limit: Number(root?.options.limit ?? 0) || 0,
    txqueuelen: link.txqueuelen,
    gsoMaxSegs: link.gsoMaxSegs
  };
}

/** @param {Before} before @returns {boolean} true if undo restores it exactly */
const comesBack = ({ kind, handle }) => handle === '0:' || SIMPLE.includes(kind);

/**
 * @param {string} name
 * @param {Before} before
 * @param {{ txqueuelen: number, gsoMaxSegs: number }} now
 * @returns {Step[]}
 */
function linkSteps(name, before, now) {
  const steps = /** @type {Step[]} */ ([]);
  const set = (/** @type {string} */ option, /** @type {number} */ value) =>
    steps.push({
      tool: 'ip',
      args: ['link', 'set', 'dev', name, option, String(value)],
      why: `restore ${option}`
    });
  if (before.txqueuelen !== now.txqueuelen) set('txqueuelen', before.txqueuelen);
  if (before.gsoMaxSegs !== now.gsoMaxSegs) set('gso_max_segs', before.gsoMaxSegs);
  return steps;
}

/** @param {string} name @returns {Step} */
const removeRoot = (name) => ({
  tool: 'tc',
  args: ['qdisc', 'del', 'dev', name, 'root'],
  why: 'the kernel gives the interface its default queue'
});

/**
 * Returns the steps that restore a root that was set up by hand.
 * @param {string} name
 * @param {Before} before
 * @returns {Step[]}
 */
function rootSteps(name, before) {
  if (before.handle === '0:' || !comesBack(before)) return [];
  const limit = before.limit > 0 ? ['limit', String(before.limit)] : [];
  return [
    {
      tool: 'tc',
      args: ['qdisc', 'add', 'dev', name, 'root', 'handle', before.handle, before.kind, ...limit],
      why: 'the previous queue'
    }
  ];
}

module.exports = { beforeOf, comesBack, linkSteps, removeRoot, rootSteps };
