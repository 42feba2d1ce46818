'use strict';

const { parsePath } = require('../../series/json-path');

/**
 * Where the value and the unit are in a JSON payload. A value path of '' is the payload itself; a unit path of '' is
 * none.
 * @typedef {{ valuePath: string, unitPath: string }} StageOptions
 * @typedef {{ valueKeys: import('../../series/json-path').Key[], unitKeys: import('../../series/json-path').Key[] }}
 *   Stage
 */

/**
 * @param {StageOptions} stage
 * @returns {StageOptions}
 * @throws {RangeError} with a sentence
 */
function checkStage({ valuePath, unitPath }) {
  compileStage({ valuePath, unitPath });
  return { valuePath, unitPath };
}

/** @param {StageOptions} stage @returns {Stage} */
function compileStage({ valuePath, unitPath }) {
  return { valueKeys: parsePath(valuePath), unitKeys: parsePath(unitPath) };
}

module.exports = { checkStage, compileStage };
