'use strict';
// mosquitto's bridge with two addresses of the broker, one through each path.

const { startMosquitto } = require('../../../test/fixtures/cloud');
const { freePort } = require('../../../test/fixtures/net');
const { assemble, temporary } = require('../../lib/assemble');
const { needsMosquitto } = require('../../lib/lacking');
const { brokerLog } = require('../../lib/local-broker');

/** @type {import('../../systems').Adapter} */
module.exports = {
  name: 'bridge-addresses',
  title: 'mosquitto bridge with two addresses, keepalive 5 s',
  what: 'Two addresses of the broker, one through each path, `round_robin false`, keepalive_interval 5 (its least), restart_timeout 1; queues in memory. It acknowledges a device at once.',
  lacking: needsMosquitto,
  start: async (context) => {
    const folder = temporary();
    const port = await freePort();
    const { cloud } = context;
    const lines = [
      ...brokerLog,
      `listener ${port} 127.0.0.1`,
      'connection cloud',
      `addresses ${cloud.alsoAt.map((host) => `${host}:${cloud.tlsPort}`).join(' ')}`,
      'round_robin false',
      'keepalive_interval 5',
      'restart_timeout 1',
      `bridge_cafile ${cloud.files.ca}`,
      'bridge_tls_version tlsv1.3',
      'remote_clientid bridge',
      'cleansession false',
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
};
