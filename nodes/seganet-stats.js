'use strict';

const { findHost, leaveInert } = require('./lib/join');
const { integer, parseOptions } = require('./lib/options');
const { Meter } = require('./lib/meter');

const schema = { intervalS: integer(1, 86400, 10) };

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Stats(config) {
    RED.nodes.createNode(this, config);
    const { values, problems } = parseOptions(config, schema);
    if (problems.length > 0) return leaveInert(this, 'wrong setting', problems.join(' '));
    const host = findHost(
      RED,
      this,
      /** @type {{ engine?: string }} */ (/** @type {unknown} */ (config)).engine
    );
    if (!host) return;

    const meter = new Meter();
    meter.read(host.engine.stats());
    const timer = setInterval(() => {
      if (host.closing) return;
      const stats = host.snapshot();
      const { seconds, stages, counters } = meter.read(stats);
      const rates = { seconds, counters, stages: Object.fromEntries(stages) };
      this.send({ topic: 'stats', payload: { ...stats, rates } });
    }, values.intervalS * 1000);
    this.on('close', () => clearInterval(timer));
  }

  RED.nodes.registerType('seganet-stats', Stats);
};
