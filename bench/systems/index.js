'use strict';
// The systems that are compared: each file of this folder is one, or a few that differ in a setting. README.md tells
// how to add your own.

const fs = require('node:fs');
const path = require('node:path');

/**
 * @typedef {object} Context
 * @property {import('../harness/cloud').Cloud} cloud
 * @property {string | undefined} cpus cores of the measured system
 * @property {number} openFiles
 * @property {string} datatype of Node-RED's mqtt in node
 * @property {Record<string, string>} gatewayEnv more SEGANET_* variables
 * @property {boolean} [statistics] the gateway's admin API is open
 * @property {object[]} [flow] nodes beside those of the gateway's flow
 *
 * @typedef {object} System
 * @property {number} port where devices connect
 * @property {import('../harness/child').Child[]} children every process group whose cost counts, as of now
 * @property {string[]} parts their names
 * @property {boolean} forwards
 * @property {import('../harness/bench-gateway').BenchGateway} [gateway] of SegaNet
 * @property {() => Promise<boolean>} stop true = all ended with 0 after SIGTERM
 * @property {() => Promise<void>} kill kill -9 of all at once, like a reset button
 * @property {() => Promise<number>} restart on the same port and folder; ms until devices can connect
 * @property {() => Promise<void>} close kills what is left and removes its files
 *
 * @typedef {object} Adapter
 * @property {string} name as in --systems
 * @property {string} title @property {string} what one sentence for reports
 * @property {() => string} lacking '' when it can run here, else what is missing and how to get it
 * @property {(context: Context) => Promise<System>} start
 */

/** The order of the tables; whatever else is in the folder follows by name. */
const first = ['seganet.js', 'nodered.js', 'mosquitto-bridge.js', 'bare.js', 'agents.js', 'agents-paho.js'];

/** @param {string} file */
const rank = (file) => (first.includes(file) ? first.indexOf(file) : first.length);

/** @param {any} adapter @param {string} file */
function check(adapter, file) {
  for (const field of ['name', 'title', 'what']) {
    if (typeof adapter[field] !== 'string' || !adapter[field]) {
      throw new TypeError(`${file}: an adapter needs a '${field}', a text. See bench/systems/README.md.`);
    }
  }
  for (const field of ['lacking', 'start']) {
    if (typeof adapter[field] !== 'function') {
      throw new TypeError(
        `${file}: adapter '${adapter.name}' needs '${field}', a function. See bench/systems/README.md.`
      );
    }
  }
}

/** Those of a folder's files. @param {string} [folder] @returns {Adapter[]} */
function load(folder = __dirname) {
  const files = fs.readdirSync(folder).filter((file) => file.endsWith('.js') && file !== 'index.js');
  files.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  /** @type {Map<string, Adapter>} */
  const found = new Map();
  for (const file of files) {
    for (const adapter of [require(path.join(folder, file))].flat()) {
      check(adapter, file);
      if (found.has(adapter.name)) throw new TypeError(`${file}: there are two systems '${adapter.name}'.`);
      found.set(adapter.name, adapter);
    }
  }
  return [...found.values()];
}

const adapters = load();

module.exports = { adapters, load };
