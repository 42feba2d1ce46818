'use strict';
// Settings of an mqtt devices node.

const { listenerSchema } = require('./listener-settings');
const { integer, text } = require('../base/options');

/** Since version 2, devices without a login are refused on addresses other than loopback. */
const VERSION = 2;

const listed = (/** @type {unknown} */ value) => value;
const schema = {
  version: integer(1, VERSION, 1),
  ...listenerSchema({ transports: /** @type {const} */ (['tcp', 'tls', 'ws', 'wss']), port: 1883 }),
  devices: listed,
  devicesJson: listed,
  permissions: listed,
  permissionsJson: listed,
  presenceTopic: text('', /^[^+#\0]+$/, 'a topic without + and #'),
  classProperty: text('priority', /^[^\0]{1,128}$/, 'the name of a user property'),
  rate: integer(0, 1000000, 0),
  burst: integer(0, 1000000, 0),
  receiveMaximum: integer(1, 65535, 1024),
  keepAliveMaxS: integer(0, 65535, 0),
  sessionExpiryMaxS: integer(0, 604800, 3600)
};

module.exports = { schema, VERSION };
