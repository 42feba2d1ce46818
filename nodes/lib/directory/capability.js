'use strict';
// What the directory adds to the engine.

const { directoryViews } = require('.');
const { addDirectory } = require('./metrics');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  process: (out) => {
    for (const view of directoryViews()) addDirectory(out, view);
  }
};
