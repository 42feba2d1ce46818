'use strict';
// The folders outside its own in which a gateway writes.

const path = require('node:path');
const { runningNodes } = require('../service/running-nodes');
const { resolved } = require('./home-files');

/** The property that names the folder of a node's database, by type. @type {Record<string, string>} */
const FOLDERS = { 'seganet-engine': 'logDir', 'seganet-series': 'folder', 'seganet-find': 'folder' };

/**
 * @param {any[]} flow
 * @param {NodeJS.ProcessEnv} env
 * @param {string} home absolute
 * @returns {string[]} absolute, each once; relative ones depend on where the gateway is started, and are not listed
 */
function foldersOutside(flow, env, home) {
  const ofNodes = runningNodes(flow)
    .filter(({ type }) => type in FOLDERS)
    .map((node) => resolved(node[FOLDERS[node.type]], env));
  const named = [env.SEGANET_LOG_DIR ?? '', ...ofNodes].map((each) => each.trim());
  // The gateway refuses control characters, too.
  const folders = named
    .filter((each) => path.isAbsolute(each) && !/\p{Cc}/u.test(each))
    .map((each) => path.resolve(each));
  const isOutside = (/** @type {string} */ each) => each !== home && !each.startsWith(`${home}/`);
  return [...new Set(folders)].filter(isOutside).sort();
}

module.exports = { foldersOutside };
