'use strict';
// Settings of an uplink broker node.

const { integer, choice, secret, text } = require('../base/options');

const schema = {
  url: text('', /^\S+$/, 'an address such as mqtts://host:8883'),
  tls: text(''),
  clientId: text('', /^[^/+#\0]{1,128}$/, 'up to 128 characters without /, + and #'),
  protocolVersion: choice(/** @type {const} */ (['5', '4']), '5'),
  minTls: choice(/** @type {const} */ (['TLSv1.3', 'TLSv1.2']), 'TLSv1.3'),
  keepalive: integer(1, 65535, 30),
  inflight: integer(1, 1024, 32),
  backlogRate: integer(0, 10000000, 5000),
  backlogShare: integer(1, 100, 50),
  // Checked together, because each list has one part per group.
  groups: text(''),
  reserve: integer(0, 100, 25),
  priority: text(''),
  dscp: text(''),
  notSentLowat: text(''),
  sendBuffer: text(''),
  ackTimeoutMs: integer(1000, 3600000, 15000),
  userTimeoutMs: integer(0, 3600000, 10000),
  // Checked with the rest of the uplink's options.
  congestion: text(''),
  paths: text(''),
  pathLossMs: integer(100, 3600000, 1000),
  reconnectMinMs: integer(10, 600000, 500),
  reconnectMaxMs: integer(10, 3600000, 5000),
  commands: choice(/** @type {const} */ (['off', 'on']), 'off'),
  commandPrefix: text('cmd', /^[^$/+#\0][^+#\0]{0,255}(?<!\/)$/, 'a topic such as cmd, without + and #'),
  // Credentials are in the credential store. A flow file may have them as properties instead, such as ${NAME}.
  username: text(''),
  password: secret
};

exports.schema = schema;
