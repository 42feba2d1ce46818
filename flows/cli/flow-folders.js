'use strict';
// The folders outside its own in which a gateway writes.

const path = require('node:path');
const { resolved } = require('../../nodes/lib/base/variable-reference');
const { runningNodes } = require('../service/running-nodes');

/**
 * Returns the folder in which a node writes, by its type; '' = none that it names. `text` replaces variables.
 * @type {Record<string, (node: any, text: (value: unknown) => string) => string>}
 */
const FOLDERS = {
  'seganet-engine': ({ logDir }, text) => text(logDir),
  'seganet-parquet-uplink': ({ place, folder }, text) => (place === 's3' ? '' : text(folder)),
  'seganet-series': ({ folder }, text) => text(folder),
  'seganet-find': ({ folder }, text) => text(folder),
  // A program that runs already writes to its folder itself.
  'seganet-overlay': ({ program, folder }, text) => (program === 'start' ? text(folder) : ''),
  // The address of a PostgreSQL server is no absolute path.
  'seganet-ocf-cloud': ({ storeFile }, text) => (text(storeFile) ? path.dirname(text(storeFile)) : '')
};

/**
 * @param {any[]} flow
 * @param {NodeJS.ProcessEnv} env
 * @param {string} home absolute
 * @returns {string[]} absolute, each once; relative ones depend on where the gateway is started, and are not listed
 */
function foldersOutside(flow, env, home) {
  const ofNodes = runningNodes(flow)
    .filter(({ type }) => Object.hasOwn(FOLDERS, type))
    .map((node) => FOLDERS[node.type](node, (value) => resolved(value, env).trim()));
  const named = [(env.SEGANET_LOG_DIR ?? '').trim(), ...ofNodes];
  // The gateway refuses control characters, too.
  const folders = named
    .filter((each) => path.isAbsolute(each) && !/\p{Cc}/u.test(each))
    .map((each) => path.resolve(each));
  // A service that may write everywhere in / would have no protection left.
  const isOutside = (/** @type {string} */ each) =>
    each !== '/' && each !== home && !each.startsWith(`${home}/`);
  return [...new Set(folders)].filter(isOutside).sort();
}

module.exports = { foldersOutside };
