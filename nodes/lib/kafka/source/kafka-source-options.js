'use strict';
// The settings of a kafka source node.

const { isTopicName } = require('../settings/kafka-names');
const { choice, integer, recordClass, text } = require('../../base/options');
const { shown } = require('../../base/values');
const { deliveryRows } = require('../../settings/delivery');
const { schemaOf } = require('../../settings/rows');

const MAX_TOPICS = 100;

const schema = {
  cluster: text(''),
  topics: text(''),
  group: text('', /^\S{1,255}$/, 'up to 255 characters without spaces'),
  from: choice(/** @type {const} */ (['latest', 'earliest']), 'latest'),
  deviceFrom: choice(/** @type {const} */ (['key', 'header', 'fixed']), 'key'),
  device: text('', /^[^\0]{1,256}$/, 'up to 256 characters'),
  classHeader: text('class', /^[^\0]{1,256}$/, 'up to 256 characters'),
  class: recordClass(0),
  window: integer(1, 1000, 500),
  sessionTimeoutMs: integer(1000, 1800000, 15000),
  ...schemaOf(deliveryRows)
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} Settings */

/**
 * Options of the thread of a source.
 * @typedef {object} SourceOptions
 * @property {import('../settings/kafka-options').ClusterOptions} cluster
 * @property {string} clientId
 * @property {string} group
 * @property {string[]} topics
 * @property {'latest' | 'earliest'} from where a group without commits begins
 * @property {number} window most records that are not safe
 * @property {number} sessionTimeoutMs
 */

/**
 * Parses topics that are separated by commas or spaces.
 * @param {string} entered
 * @returns {string[]} each once
 * @throws {Error} with a sentence
 */
function parseTopics(entered) {
  const topics = [...new Set(entered.split(/[\s,]+/).filter(Boolean))];
  if (topics.length === 0) throw new Error('The topics are missing. Enter one or more, separated by commas.');
  if (topics.length > MAX_TOPICS)
    throw new Error(`There are more than ${MAX_TOPICS} topics. Use a second node.`);
  const wrong = topics.find((topic) => !isTopicName(topic));
  if (wrong !== undefined) {
    throw new Error(
      `The topic "${shown(wrong)}" is not the name of a Kafka topic. Use letters, digits, dot, underscore and hyphen.`
    );
  }
  return topics;
}

/**
 * @param {Settings} settings
 * @param {Omit<import('../settings/kafka-options').KafkaOptions, 'gateway'>} cluster
 * @param {{ gateway: string, nodeId: string }} names
 * @returns {SourceOptions}
 * @throws {Error} with a sentence
 */
function sourceOptions(settings, cluster, { gateway, nodeId }) {
  const { group, from, deviceFrom, device, window, sessionTimeoutMs } = settings;
  if (deviceFrom !== 'key' && !device) {
    const what = deviceFrom === 'fixed' ? 'device id' : 'header with the device id';
    throw new Error(`The ${what} is missing. Enter it, or use the key of the Kafka record.`);
  }
  return {
    cluster,
    clientId: `${(cluster.clientId || gateway).replace(/\s/g, '_')}-source`,
    group: group || `${gateway.replace(/\s/g, '_')}-${nodeId}`,
    topics: parseTopics(settings.topics),
    from,
    window,
    sessionTimeoutMs
  };
}

module.exports = { parseTopics, schema, sourceOptions };
