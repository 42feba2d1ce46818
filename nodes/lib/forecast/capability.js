'use strict';
// What forecasts add to the engine.

const { addForecasts } = require('./metrics');
const { addOutlooks } = require('./outlook');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = { engine: addForecasts };

exports.valueDetails = addOutlooks;
