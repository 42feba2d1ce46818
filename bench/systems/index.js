'use strict';
// The systems to compare: each file of this folder is one, or several that differ in a setting. README.md explains how
// to add one.

const fs = require('node:fs');
const path = require('node:path');

/**
 * @typedef {object} Context
 * @property {import('../harness/cloud').Cloud} cloud
 * @property {string | undefined} cpus cores of the measured system
 * @property {number} openFiles
 * @property {string} datatype of Node-RED's mqtt in node
 * @property {Record<string, string>} gatewayEnv settings as in bench/harness/flow-settings.js
 * @property {boolean} [statistics] the gateway's admin API is open
 * @property {object[]} [flow] nodes in addition to the gateway's flow
 * @property {string[]} [within] command prefix of the measured system, such as that of a control group
 *
 * @typedef {object} System
 * @property {number} port where devices connect
 * @property {import('../harness/child').Child[]} children every process group whose cost counts at present
 * @property {string[]} parts their names
 * @property {boolean} forwards
 * @property {import('../harness/bench-gateway').BenchGateway} [gateway] of SegaNet
 * @property {() => Promise<boolean>} stop resolves to true if all processes exited with 0 after SIGTERM
 * @property {() => Promise<void>} kill sends kill -9 to all processes at once, like a reset button
 * @property {() => Promise<number>} restart starts again on the same port and folder; resolves to the ms until devices
 *          can connect
 * @property {() => Promise<void>} close kills the remaining processes and removes their files
 *
 * @typedef {object} Adapter
 * @property {string} name as in --systems
 * @property {string} title @property {string} what one sentence for reports
 * @property {() => string} lacking returns '' if the system can run here, else what is missing and how to get it
 * @property {(context: Context) => Promise<System>} start
 */

/** The order in tables; other files of the folder follow by name. */
const first = ['seganet.js', 'nodered.js', 'mosquitto-bridge.js', 'bare.js', 'agents.js', 'agents-paho.js'];

/** @param {string} file */
const rank = (file) => (first.includes(file) ? first.indexOf(file) : first.length);

/** @param {any} adapter @param {string} file */
function check(adapter, file) {
  for (const field of ['name', 'title', 'what']) {
    if (typeof adapter[field] !== 'string' || !adapter[field]) {
      throw new TypeError(`${file}: an adapter needs a string '${field}'. See bench/systems/README.md.`);
    }
  }
  for (const field of ['lacking', 'start']) {
    if (typeof adapter[field] !== 'function') {
      throw new TypeError(
        `${file}: adapter '${adapter.name}' needs a function '${field}'. See bench/systems/README.md.`
      );
    }
  }
}

/** Returns the adapters in a folder's files. @param {string} [folder] @returns {Adapter[]} */
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
