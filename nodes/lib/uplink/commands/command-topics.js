'use strict';

// Topics of commands in the cloud: <prefix>/<gateway>/<device>/<rest>, and of their reports: <prefix>-report/….

/** gateway: its id, or the name of the group. isShared: the broker gives each command to one of the group. */
/** @typedef {{prefix: string, gateway: string, isShared?: boolean}} Names */

/** @param {Names} names */
function commandFilter({ prefix, gateway, isShared = false }) {
  // The # matches the parent level too [MQTT-4.7.1-2].
  const filter = `${prefix}/${gateway}/+/#`;
  return isShared ? `$share/${gateway}/${filter}` : filter;
}

/**
 * @param {string} topic
 * @param {Names} names
 * @returns {{device: string, rest: string} | null} null: not a topic of a command
 */
function parseTopic(topic, { prefix, gateway }) {
  const head = `${prefix}/${gateway}/`;
  if (!topic.startsWith(head)) return null;
  const slash = topic.indexOf('/', head.length);
  const device = slash < 0 ? topic.slice(head.length) : topic.slice(head.length, slash);
  if (device === '') return null;
  return { device, rest: slash < 0 ? '' : topic.slice(slash + 1) };
}

/** @param {{device: string, rest: string}} command @param {Names} names */
function reportTopic({ device, rest }, { prefix, gateway }) {
  const head = `${prefix}-report/${gateway}/${device}`;
  return rest === '' ? head : `${head}/${rest}`;
}

/**
 * True for a valid topic that a sender names for its answer [MQTT-3.3.2-14].
 * @param {unknown} topic
 * @returns {topic is string}
 */
function isTopicName(topic) {
  return (
    typeof topic === 'string' && topic !== '' && Buffer.byteLength(topic) <= 65535 && !/[+#\0]/.test(topic)
  );
}

module.exports = { commandFilter, isTopicName, parseTopic, reportTopic };
