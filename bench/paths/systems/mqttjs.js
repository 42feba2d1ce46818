'use strict';
// mqtt.js in its usual form; see bench/paths/mqttjs/main.js.

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../../harness/child');
const { freePort } = require('../../harness/net');
const { assemble } = require('../../harness/assemble');

const program = path.join(__dirname, '..', 'mqttjs', 'main.js');
const clientId = 'mqttjs';

/** @typedef {import('../../harness/cloud').Cloud} Cloud */

/** One address of the broker, over the system's routes. @param {Cloud} cloud */
const one = ({ host, tlsPort: port }) => ({ protocol: 'mqtts', host, port });

/** An address of the broker on each path. @param {Cloud} cloud */
const several = ({ alsoAt, tlsPort: port }) => ({
  protocol: 'mqtts',
  servers: alsoAt.map((host) => ({ host, port, protocol: 'mqtts' }))
});

/**
 * @param {import('../../systems').Context} context @param {object} options of mqtt.connect()
 * @returns {Promise<import('../../systems').System>}
 */
async function start(context, options) {
  const { cloud } = context;
  const port = await freePort();
  const client = { clientId, ca: fs.readFileSync(cloud.files.ca, 'utf8'), ...options };
  return assemble({
    port,
    parts: ['mqttjs'],
    launch: (started) =>
      started(
        new Child(process.execPath, [program, JSON.stringify({ port, client })], {
          ...context,
          name: 'mqttjs'
        })
      ),
    ready: () => cloud.waitForClient(/^mqttjs$/)
  });
}

/**
 * @param {string} name @param {string} title @param {string} what
 * @param {(cloud: Cloud) => object} options of mqtt.connect()
 * @returns {import('../../systems').Adapter}
 */
const variant = (name, title, what, options) => ({
  name,
  title,
  what,
  lacking: () => '',
  start: (context) => start(context, options(context.cloud))
});

module.exports = [
  variant(
    'mqttjs',
    'mqtt.js 5 with default settings',
    'One URL, keepalive 60 s, reconnectPeriod 1 s, connectTimeout 30 s: its defaults. Over the default route.',
    one
  ),
  variant(
    'mqttjs-tuned',
    'mqtt.js 5, keepalive 5 s',
    'The same with keepalive 5 s and connectTimeout 5 s. Over the default route.',
    (cloud) => ({ ...one(cloud), keepalive: 5, connectTimeout: 5000 })
  ),
  variant(
    'mqttjs-servers',
    'mqtt.js 5 with two broker URLs, keepalive 5 s',
    'Its option `servers` with two addresses of the broker, one through each path; keepalive 5 s and connectTimeout 5 s.',
    (cloud) => ({ ...several(cloud), keepalive: 5, connectTimeout: 5000 })
  )
];
