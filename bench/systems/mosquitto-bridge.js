'use strict';

const { startBridge } = require('../harness/bridge');
const { needsMosquitto } = require('../harness/lacking');
const { needsSqlite, persistence } = require('../harness/local-broker');

/**
 * @param {string} name @param {string} title @param {string} what
 * @param {import('../harness/local-broker').Keeping} keeping @returns {import('./index').Adapter}
 */
const variant = (name, title, what, keeping) => ({
  name,
  title,
  what,
  lacking: () => needsMosquitto() || (keeping === 'sqlite' ? needsSqlite() : ''),
  start: (context) => {
    const how = [`address ${context.cloud.host}:${context.cloud.tlsPort}`, 'restart_timeout 1 5'];
    return startBridge(context, how, (folder) => persistence(keeping, folder));
  }
});

module.exports = [
  variant(
    'mosquitto-bridge',
    'mosquitto bridge',
    "mosquitto's bridge to the cloud, queues in memory.",
    'memory'
  ),
  variant(
    'mosquitto-bridge-persistent',
    'mosquitto bridge, persistent',
    "The bridge with mosquitto's persistence: saved at exit and every 30 minutes.",
    'exit'
  ),
  variant(
    'mosquitto-bridge-saved',
    'mosquitto bridge, saved',
    'The bridge; mosquitto saves everything every second.',
    'saved'
  ),
  variant(
    'mosquitto-bridge-sqlite',
    'mosquitto bridge, SQLite',
    "The bridge; mosquitto's plug-in persist-sqlite saves, as mosquitto 2.1 recommends.",
    'sqlite'
  )
];
