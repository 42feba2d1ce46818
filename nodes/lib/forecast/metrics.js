'use strict';
// The metrics of forecast nodes.

/** Counters: field, name, help. */
const COUNTERS = /** @type {const} */ ([
  ['points', 'values', 'Values that a forecast node compared or learned.'],
  ['anomalies', 'anomalies', 'Values that were anomalies.'],
  ['untrusted', 'untrusted_values', 'Values whose forecast was not trusted.'],
  ['late', 'late_values', 'Values of an earlier slot, which were not learned.'],
  ['refused', 'refused_values', 'Values of series beyond the limit of the node.'],
  ['skipped', 'skipped_records', 'Records without a number at the path, or before the node had begun.']
]);

/**
 * @param {import('../metrics').Out} out
 * @param {import('../metrics').Labels} labels of the engine
 * @param {Pick<import('../../../native/index.js').EngineStats, 'stages'>} stats
 * @param {{ members: { id: string, stage: number, kind: string }[] }} [host]
 */
function addForecasts(out, labels, { stages }, host) {
  for (const { id, stage, kind } of host?.members ?? []) {
    const forecast = kind === 'forecast' && stages.find((row) => row.id === stage)?.forecast;
    if (!forecast) continue;
    const own = { ...labels, node: id };
    out.counters('seganet_forecast', COUNTERS, own, forecast);
    out.gauge('seganet_forecast_series', 'Series that a forecast node knows.').add(own, forecast.series);
    out.gauge('seganet_forecast_bytes', 'Memory of these series.').add(own, forecast.bytes);
  }
}

module.exports = { addForecasts };
