'use strict';
// A mosquitto on the devices' side that bridges their messages to the cloud.

const { startMosquitto } = require('./cloud');
const { freePort } = require('./net');
const { assemble, temporary } = require('./assemble');
const { brokerLog } = require('./local-broker');

/**
 * @param {import('../systems').Context} context
 * @param {string[]} how configuration of the connection, with its addresses
 * @param {(folder: string) => string[]} [own] configuration of the broker itself
 * @param {string} [id] its client id at the cloud
 * @returns {Promise<import('../systems').System>}
 */
async function startBridge(context, how, own = () => [], id = 'bridge') {
  const folder = temporary();
  const port = await freePort();
  const { cloud } = context;
  const lines = [
    ...brokerLog,
    ...own(folder),
    `listener ${port} 127.0.0.1`,
    'connection cloud',
    ...how,
    `bridge_cafile ${cloud.files.ca}`,
    'bridge_tls_version tlsv1.3',
    `remote_clientid ${id}`,
    'cleansession false',
    'notifications false',
    'topic d/# out 1'
  ];
  return assemble({
    port,
    folder,
    parts: ['mosquitto'],
    launch: (started) => started(startMosquitto(folder, 'bridge', lines, context)),
    ready: () => cloud.waitForClient(new RegExp(`^${id}$`))
  });
}

module.exports = { startBridge };
