'use strict';
// Settings of a priority node.

const { commonRows } = require('./common');
const { schemaOf } = require('./rows');

const rows = /** @type {const} */ ({
  rules: { type: 'list' },
  rulesJson: {
    type: 'json',
    form: 'rules',
    variable: 'SEGANET_RULES',
    help: 'Priority rules, JSON: `[{"topic":"d/+/alarm","class":1}]`. First match wins.'
  },
  defaultClass: { type: 'class', default: 0, initial: '' }
});

module.exports = { rows: { ...rows, ...commonRows }, schema: schemaOf(rows) };
