'use strict';
// A user edits the flow while devices publish: each step deploys an edit, the last one the original flow.

const { eventually } = require('../../../../bench/harness/net');
const { COPY, EDITS, copyOfUplink } = require('./flow-edits');

/** @typedef {import('../context').Context} Context */
/** @typedef {import('../schedule').Fault} Fault */

/**
 * How long devices may wait for an acknowledgement after a deploy: an engine that ends first delivers all that it can.
 */
const SERVED_MS = 20000;

/** @param {Context} context @param {string} deploy @param {any[]} flow @param {string} what */
async function post(context, deploy, flow, what) {
  const status = await context.system.deployFlow(deploy, flow);
  if (status < 200 || status > 299)
    context.problem('deploy', `POST /flows (${deploy}, ${what}) answered ${status}`);
}

/** Waits until devices get acknowledgements for new records. @param {Context} context @param {string} what */
async function served(context, what) {
  const { devices } = context.history;
  const from = devices.length;
  try {
    await eventually(() => devices.slice(from).some(({ type }) => type === 'ack'), {
      timeoutMs: SERVED_MS,
      what
    });
  } catch {
    context.problem('unserved', `no device got an acknowledgement within ${SERVED_MS} ms after: ${what}`);
  }
}

/** @param {any[]} flow */
const isWithoutEngine = (flow) => !flow.some(({ type }) => type === 'seganet-engine');

/** @param {Context} context @param {Fault} fault */
async function edits(context, fault) {
  const { system } = context;
  const whole = /** @type {any[]} */ (await system.flow());
  let flow = whole;
  /** Edits since the flow was whole. @type {string[]} */
  let since = [];
  /** After a new engine node, Node-RED recreates no node that refers to it until a full deploy. */
  let isOrphaned = false;
  for (const { edit, isFresh, deploy, gapMs, kill } of fault.steps) {
    if (isFresh) since = [];
    const before = flow;
    flow = EDITS[edit].apply(isFresh ? whole : flow);
    isOrphaned = deploy !== 'full' && (isOrphaned || isWithoutEngine(before));
    since.push(edit);
    const what = `${since.join(', then ')} (${deploy})`;
    context.history.faults.push({ kind: `edit: ${what}`, time: context.clock(), until: context.clock() });
    await context.ending();
    await post(context, deploy, flow, what);
    // The engine may be another one: records that the old one sent may be sent again.
    context.crashed();
    if (!isOrphaned && since.every((each) => EDITS[each].serves)) await served(context, what);
    await context.wait(gapMs);
    if (kill) {
      await context.ending();
      await system.kill();
      context.crashed();
      system.start();
      await system.answers();
      isOrphaned = false;
    }
  }
  await context.ending();
  // The log's records for the copy are sent only while the copy exists.
  const end = fault.steps.some((/** @type {{ edit: string }} */ { edit }) => edit === COPY)
    ? [...whole, copyOfUplink(whole)]
    : whole;
  const last = isOrphaned || isWithoutEngine(flow) ? 'full' : fault.last;
  await post(context, last, end, 'the original flow');
  context.crashed();
  await served(context, `the original flow (${last})`);
}

module.exports = { edits };
