'use strict';
// The semantic directory: things with what they measure and where, and answers to questions about them.

const { addEndpoints, rootOf, viewOf } = require('./endpoints');
const { DeviceFeed } = require('./device-feed');
const { Directory } = require('./directory');
const { schema } = require('./directory-settings');
const { readQuestion } = require('./question');
const { parseRules } = require('./rules');

/** All find nodes of the flow, running or not. @type {Set<import('./endpoints').FindNode>} */
const findNodes = new Set();

/** @returns {ReturnType<typeof viewOf>[]} for the metrics */
function directoryViews() {
  return [...findNodes].map(viewOf);
}

module.exports = {
  directoryViews,
  DeviceFeed,
  Directory,
  addEndpoints,
  findNodes,
  parseRules,
  readQuestion,
  rootOf,
  schema
};
