'use strict';
// The mosquitto on the gateway's side, for systems that use one.

const { startMosquitto } = require('./cloud');
const { waitForPort } = require('./net');

/**
 * Returns the configuration of mosquitto's persistence. `saved` is its safest mode: everything, every second.
 * @typedef {'memory' | 'exit' | 'saved'} Keeping
 * @param {Keeping} keeping @param {string} folder @returns {string[]}
 */
function persistence(keeping, folder) {
  if (keeping === 'memory') return [];
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

module.exports = { startLocalBroker, persistence, brokerLog };
