'use strict';
// Forecasts and anomalies of the values of each device and topic.

const { seriesNodes } = require('../series');
const { fileOfNode } = require('./forecast-file');
const { parseForecast, schema } = require('./settings');
const { shownOf } = require('./status');

module.exports = { fileOfNode, parseForecast, schema, seriesNodes, shownOf };
