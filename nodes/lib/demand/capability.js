'use strict';
// What monitoring on demand adds to the engine.

const { demandOf, demands } = require('.');
const { addDemand } = require('./metrics');
const { addShown } = require('./value-details');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  process: (out) => {
    for (const [{ id }, demand] of demands) if (demand.isUsed) addDemand(out, id, demand.figures());
  }
};

exports.engine = demandOf;

/** @param {any} host @param {{ device: string }[]} rows of last values */
exports.valueDetails = (host, rows) => addShown(demands.get(host), rows);
