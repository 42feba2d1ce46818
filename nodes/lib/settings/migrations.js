'use strict';
// The versions of the nodes' configurations. A node without `version` has version 1. Each step of a ladder upgrades a
// configuration by one version, so that a node of an older flow keeps working as before. nodes/seganet-migrations.html
// repeats the ladders for the dialogs, and a test compares them. Node-RED's flow file changes only when the user saves
// the node's dialog.
//
// To change the meaning of a property: append a step, and raise `version` in the node's dialog by one.

const { isLoopback } = require('../base/loopback');
const { parseOptions, integer, isBlank } = require('../base/options');
const { shown } = require('../base/values');

const NEWEST = 1000000;

/**
 * Returns the properties that change; undefined removes one. Throws a RangeError with a sentence if the configuration
 * has no equivalent.
 * @typedef {(config: Record<string, any>) => Record<string, unknown>} Step
 * @type {Record<string, readonly Step[]>} by node type; the first step upgrades version 1 to 2
 */
const LADDERS = {
  'seganet-batch': [
    // Version 1 began before adaptive batches, and named the only format.
    ({ flush = 'limits', format }) => {
      if (!isBlank(format) && !/^(ndjson|\$\{.*\})$/.test(typeof format === 'string' ? format.trim() : ''))
        throw new RangeError(
          `"format" must be ndjson, not "${shown(format)}". Batches have no other format.`
        );
      return { flush, format: undefined };
    }
  ],
  'seganet-mqtt-devices': [
    // Version 1 accepted devices without a login on every address. Version 2 requires the user's consent.
    ({ host, login, allowAnonymous }) => {
      const isAnonymous = (login || 'none') === 'none';
      const isOpen = typeof host === 'string' && host !== '' && !isLoopback(host);
      return isAnonymous && isOpen ? { allowAnonymous: allowAnonymous ?? true } : {};
    }
  ],
  'seganet-unbatch': [
    // Version 1 accepted envelopes on every topic, and the topics of its gateways are unknown here.
    ({ gatewayTopic }) => ({ gatewayTopic: gatewayTopic ?? '' })
  ]
};

/** @param {string} type @returns {number} the version that new nodes of this type have */
function currentVersion(type) {
  return (LADDERS[type]?.length ?? 0) + 1;
}

/**
 * @param {Record<string, any>} config with its type
 * @returns {number} its version
 * @throws {RangeError} with a sentence
 */
function versionOf({ version }) {
  try {
    return integer(1, NEWEST, 1)(version);
  } catch (error) {
    throw new RangeError(`"version" ${/** @type {Error} */ (error).message}`, { cause: error });
  }
}

/**
 * Returns a configuration as the current version has it; the given one is not changed.
 * @param {Record<string, any>} config with its type; its version must not be newer than the current one
 * @returns {Record<string, any>}
 * @throws {RangeError} with a sentence
 */
function upgraded(config) {
  const steps = (LADDERS[config.type] ?? []).slice(versionOf(config) - 1);
  if (steps.length === 0) return config;
  const upgrade = (/** @type {Record<string, any>} */ at, /** @type {Step} */ step) => ({
    ...at,
    ...step(at)
  });
  return { ...steps.reduce(upgrade, config), version: currentVersion(config.type) };
}

/**
 * Upgrades a configuration and parses its properties.
 * @template {Record<string, import('../base/options').Parser<any>>} S
 * @param {object} given the node's configuration
 * @param {S} schema
 * @returns {ReturnType<typeof parseOptions<S>> & { shown: string }} shown: the problem in a few words, for the status
 */
function readSettings(given, schema) {
  const config = /** @type {Record<string, any>} */ (given);
  const wrong = { shown: 'wrong setting' };
  try {
    const version = versionOf(config);
    const current = currentVersion(config.type);
    if (version <= current) return { ...wrong, ...parseOptions(upgraded(config), schema) };
    const sentence =
      `This node was made by a newer version of SegaNet Gateway: its configuration has version ${version}, and this ` +
      `gateway reads versions up to ${current}. Update the gateway, or replace the node by a new one.`;
    return { ...parseOptions({}, schema), problems: [sentence], shown: 'made by a newer version' };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { ...parseOptions({}, schema), problems: [error.message], ...wrong };
  }
}

module.exports = { LADDERS, currentVersion, readSettings, upgraded, versionOf };
