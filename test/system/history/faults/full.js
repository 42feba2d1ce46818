'use strict';
// A log at its limit, with the gateway ended in the middle.

const { eventually } = require('../../../../bench/harness/net');

/** @typedef {import('../context').Context} Context */
/** @typedef {import('../schedule').Fault} Fault */

/** @param {number[] | undefined} byClass */
const total = (byClass) => (byClass || []).reduce((sum, each) => sum + each, 0);

/**
 * The log fills in an outage; the gateway ends, and starts while the cloud is still away and devices publish.
 * @param {Context} context
 * @param {Fault} fault
 */
async function fullLog(context, fault) {
  const { broker, system } = context;
  await broker.stop('SIGKILL');
  const what = 'a full log';
  await eventually(async () => (await context.ending())?.log?.state === 'full', { timeoutMs: 20000, what });
  if (fault.how === 'kill') await system.kill();
  else await system.stop(25000);
  context.crashed();
  system.start();
  await system.ready();
  await context.wait(fault.awayMs);
  await broker.start();
}

/**
 * Memory and log overflow in an outage under the policy `drop`; then the process is killed.
 * @param {Context} context
 * @param {Fault} fault
 */
async function dropKill(context, fault) {
  const { broker, fleet, system } = context;
  await broker.stop('SIGKILL');
  await context.wait(fault.for);
  if (fault.restart) {
    // Drops between the last reading of the counters and the kill would be missing in the counts.
    fleet.quiet();
    let last = '';
    const what = 'counters that do not change';
    await eventually(
      async () => {
        const stats = await context.ending();
        const state = JSON.stringify([stats?.drops, total(stats?.heldRecords)]);
        const isStill = state === last && fleet.unacked === 0;
        last = state;
        return isStill;
      },
      { timeoutMs: 15000, everyMs: 300, what }
    );
    await system.kill();
    context.crashed();
    system.start();
    await system.ready();
    fleet.start();
  }
  await broker.start();
}

/** @type {Record<string, (context: Context, fault: Fault) => Promise<void>>} */
const full = { 'full-log': fullLog, 'drop-kill': dropKill };

module.exports = { full };
