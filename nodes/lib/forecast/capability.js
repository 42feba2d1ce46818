'use strict';
// What forecasts add to the engine.

const { addForecasts } = require('./metrics');
const { followNetwork, networkForecasts, networkLive } = require('./network');
const { addNetwork } = require('./network/metrics');
const { addOutlooks } = require('./outlook');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  engine: addForecasts,
  process: (out) => {
    for (const [{ id }, forecast] of networkForecasts) addNetwork(out, id, forecast.view());
  }
};

exports.valueDetails = addOutlooks;

exports.engine = followNetwork;

exports.live = networkLive;
