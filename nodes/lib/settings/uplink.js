'use strict';
// Settings of an uplink node.

const { choice, text } = require('../base/options');

const schema = {
  broker: text(''),
  topic: text('gw/{gateway}/{class}'),
  recordTopic: text('{topic}'),
  qos: choice(/** @type {const} */ (['1', '0']), '1'),
  history: choice(/** @type {const} */ (['property', 'suffix', 'none']), 'property'),
  historySuffix: text('/history', /^[^+#{}\0]{1,256}$/, 'up to 256 characters without +, #, { and }')
};

exports.schema = schema;
