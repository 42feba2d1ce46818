'use strict';
// Settings of a batch node.

const { integer, choice } = require('../base/options');

const schema = {
  mode: choice(/** @type {const} */ (['envelope', 'records', 'off']), 'envelope'),
  // Flows of earlier releases name the format of envelopes. There is only one.
  format: choice(/** @type {const} */ (['ndjson']), 'ndjson'),
  minDevices: integer(0, 1000000, 50),
  maxBytes: integer(64, 1048576, 1024),
  maxDelayMs: integer(1, 3600000, 1000),
  // A node of an older flow has no such property: it keeps to its limits. New ones are adaptive (seganet-batch.html).
  flush: choice(/** @type {const} */ (['limits', 'adaptive']), 'limits'),
  gapMs: integer(0, 1000, 2)
};

exports.schema = schema;
