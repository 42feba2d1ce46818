'use strict';
// The cluster node of a kafka source, and the check for a circle through the cluster.

const { compileName } = require('../settings/kafka-names');

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string} id of the cluster node
 * @returns {Omit<import('../settings/kafka-options').KafkaOptions, 'gateway'>}
 * @throws {Error} with a sentence
 */
function claimedOptions(RED, id) {
  const node = /** @type {any} */ (id ? RED.nodes.getNode(id) : null);
  if (node?.type !== 'seganet-kafka') {
    throw Object.assign(new Error('No Kafka cluster is chosen, or it is disabled. Choose one in the node.'), {
      shown: 'no cluster'
    });
  }
  if (node.options) return node.options;
  throw Object.assign(
    new Error(`The Kafka cluster "${node.name || id}" has a wrong setting. ${node.failure}`),
    { shown: 'cluster: wrong setting' }
  );
}

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * @param {{ clusterId: string, topics: string[] }} source
 * @param {{ id: string, topics: import('../../engine/broker-links').KafkaTopics }[]} targets
 * @param {string} gateway
 * @returns {string} a sentence about a topic that an uplink of the same engine writes, '' = there is none
 */
function findKafkaLoop({ clusterId, topics }, targets, gateway) {
  for (const target of targets) {
    if (target.id !== clusterId) continue;
    for (const template of [target.topics.topic, target.topics.envelopeTopic]) {
      const names = compileName(template, gateway)
        .slice(1)
        .map(
          (parts) =>
            new RegExp(`^${parts.map((part) => (typeof part === 'string' ? escaped(part) : '.+')).join('')}$`)
        );
      const topic = topics.find((each) => names.some((name) => name.test(each)));
      if (topic) {
        return `The node reads the topic "${topic}", to which a kafka uplink of the same engine writes ("${template}"): records may circulate forever. Choose other topics.`;
      }
    }
  }
  return '';
}

module.exports = { claimedOptions, findKafkaLoop };
