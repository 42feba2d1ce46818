'use strict';
// What device shadows add to the engine.

const { allShadows, shadowsOf } = require('.');
const { addShadows } = require('./metrics');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  process: (out) => {
    for (const [{ id }, shadows] of allShadows) {
      const figures = shadows.figures();
      if (figures.isUsed) addShadows(out, id, figures);
    }
  }
};

exports.engine = shadowsOf;
