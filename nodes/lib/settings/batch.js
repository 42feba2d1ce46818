'use strict';
// Settings of a batch node.

const { integer, choice } = require('../base/options');

const schema = {
  mode: choice(/** @type {const} */ (['envelope', 'records', 'off']), 'envelope'),
  format: choice(/** @type {const} */ (['ndjson']), 'ndjson'),
  minDevices: integer(0, 1000000, 50),
  maxBytes: integer(64, 1048576, 1024),
  maxDelayMs: integer(1, 3600000, 1000),
  // A node of an older flow lacks this property and keeps its limits. New nodes are adaptive (seganet-batch.html).
  flush: choice(/** @type {const} */ (['limits', 'adaptive']), 'limits'),
  gapMs: integer(0, 1000, 2)
};

exports.schema = schema;
