'use strict';

const { startMosquitto } = require('../../test/fixtures/cloud');
const { freePort } = require('../../test/fixtures/net');
const { assemble, temporary } = require('../lib/assemble');
const { needsMosquitto } = require('../lib/lacking');
const { brokerLog, persistence } = require('../lib/local-broker');

/**
 * @param {import('./index').Context} context @param {import('../lib/local-broker').Keeping} keeping
 * @returns {Promise<import('./index').System>}
 */
async function start(context, keeping) {
  const folder = temporary();
  const port = await freePort();
  const { cloud } = context;
  const lines = [
    ...brokerLog,
    ...persistence(keeping, folder),
    `listener ${port} 127.0.0.1`,
    'connection cloud',
    `address ${cloud.host}:${cloud.tlsPort}`,
    `bridge_cafile ${cloud.files.ca}`,
    'bridge_tls_version tlsv1.3',
    'remote_clientid bridge',
    'cleansession false',
    'restart_timeout 1 5',
    'notifications false',
    'topic d/# out 1'
  ];
  return assemble({
    port,
    folder,
    parts: ['mosquitto'],
    launch: (started) => started(startMosquitto(folder, 'bridge', lines, context)),
    ready: () => cloud.waitForClient(/^bridge$/)
  });
}

/**
 * @param {string} name @param {string} title @param {string} what
 * @param {import('../lib/local-broker').Keeping} keeping @returns {import('./index').Adapter}
 */
const variant = (name, title, what, keeping) => ({
  name,
  title,
  what,
  lacking: needsMosquitto,
  start: (context) => start(context, keeping)
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
  )
];
