'use strict';
// Detects a source that would receive messages of its own engine's uplinks.

const { isLoopback } = require('../../base/loopback');
const { parseBrokerUrl, splitUrls } = require('../../settings/broker-url');
const { overlaps, plainFilter } = require('./topic-filters');

/** Placeholders that may become several levels. */
const LONG = /\{(topic|device)\}/;

/** @param {string} url @returns {string} host and port; the same host for all loopback addresses */
function placeOf(url) {
  const { host, port } = parseBrokerUrl(url, { takesAliases: true });
  return `${isLoopback(host) ? 'localhost' : host.toLowerCase()}:${port}`;
}

/**
 * @param {string} template of an uplink node, such as gw/{gateway}/{class}
 * @param {string} gatewayId
 * @returns {string} a filter that matches all topics of the template
 */
function filterOf(template, gatewayId) {
  const levels = template.replaceAll('{gateway}', gatewayId).split('/');
  const long = levels.findIndex((level) => LONG.test(level));
  const kept = long < 0 ? levels : levels.slice(0, long);
  const filter = kept.map((level) => (level.includes('{') ? '+' : level));
  return [...filter, ...(long < 0 ? [] : ['#'])].join('/');
}

/**
 * @param {{ url: string, filters: string[] }} source
 * @param {ReturnType<import('../../engine/broker-links').Uplinks['targets']>} targets
 * @param {string} gatewayId
 * @returns {string[]} a sentence for each filter that matches an uplink's topics
 */
function findLoops({ url, filters }, targets, gatewayId) {
  const place = placeOf(url);
  const same = targets.filter((target) => splitUrls(target.url).some((each) => placeOf(each) === place));
  return filters.flatMap((filter) => {
    for (const { name, topics } of same) {
      const template = [topics.topic, topics.recordTopic].find((each) =>
        overlaps(plainFilter(filter), filterOf(each, gatewayId))
      );
      if (template) {
        return [
          `The topic filter "${filter}" also reads what the uplink to ${name} publishes there ("${template}"): records may circulate forever. Choose other topics for the uplink node, or a narrower filter.`
        ];
      }
    }
    return [];
  });
}

module.exports = { findLoops };
