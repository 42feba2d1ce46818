'use strict';
// What OCF clouds add to the engine.

const { CloudsLive } = require('./live');
const { addCloud, addDesk } = require('./metrics');

/** @type {import('../metrics').MetricsAddition} */
exports.metrics = {
  sources: { ocf: addCloud },
  engine: (out, labels, { desk, sources = [] }) => {
    if (desk && sources.some(({ protocol }) => protocol === 'ocf')) addDesk(out, labels, desk);
  }
};

/** @type {import('../live/snapshot').MakeLiveAddition} */
exports.live = (host, now) => new CloudsLive(host, now);
