'use strict';
// The gateway with a Kafka cluster in place of the broker.

const { BenchGateway, systemOf } = require('../bench-gateway');
const { eventually } = require('../net');
const { kafkaUplink } = require('./flow');

const READY_MS = 30000;

/**
 * @param {import('../../systems').Context} context its cloud is not used
 * @param {string} brokers
 * @returns {Promise<import('../../systems').System>} once it can write to the cluster
 */
async function startKafkaGateway({ gatewayEnv, ...context }, brokers) {
  const flow = kafkaUplink(brokers, 'seganet-uplink-1');
  const env = { SEGANET_BATCH_MODE: 'records', ...gatewayEnv };
  const gateway = new BenchGateway({ ...context, env, flow, statistics: true });
  const readyz = async () =>
    (await fetch(`http://127.0.0.1:${gateway.editorPort}/seganet/readyz`).catch(() => null))?.ok;
  try {
    await gateway.start();
    await eventually(readyz, { timeoutMs: READY_MS, everyMs: 100, what: 'a gateway that is ready' });
  } catch (error) {
    const { output } = gateway;
    await gateway.close();
    throw new Error(`the gateway did not become ready:\n${output.slice(-4000)}`, { cause: error });
  }
  return systemOf(gateway);
}

module.exports = { startKafkaGateway };
