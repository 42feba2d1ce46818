'use strict';
// The mosquitto on the gateway's side, for systems that use one.

const path = require('node:path');
const { mosquittoPlugin, startMosquitto } = require('./cloud');
const { waitForPort } = require('./net');

/** mosquitto 2.1 brings it. */
const SQLITE = 'mosquitto_persist_sqlite';

/**
 * Returns the configuration of mosquitto's persistence. `saved` is the safest mode of the one that is built in:
 * everything, every second. `sqlite` is the plug-in that its authors recommend since 2.1, with its defaults.
 * @typedef {'memory' | 'exit' | 'saved' | 'sqlite'} Keeping
 * @param {Keeping} keeping @param {string} folder @returns {string[]}
 */
function persistence(keeping, folder) {
  if (keeping === 'memory') return [];
  if (keeping === 'sqlite')
    return [
      `plugin ${mosquittoPlugin(SQLITE)}`,
      `plugin_opt_db_file ${path.join(folder, 'mosquitto.sqlite3')}`
    ];
  const lines = ['persistence true', `persistence_location ${folder}/`];
  return keeping === 'saved' ? [...lines, 'autosave_interval 1'] : lines;
}

const brokerLog = ['log_dest stderr', 'log_type error', 'log_type subscribe'];

/**
 * Starts a broker for devices and waits until they can connect.
 * @param {string} folder @param {number} port @param {import('./child').ChildOptions} options
 * @param {Keeping} [keeping]
 */
async function startLocalBroker(folder, port, options, keeping = 'memory') {
  const lines = [...brokerLog, ...persistence(keeping, folder), `listener ${port} 127.0.0.1`];
  const child = startMosquitto(folder, 'local', lines, options);
  await waitForPort(port, '127.0.0.1', 10000, () => Boolean(child.exit));
  return child;
}

/** Returns '', or what is missing for `sqlite`. */
const needsSqlite = () =>
  mosquittoPlugin(SQLITE) ? '' : `The plug-in ${SQLITE}.so of mosquitto 2.1 was not found beside mosquitto.`;

module.exports = { needsSqlite, startLocalBroker, persistence, brokerLog };
