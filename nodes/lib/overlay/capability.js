'use strict';
// What overlay networks add to the engine.

const { addOverlay } = require('./metrics');
const { identityFacts, overlayViews } = require('./overlay-nodes');
const { adminSocket } = require('./services-client');

const MAX_OVERLAYS = 10;

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  process: (out) => {
    for (const view of overlayViews()) addOverlay(out, view);
  }
};

exports.facts = identityFacts;

/** @type {import('../live/snapshot').MakeLiveAddition} */
exports.live = () => ({
  read: () => ({
    overlays: overlayViews().slice(0, MAX_OVERLAYS),
    overlayServices: adminSocket() !== ''
  })
});
