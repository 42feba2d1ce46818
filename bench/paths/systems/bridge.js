'use strict';
// mosquitto's bridge with two addresses of the broker, one through each path.

const { startBridge } = require('../../harness/bridge');
const { needsMosquitto } = require('../../harness/lacking');

/** @type {import('../../systems').Adapter} */
module.exports = {
  name: 'bridge-addresses',
  title: 'mosquitto bridge with two addresses, keepalive 5 s',
  what: 'Two addresses of the broker, one through each path, `round_robin false`, keepalive_interval 5 (its minimum), restart_timeout 1; queues in memory. It acknowledges a device at once.',
  lacking: needsMosquitto,
  start: (context) => {
    const { alsoAt, tlsPort } = context.cloud;
    return startBridge(context, [
      `addresses ${alsoAt.map((host) => `${host}:${tlsPort}`).join(' ')}`,
      'round_robin false',
      'keepalive_interval 5',
      'restart_timeout 1'
    ]);
  }
};
