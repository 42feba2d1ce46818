'use strict';
// Messages of Sparkplug edge nodes, as an unbatch node receives them.

const { types } = require('node:util');
const { readPayload } = require('../base/sparkplug-payload');
const { NAMESPACE, nodeTopic, parseSparkplugTopic } = require('../base/sparkplug-topic');
const { EnvelopeError, MAX_BYTES } = require('./envelope-error');
const { JsonReader } = require('./formats/json-reader');
const { SparkplugBirths, isOurs } = require('./formats/sparkplug');
const { parseKey } = require('./record-key');
const { collect } = require('./unbatch');

/** @typedef {import('./unbatch').Opened} Opened */

class SparkplugMessages {
  #births = new SparkplugBirths();

  /**
   * @param {Record<string, any>} msg from the core mqtt in node
   * @returns {Opened | 'consumed' | null} the records of data; consumed: it has none; null: it is not a message of
   *   Sparkplug, or a device's own that a gateway passed on
   * @throws {EnvelopeError} with a sentence
   */
  open({ topic, payload, userProperties = {} }) {
    const at = parseSparkplugTopic(topic);
    if (!at || !types.isUint8Array(payload)) return null;
    const hasKey = userProperties['seganet-key'] !== undefined;
    // The gateway's births have no key, its data has one with MQTT 5.
    const other = hasKey ? null : 'consumed';
    if (at.type !== 'DBIRTH' && at.type !== 'DDATA') return other;
    if (payload.length > MAX_BYTES)
      throw new EnvelopeError(`The message has ${payload.length} bytes; at most ${MAX_BYTES} are accepted.`);
    let read;
    try {
      read = readPayload(Buffer.from(payload.buffer, payload.byteOffset, payload.length));
    } catch (error) {
      if (hasKey) return null;
      throw new EnvelopeError(`The Sparkplug message ${/** @type {Error} */ (error).message}.`);
    }
    if (at.type === 'DBIRTH') return this.#learn(at, read) ? 'consumed' : other;
    if (!isOurs(read) || this.#births.isForeign(at)) return other;
    if (!this.#births.knows(at, read)) throw new EnvelopeError(unknown(at));
    const key = parseKey(first(userProperties['seganet-key'])) ?? parseKey(read.uuid);
    const historical = read.metrics.every(({ isHistorical }) => isHistorical);
    const items = this.#births.items(at, read, new JsonReader(payload.length));
    const publisher = edgeNode(at);
    return { key, historical, envelope: collect('record', items, key), trace: {}, publisher };
  }

  /**
   * @param {import('../base/sparkplug-topic').SparkplugTopic} at
   * @param {import('../base/sparkplug-payload').Payload} payload
   */
  #learn(at, payload) {
    try {
      return this.#births.learn(at, payload);
    } catch (error) {
      throw new EnvelopeError(`The birth of ${at.device} ${/** @type {Error} */ (error).message}.`);
    }
  }
}

/** @param {import('../base/sparkplug-topic').SparkplugTopic} at */
function unknown({ group, node, device }) {
  const topic = nodeTopic({ group, type: 'NCMD', node });
  return `The birth of the device ${device} of the edge node ${node} has not arrived, so its data cannot be read. Publish the command Node Control/Rebirth to ${topic}.`;
}

/** @param {import('../base/sparkplug-topic').SparkplugTopic} at */
function edgeNode({ group, node }) {
  return `${NAMESPACE}/${group}/${node}`;
}

/** @param {unknown} value of a user property, which may occur several times */
function first(value) {
  return Array.isArray(value) ? value[0] : value;
}

exports.SparkplugMessages = SparkplugMessages;
