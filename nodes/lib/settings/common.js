'use strict';
// Settings that all nodes of an engine with an output have.

const { schemaOf } = require('./rows');

const rows = /** @type {const} */ ({
  carryAsMessages: { type: 'flag', default: false }
});

module.exports = { commonRows: rows, commonSchema: schemaOf(rows) };
