'use strict';
// What forecasts add to the engine.

const { addForecasts } = require('./metrics');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = { engine: addForecasts };
