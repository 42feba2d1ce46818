'use strict';

const { compileName, validateNameTemplate } = require('../settings/kafka-names');

/**
 * A kafka uplink node as the user configured it.
 * @typedef {object} StageOptions
 * @property {string} [topic] of records, default seganet.{class}
 * @property {string} [envelopeTopic] default seganet.{class}
 * @property {boolean} [create] the cluster may create missing topics, default false
 * @property {string} [source] protocol of the only source of its records, '' (default) = there are several
 */

/** @typedef {Required<StageOptions>} CheckedStage */

/**
 * A kafka uplink node as its thread uses it.
 * @typedef {object} Stage
 * @property {import('../settings/kafka-names').CompiledName} topic
 * @property {import('../settings/kafka-names').CompiledName} envelopeTopic
 * @property {boolean} isOfRecord the topic differs from record to record
 * @property {boolean} create
 * @property {string} source
 */

const TOPIC = 'seganet.{class}';

/**
 * Fills defaults. Throws TypeError with a sentence for the user.
 * @param {StageOptions} stage
 * @returns {CheckedStage}
 */
function checkStage({ topic = TOPIC, envelopeTopic = TOPIC, create = false, source = '' }) {
  const wrong = [validateNameTemplate(topic), validateNameTemplate(envelopeTopic, { ofRecord: false })];
  for (const reason of wrong) if (reason !== true) throw new TypeError(reason);
  return { topic, envelopeTopic, create, source };
}

/**
 * @param {CheckedStage} stage
 * @param {string} gateway
 * @returns {Stage}
 */
function compileStage({ topic, envelopeTopic, create, source }, gateway) {
  return {
    topic: compileName(topic, gateway),
    envelopeTopic: compileName(envelopeTopic, gateway),
    isOfRecord: topic.includes('{device}') || topic.includes('{topic}'),
    create,
    source
  };
}

module.exports = { checkStage, compileStage };
