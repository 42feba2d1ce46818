'use strict';
// Topics of Sparkplug B: spBv1.0/<group>/<message type>/<edge node>[/<device>].

const NAMESPACE = 'spBv1.0';
const TYPES = /** @type {const} */ ([
  ...['NBIRTH', 'NDEATH', 'NDATA', 'NCMD'],
  ...['DBIRTH', 'DDEATH', 'DDATA', 'DCMD']
]);
/** A level that the group or the edge node may be. */
const LEVEL = /^[^/+#\0]{1,128}$/;

/**
 * @typedef {object} SparkplugTopic
 * @property {string} group
 * @property {typeof TYPES[number]} type
 * @property {string} node
 * @property {string} device '' = none
 */

/**
 * @param {{ group: string, type: typeof TYPES[number], node: string }} parts
 * @returns {string}
 */
function nodeTopic({ group, type, node }) {
  return `${NAMESPACE}/${group}/${type}/${node}`;
}

/**
 * @param {unknown} topic
 * @returns {SparkplugTopic | null} null for any other topic
 */
function parseSparkplugTopic(topic) {
  if (typeof topic !== 'string' || !topic.startsWith(`${NAMESPACE}/`)) return null;
  const [, group, type, node, device = '', ...more] = topic.split('/');
  const known = TYPES.find((each) => each === type);
  if (!known || !group || !node || more.length > 0 || (device === '') !== known.startsWith('N')) return null;
  return { group, type: known, node, device };
}

/**
 * Returns the device id that a level stands for: the gateway writes the bytes of / + # %, of control characters and of
 * noncharacters as % with two hexadecimal digits.
 * @param {string} level
 * @returns {string}
 */
function deviceOfLevel(level) {
  return level.replace(/(?:%[0-9A-F]{2})+/g, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()
  );
}

module.exports = { LEVEL, NAMESPACE, deviceOfLevel, nodeTopic, parseSparkplugTopic };
