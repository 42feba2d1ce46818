'use strict';
// The versions of the nodes' configurations. A node without `version` has version 1. Each step of a ladder upgrades a
// configuration by one version, so that a node of an older flow keeps working as before. nodes/seganet-migrations.html
// repeats the ladders for the dialogs, and a test compares them. Node-RED's flow file changes only when the user saves
// the node's dialog.
//
// There is no step yet: every type has version 1. To change the meaning of a property, append a step here and in
// nodes/seganet-migrations.html, raise `version` in the node's dialog by one, and let the dialog show the upgraded
// values: the hidden field node-input-version, and showUpgraded(this) in oneditprepare.

const { parseOptions, integer } = require('../base/options');

const NEWEST = 1000000;

/**
 * Returns the properties that change; undefined removes one. Throws a RangeError with a sentence if the configuration
 * has no equivalent.
 * @typedef {(config: Record<string, any>) => Record<string, unknown>} Step
 * @type {Record<string, readonly Step[]>} by node type; the first step upgrades version 1 to 2
 */
const LADDERS = {};

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
