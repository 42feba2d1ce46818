'use strict';
// The example of anomalies: its forecast is trusted after three seasons of eight seconds.

const { eventually } = require('../../../bench/harness/net');

/** @param {any} context of the driver @param {string} cloud name of the cloud's debug node */
async function runForecast({ nodeRed, idOf }, cloud) {
  const status = () => nodeRed.statuses.get(idOf('seganet-forecast'))?.text ?? '';
  const isTrusted = () => /series/.test(status()) && !/learning/.test(status());
  await eventually(isTrusted, { timeoutMs: 90000, everyMs: 200, what: 'a trusted forecast' });
  const isMarked = async () => {
    await nodeRed.inject(idOf('inject', 'an anomaly'));
    const shown = nodeRed.shows('anomalies', /expected/, 8000);
    return (await Promise.allSettled([shown]))[0].status === 'fulfilled';
  };
  await eventually(isMarked, { timeoutMs: 90000, everyMs: 4000, what: 'an anomaly' });
  await nodeRed.shows(cloud, /200/);
}

module.exports = { runForecast };
