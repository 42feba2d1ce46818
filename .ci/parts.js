'use strict';
// The two parts of Jest's suites, as .ci/jest --part runs them: a filter of Jest's.

const path = require('node:path');

/** Suites of the published package: they need the engines of all its platforms, or make the package. */
const PACKAGE = [
  'editor/newcomer',
  'runtime/gateway-install',
  'runtime/image',
  'runtime/package',
  'system/examples',
  'system/package-offline',
  'system/prebuilds'
];

const files = new Set(PACKAGE.map((name) => path.join(__dirname, '..', 'test', `${name}.test.js`)));

/** @param {string[]} suites absolute names @returns {Promise<{ filtered: string[] }>} those of the part $CI_PART */
module.exports = async (suites) => ({
  filtered: suites.filter((suite) => files.has(suite) === (process.env.CI_PART === 'package'))
});
module.exports.PACKAGE = PACKAGE;
