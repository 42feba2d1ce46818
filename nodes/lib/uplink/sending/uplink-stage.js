'use strict';

const { badCharacter, compileTopic, validateTopicTemplate } = require('../../base/topic-template');
const { shown } = require('../../base/values');
const { filterProblem } = require('../../settings/rules');

/** @typedef {'property' | 'suffix' | 'none'} History */
/** @typedef {NonNullable<import('../../../../native').PublishStage['format']>} Format */

/** @type {readonly Format[]} */
const FORMATS = ['ndjson', 'json', 'cbor', 'senml-json', 'senml-cbor', 'sparkplug'];
/** @typedef {'off' | 'zstd' | 'deflate' | 'auto'} Compress */
/** @typedef {Exclude<Compress, 'auto'>} Compression */

const MAX_FILTERS = 100;

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
 * @property {Compress} [compress] how envelopes are compressed, default off; auto: while the link is the limit or
 *   metered
 * @property {string} [neverCompress] MQTT topic filters, separated by commas: an envelope with a record of such a topic
 *   is not compressed; default none
 */

/** @typedef {Required<Omit<StageOptions, 'gateway' | 'qos'>> & {gateway?: string, qos: 0 | 1}} CheckedStage */

/**
 * An uplink node as the uplink's thread and the engine use it.
 * @typedef {Omit<import('../../../../native').PublishStage, 'id'> & StageExtras} Stage
 *
 * What only the uplink's thread uses.
 * @typedef {object} StageExtras
 * @property {boolean} isAuto compressed only while it pays
 * @property {string} dictionaryTopic of the retained messages with the dictionaries, without the number at its end
 */

/**
 * Splits topic filters. Throws TypeError with a sentence for the user.
 * @param {string} text separated by commas
 * @returns {string[]}
 */
function readFilters(text) {
  const filters = text
    .split(',')
    .map((filter) => filter.trim())
    .filter((filter) => filter !== '');
  if (filters.length > MAX_FILTERS)
    throw new TypeError(
      `There are ${filters.length} topics never to compress; at most ${MAX_FILTERS} are allowed.`
    );
  for (const filter of filters) {
    const problem = filterProblem(filter);
    if (problem) throw new TypeError(`The topic filter '${shown(filter)}' never to compress ${problem}.`);
  }
  return filters;
}

/**
 * Returns the topic of a stage's dictionaries: that of its envelopes with the word dictionary for the class. The last
 * level, which ends with a number, has the gateway's name if the topic does not: several gateways may use the topic,
 * and must not replace each other's dictionaries.
 * @param {string} topic template
 * @param {string} gateway
 * @returns {string}
 */
function dictionaryTopic(topic, gateway) {
  const template = topic.includes('{class}') ? topic : `${topic}/{class}`;
  const last = topic.includes('{gateway}') ? '' : `${gateway}-`;
  const levels = template
    .replaceAll('{class}', 'dictionary')
    .replaceAll('{gateway}', () => gateway)
    .replace(/\{(device|topic)\}/g, '');
  return `${levels}/${last}`;
}

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
  historySuffix = '/history',
  compress = 'off',
  neverCompress = ''
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
  if (!['off', 'zstd', 'deflate', 'auto'].includes(compress))
    throw new TypeError(`compress is ${compress}; it must be off, zstd, deflate or auto.`);
  readFilters(neverCompress);
  return {
    topic,
    recordTopic,
    qos: String(qos) === '0' ? 0 : 1,
    gateway,
    format,
    history,
    historySuffix,
    compress,
    neverCompress
  };
}

/**
 * @param {CheckedStage} stage
 * @param {string} ownGateway of the thread
 * @param {Compression[]} [available] compressions that this Node.js has, the best first
 * @returns {Stage}
 */
function compileStage(stage, ownGateway, available = []) {
  const { topic, recordTopic, qos, format, history, historySuffix, compress, neverCompress } = stage;
  const name = stage.gateway ?? ownGateway;
  // Sparkplug knows no compression.
  const chosen = format === 'sparkplug' ? 'off' : compress;
  const wanted = chosen === 'auto' ? available[0] : chosen;
  return {
    topic: compileTopic(topic, name),
    recordTopic: compileTopic(recordTopic, name),
    qos,
    keyRaw: Buffer.from(name),
    keyJson: Buffer.from(JSON.stringify(name).slice(1, -1)),
    format,
    history,
    historySuffix: Buffer.from(historySuffix),
    // An explicit compression that is missing has stopped the uplink node already.
    compress: wanted && available.includes(wanted) ? wanted : 'off',
    neverCompress: readFilters(neverCompress),
    isAuto: chosen === 'auto',
    dictionaryTopic: dictionaryTopic(topic, name)
  };
}

module.exports = { checkStage, compileStage, readFilters };
