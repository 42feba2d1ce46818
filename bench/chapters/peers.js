'use strict';
// Systems side by side: one load, one cloud.

const { measure } = require('../lib/measure');
const { markdown, spread } = require('../lib/report');
const { loadOf } = require('../lib/load');

/** @type {import('../lib/chapter').Chapter} */
module.exports = {
  name: 'peers',
  title: 'Side by side',
  what: 'CPU, latency and loss of the gateway and of what it is compared with, at the same load.',
  cases: (plan) =>
    (plan.systems.length > 0 ? plan.systems : ['seganet', 'nodered', 'mosquitto-bridge', 'bare']).map(
      (name) => ({
        key: name,
        label: name,
        seconds: plan.seconds + 8,
        run: async () => measure(name, loadOf(plan, {}))
      })
    ),
  report: (outcomes) => {
    const keys = [...new Set(outcomes.map(({ key }) => key))];
    const rows = keys.map((key) => {
      const own = outcomes.filter((outcome) => outcome.key === key && outcome.result);
      return [
        key,
        spread(
          own.map(({ result }) => result.cores),
          3
        )
      ];
    });
    return {
      heading: 'Side by side',
      markdown: markdown(['system', 'cores'], rows),
      ratios: [],
      plots: [],
      warnings: []
    };
  }
};
