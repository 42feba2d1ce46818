'use strict';
// Tries a Kafka cluster step by step, with the options of its node, in a thread of its own because the client takes
// most of a second to load.

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { missingClient } = require('./uplink/client');
const { compileName, isOfRecord } = require('./settings/kafka-names');
const { checkOptions } = require('./settings/kafka-options');
const { readCluster } = require('./settings/cluster-node');
const { rows } = require('./settings/kafka-uplink');

/** Class of the records whose topics are tried: normal. */
const CLASS = 3;
const MOST_TOPICS = 20;
/** Brokers that are tried by their address in the node. */
const MOST_BROKERS = 10;
/** For the start of the thread, beyond the limits of its steps. */
const START_MS = 10000;

/** A topic of an uplink node. @typedef {{ name: string, create: boolean }} Topic */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('../settings/broker-node').Tested} tested
 * @returns {Promise<import('../uplink/session/test-steps').Step[]>}
 * @throws {Error} with a sentence, for a wrong setting or a missing client
 */
async function testCluster(RED, { node, config, credentials, nodes, gateway }) {
  const { options, shared } = readCluster(RED, node, config, credentials);
  const lacks = missingClient();
  if (lacks) throw new Error(lacks);
  const checked = checkOptions({ ...options, gateway }, '');
  const brokers = checked.brokers.slice(0, MOST_BROKERS);
  const topics = topicsAt(nodes, config.id, gateway);
  return inThread(
    { options: { ...checked, brokers }, topics, shared: shared ? [shared.commands, shared.devices] : [] },
    // Each broker is tried, then the cluster and its topics.
    START_MS + (brokers.length + 2) * (checked.connectTimeoutMs + checked.ackTimeoutMs)
  );
}

/**
 * Returns the topics to which kafka uplink nodes write, except those that a record chooses.
 * @param {Record<string, any>[]} nodes of the flow, with the values of their variables
 * @param {string} cluster id of its node
 * @param {string} gateway
 * @returns {Topic[]}
 */
function topicsAt(nodes, cluster, gateway) {
  /** @type {Map<string, Topic>} */
  const topics = new Map();
  for (const each of nodes) {
    if (each.type !== 'seganet-kafka-uplink' || each.cluster !== cluster || each.d) continue;
    const create = each.createTopics === 'on';
    for (const property of /** @type {const} */ (['topic', 'envelopeTopic'])) {
      const template = String(each[property] || rows[property].default);
      const name = compileName(template, gateway)[CLASS].join('');
      if (!isOfRecord(template)) topics.set(name, { name, create });
    }
  }
  return [...topics.values()].slice(0, MOST_TOPICS);
}

/**
 * @param {object} workerData
 * @param {number} limitMs
 * @returns {Promise<import('../uplink/session/test-steps').Step[]>}
 */
function inThread(workerData, limitMs) {
  const worker = new Worker(path.join(__dirname, 'cluster-test-worker.js'), {
    workerData,
    name: 'kafka-test'
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('The test did not end in time.')), limitMs);
    worker.on('message', resolve);
    worker.on('error', reject);
    worker.on('exit', () => {
      clearTimeout(timer);
      reject(new Error('The test ended without a result.'));
    });
  }).finally(() => worker.terminate());
}

module.exports = { testCluster, topicsAt };
