'use strict';
// What series add to the engine.

const { seriesViews } = require('.');
const { addSeries } = require('./metrics');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  process: (out) => {
    for (const view of seriesViews()) addSeries(out, view);
  }
};
