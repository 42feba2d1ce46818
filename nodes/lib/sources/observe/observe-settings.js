'use strict';
// Checks the settings of a coap observe node.

const { MAX_DEVICE_BYTES } = require('../../base/device-id');
const { integer, text } = require('../../base/options');
const { toClass } = require('../../base/record');
const { checkTemplate, fill } = require('../../base/templates');
const { parseCoapUrl } = require('./coap-url');
const { shown } = require('../../base/values');

/** Each resource has its own socket. */
const MAX_RESOURCES = 500;
const NORMAL = 3;
const WORDS = ['host', 'port', 'path'];

/**
 * @typedef {object} Resource
 * @property {import('./coap-url').CoapUrl} target
 * @property {'observe' | 'poll'} mode
 * @property {number} intervalS
 * @property {string} deviceId
 * @property {string} topic
 * @property {number} cls
 *
 * @typedef {object} ObserveSettings
 * @property {Resource[]} resources
 * @property {boolean} confirmable
 * @property {number} timeoutMs
 * @property {number} maxBodyBytes
 * @property {(url: unknown) => Resource} resourceOf for a message
 */

const schema = {
  resources: (/** @type {unknown} */ value) => value,
  confirmable: (/** @type {unknown} */ value) => value !== false && value !== 'false',
  timeoutS: integer(1, 300, 30),
  maxBodyKiB: integer(1, 16384, 256),
  deviceId: text('{host}'),
  topic: text('coap/{device}/{path}'),
  class: (/** @type {unknown} */ value) => value
};

const interval = integer(1, 86400, 60);

/**
 * @param {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} values
 * @returns {ObserveSettings}
 * @throws {RangeError} with a sentence
 */
function toSettings({ resources, confirmable, timeoutS, maxBodyKiB, deviceId, topic, class: named }) {
  checkTemplate('deviceId', deviceId, WORDS);
  checkTemplate('topic', topic, ['device', ...WORDS]);
  const cls = toClass(named, NORMAL);

  /** @param {unknown} url @param {Record<string, unknown>} more @returns {Resource} */
  const toResource = (url, more) => {
    const target = parseCoapUrl(url);
    const values = { host: target.host, port: String(target.port), path: target.path };
    const device = String(more.device ?? '').trim() || fill(deviceId, values);
    if (device === '' || Buffer.byteLength(device) > MAX_DEVICE_BYTES) {
      throw new RangeError(`must have a device id of 1 to ${MAX_DEVICE_BYTES} bytes.`);
    }
    if (more.mode !== 'observe' && more.mode !== 'poll') {
      throw new RangeError(`must have the mode observe or poll, not "${shown(more.mode)}".`);
    }
    return {
      target,
      mode: more.mode,
      intervalS: interval(more.intervalS),
      deviceId: device,
      // A resource at the root has no path.
      topic: fill(topic, { ...values, device }, ['path']).replace(/\/$/, ''),
      cls: toClass(more.class, cls)
    };
  };
  return {
    resources: parseList(resources).map((given, index) => {
      const row = /** @type {Record<string, unknown>} */ (given ?? {});
      try {
        return toResource(row.url, row);
      } catch (error) {
        throw new RangeError(`Resource ${index + 1} ${/** @type {Error} */ (error).message}`, {
          cause: error
        });
      }
    }),
    confirmable,
    timeoutMs: timeoutS * 1000,
    maxBodyBytes: maxBodyKiB * 1024,
    resourceOf: (url) => toResource(url, { mode: 'poll' })
  };
}

/** @param {unknown} list @returns {unknown[]} */
function parseList(list) {
  const rows = list ?? [];
  if (!Array.isArray(rows)) throw new RangeError('The resources must be a list.');
  if (rows.length > MAX_RESOURCES) {
    throw new RangeError(
      `There are ${rows.length} resources; at most ${MAX_RESOURCES} are allowed. Use more nodes.`
    );
  }
  return rows;
}

module.exports = { schema, toSettings };
