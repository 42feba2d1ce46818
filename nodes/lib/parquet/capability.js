'use strict';
// What Parquet files add to the engine.

const { addFiles } = require('./metrics');

exports.threads = () => require('./index');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  uplink: (out, labels, { parquet }) => {
    if (parquet) addFiles(out, labels, parquet);
  }
};
