'use strict';

const { BenchGateway, systemOf } = require('../harness/bench-gateway');

/** @typedef {import('./index').Context} Context @typedef {import('./index').System} System */

/** @param {Context} context @param {Record<string, string>} env @returns {Promise<System>} */
async function start(context, env) {
  const { cloud, cpus, openFiles, statistics, flow, within } = context;
  const gateway = new BenchGateway({ cloud, cpus, openFiles, statistics, flow, within, env });
  try {
    await gateway.start();
    // Every client except the receivers belongs to the gateway.
    await cloud.waitForClient(/^(?!receiver|bench-)/, 20000);
  } catch (error) {
    await gateway.close();
    throw error;
  }
  return systemOf(gateway);
}

/**
 * @param {string} name @param {string} title @param {string} what
 * @param {Record<string, string>} own variables that define the variant; --env does not change them
 * @returns {import('./index').Adapter}
 */
const variant = (name, title, what, own) => ({
  name,
  title,
  what,
  lacking: () => '',
  start: (context) => start(context, { SEGANET_BATCH_MODE: 'envelope', ...context.gatewayEnv, ...own })
});

module.exports = [
  variant('seganet', 'SegaNet Gateway', 'The gateway with its defaults, batches as NDJSON envelopes.', {}),
  variant(
    'seganet-adaptive',
    'SegaNet Gateway, adaptive batches',
    'The gateway; a batch leaves when its session has room, and grows while there is none.',
    { 'seganet-batch.flush': 'adaptive' }
  ),
  variant(
    'seganet-paper',
    "SegaNet Gateway, the paper's limits",
    "The gateway; a batch leaves at 1 KB or after 1 s (the paper's limits), and workers wake up every 10 ms.",
    { 'seganet-batch.flush': 'limits', 'seganet-engine.wakeIntervalUs': '10000' }
  ),
  variant(
    'seganet-records',
    'SegaNet Gateway, single records',
    'The gateway with original topics and payloads: nothing changes for the cloud.',
    { SEGANET_BATCH_MODE: 'records' }
  )
];
