'use strict';
// Where the tenants file and the keeper's socket are, for the keeper, and for nodes that name none.

const os = require('node:os');
const path = require('node:path');

/** @param {NodeJS.ProcessEnv} env @returns {string} the folder that the keeper and the gateway share */
function folderOf(env) {
  return path.resolve(env.SEGANET_HOME?.trim() || path.join(os.homedir(), '.seganet'), 'tenants');
}

/**
 * @param {string} given by the node, '' = none
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} absolute
 */
function tenantsFile(given, env = process.env) {
  return path.resolve(given || env.SEGANET_TENANTS?.trim() || path.join(folderOf(env), 'tenants.json'));
}

/**
 * @param {string} given by the node, '' = none
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} absolute
 */
function keeperSocket(given, env = process.env) {
  return path.resolve(given || env.SEGANET_TENANTS_SOCKET?.trim() || path.join(folderOf(env), 'keeper.sock'));
}

module.exports = { folderOf, keeperSocket, tenantsFile };
