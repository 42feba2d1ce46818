'use strict';

const { badCharacter, compileTopic, validateTopicTemplate } = require('../../base/topic-template');

/** @typedef {'property' | 'suffix' | 'none'} History */
/** @typedef {NonNullable<import('../../../../native').PublishStage['format']>} Format */

/** @type {readonly Format[]} */
const FORMATS = ['ndjson', 'json', 'cbor', 'senml-json', 'senml-cbor'];

/**
 * An uplink node as the user configured it.
 * @typedef {object} StageOptions
 * @property {string} [topic] of envelopes, default gw/{gateway}/{class}
 * @property {string} [recordTopic] default {topic}
 * @property {0 | 1 | '0' | '1'} [qos] default 1
 * @property {string} [gateway] default: the thread's
 * @property {Format} [format] of envelopes, default ndjson
 * @property {History} [history] how backlog is marked, default property (MQTT 5 only)
 * @property {string} [historySuffix] of the topic, default /history
 */

/** @typedef {Required<Omit<StageOptions, 'gateway' | 'qos'>> & {gateway?: string, qos: 0 | 1}} CheckedStage */

/**
 * An uplink node as the uplink's thread and the engine use it.
 * @typedef {Omit<import('../../../../native').PublishStage, 'id'>} Stage
 */

/**
 * Fills defaults. Throws TypeError with a sentence for the user.
 * @param {StageOptions} stage
 * @returns {CheckedStage}
 */
function checkStage({
  topic = 'gw/{gateway}/{class}',
  recordTopic = '{topic}',
  qos = 1,
  gateway,
  format = 'ndjson',
  history = 'property',
  historySuffix = '/history'
}) {
  for (const template of [topic, recordTopic]) {
    const valid = validateTopicTemplate(template);
    if (valid !== true) throw new TypeError(valid);
  }
  if (!['0', '1'].includes(String(qos))) throw new TypeError(`qos is ${qos}; it must be 0 or 1.`);
  const bad = gateway === undefined ? '' : badCharacter(gateway);
  if (bad) throw new TypeError(`The gateway id '${gateway}' ${bad}.`);
  if (!FORMATS.includes(format))
    throw new TypeError(`format is ${format}; it must be one of ${FORMATS.join(', ')}.`);
  if (!['property', 'suffix', 'none'].includes(history)) {
    throw new TypeError(`history is ${history}; it must be property, suffix or none.`);
  }
  const wrong = historySuffix === '' ? 'must not be empty' : badCharacter(historySuffix);
  if (history === 'suffix' && wrong) throw new TypeError(`The history suffix '${historySuffix}' ${wrong}.`);
  return { topic, recordTopic, qos: String(qos) === '0' ? 0 : 1, gateway, format, history, historySuffix };
}

/**
 * @param {CheckedStage} stage
 * @param {string} ownGateway of the thread
 * @returns {Stage}
 */
function compileStage({ topic, recordTopic, qos, format, history, historySuffix, gateway }, ownGateway) {
  const name = gateway ?? ownGateway;
  return {
    topic: compileTopic(topic, name),
    recordTopic: compileTopic(recordTopic, name),
    qos,
    keyRaw: Buffer.from(name),
    keyJson: Buffer.from(JSON.stringify(name).slice(1, -1)),
    format,
    history,
    historySuffix: Buffer.from(historySuffix)
  };
}

module.exports = { checkStage, compileStage };
