'use strict';
// Forecasts and anomalies of the values of each device and topic.

const { seriesNodes } = require('../series');
const { fileOfNode } = require('./forecast-file');
const { noteSeason } = require('./outlook');
const { parseForecast, schema } = require('./settings');
const { shownOf } = require('./status');

module.exports = { fileOfNode, noteSeason, parseForecast, schema, seriesNodes, shownOf };
