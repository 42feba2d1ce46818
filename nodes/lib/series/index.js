'use strict';
// Series: values kept over time in SQLite, and the search of records.

const { addEndpoints, viewOf } = require('./endpoints');
const { parsePath } = require('./json-path');
const { nameOf, numbersOf } = require('./numbers');
const { parseChoices, schema } = require('./series-settings');
const { SeriesThread } = require('./series-thread');

/** All series nodes of the flow, running or not. @type {Set<import('./endpoints').SeriesNode>} */
const seriesNodes = new Set();

/** @returns {ReturnType<typeof viewOf>[]} for the metrics */
function seriesViews() {
  return [...seriesNodes].map(viewOf);
}

module.exports = {
  SeriesThread,
  addEndpoints,
  nameOf,
  numbersOf,
  parseChoices,
  parsePath,
  schema,
  seriesNodes,
  seriesViews
};
