'use strict';
// What monitoring on demand adds to the engine.

const { demandOf, demands } = require('.');
const { addDemand } = require('./metrics');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  process: (out) => {
    for (const [{ id }, demand] of demands) if (demand.isUsed) addDemand(out, id, demand.figures());
  }
};

exports.engine = demandOf;
