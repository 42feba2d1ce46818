'use strict';
// The content of a PUBLISH to the cloud: one record, or an envelope of many.

const { itemsOf } = require('../../../../nodes/lib/unbatch/items');
const { hashOf, isOurs } = require('./payload');

/**
 * @typedef {import('../history').RecordName & {hash: string, index: number}} ReadRecord
 * @typedef {{topic: string, records: ReadRecord[], key: string, historical: boolean, content: string, problem: string}}
 *  Reading
 */

const BRACE = 0x7b;
const ENVELOPE = /^gw\//;
const HISTORY_SUFFIX = /\/history$/;

/**
 * Gives a foreign payload a name that no device has: the checker calls it a phantom.
 * @param {any} value the parsed payload @param {string} bytes @param {number} index @param {boolean} isConsistent
 * @returns {ReadRecord}
 */
function named(value, bytes, index, isConsistent) {
  if (!isOurs(value)) {
    // A damaged payload of a known record is a changed one.
    const { device = '?', class: recordClass = 0, n = -1 } = value && typeof value === 'object' ? value : {};
    return { device, class: recordClass, n, hash: `damaged: ${bytes.slice(0, 60)}`, index };
  }
  const hash = isConsistent ? hashOf(bytes) : `in a line that contradicts it: ${hashOf(bytes)}`;
  return { device: value.device, class: value.class, n: value.n, hash, index };
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Returns the lines of an envelope. NDJSON is read by JSON.parse alone; other formats by the reader of unbatch, whose
 * own tests compare it with foreign ones.
 * @param {Buffer} bytes @returns {{ line: string, value: any }[]}
 */
function linesOf(bytes) {
  if (bytes[0] !== BRACE) {
    const items = [...itemsOf(bytes).items];
    return items.map(({ fields, reason = '' }) => ({ line: reason, value: fields ?? null }));
  }
  const lines = bytes.toString('utf8').split('\n');
  // Every line ends with a line feed; text after the last one is a line that was cut off.
  if (lines[lines.length - 1] === '') lines.pop();
  return lines.map((line) => ({ line, value: parse(line) }));
}

/** @param {Buffer} bytes @returns {{records: ReadRecord[], key: string}} */
function readEnvelope(bytes) {
  let key = '';
  const records = linesOf(bytes).map(({ line, value }, index) => {
    if (index === 0 && typeof value?.k === 'string') key = value.k;
    const payload = value?.p;
    const isConsistent =
      value?.d === payload?.device && value?.c === payload?.class && isTopicOf(value?.t, payload);
    return named(payload, payload === undefined ? line : JSON.stringify(payload), index, isConsistent);
  });
  return { records, key };
}

/** @param {string} device @param {number} recordClass */
const topicOf = (device, recordClass) => `d/${device}/c${recordClass}`;

/** Devices whose topics are not checked: any is right. */
const ODD = 'odd-';

/** @param {unknown} topic @param {any} record @returns {boolean} true if the record may have this topic */
const isTopicOf = (topic, record) =>
  String(record?.device).startsWith(ODD) || topic === topicOf(record?.device, record?.class);

/**
 * @param {import('mqtt-packet').IPublishPacket} packet
 * @returns {Reading}
 */
function readPublish({ topic, payload, properties }) {
  const text = payload.toString('utf8');
  const user = /** @type {Record<string, string | string[]>} */ (properties?.userProperties || {});
  const propertyKey = String(user['seganet-key'] || '');
  const historical = user['seganet-history'] !== undefined || HISTORY_SUFFIX.test(topic);
  const content = hashOf(payload);
  if (!ENVELOPE.test(topic)) {
    const value = parse(text);
    const isConsistent = value !== null && isTopicOf(topic.replace(HISTORY_SUFFIX, ''), value);
    return {
      topic,
      records: [named(value, text, 0, isConsistent)],
      key: propertyKey,
      historical,
      content,
      problem: ''
    };
  }
  const { records, key } = readEnvelope(Buffer.from(payload));
  const differs = key !== '' && propertyKey !== '' && key !== propertyKey;
  const problem = differs ? `the property says ${propertyKey}, the envelope ${key}` : '';
  return { topic, records, key: key || propertyKey, historical, content, problem };
}

module.exports = { readPublish, topicOf, ODD };
