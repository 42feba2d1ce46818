'use strict';
// Settings of a kafka uplink node.

const { schemaOf } = require('../../settings/rows');

const rows = /** @type {const} */ ({
  cluster: { type: 'text', default: '' },
  topic: { type: 'text', default: 'seganet.{class}' },
  envelopeTopic: { type: 'text', default: 'seganet.{class}' },
  createTopics: { type: 'choice', values: ['off', 'on'], default: 'off' }
});

module.exports = { rows, schema: schemaOf(rows) };
