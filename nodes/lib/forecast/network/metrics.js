'use strict';
// The metrics of the network's forecasts.

/** Counters: field, name, help. */
const COUNTERS = /** @type {const} */ ([
  ['decided', 'falls', 'Forecast falls ahead of which batches were sealed.'],
  ['right', 'falls_right', 'Of these: what was observed then was nearer to the forecast than to before.'],
  ['wrong', 'falls_wrong', 'Of these: it was not.'],
  ['unknown', 'falls_unjudged', 'Of these: nothing was observed, so it is unknown.']
]);

const BAND = /** @type {const} */ (['expected', 'low', 'high']);
/** @type {Record<string, { name: string, help: string, factor: number }>} */
const FIGURES = {
  capacity: {
    name: 'capacity_bytes_per_second',
    help: 'Forecast of what the broker acknowledges while the link is the limit; low and high: nine of ten values.',
    factor: 1
  },
  roundTrip: { name: 'round_trip_seconds', help: 'Forecast of the round trip.', factor: 0.001 },
  connected: {
    name: 'connected_ratio',
    help: 'Forecast of the share of time that is connected, 0 to 1.',
    factor: 1
  }
};

/**
 * @param {import('../../metrics').Out} out
 * @param {string} engine id
 * @param {import('./network-forecast').NetworkView} uplinks
 */
function addNetwork(out, engine, uplinks) {
  for (const { broker, series, falls } of uplinks) {
    const own = { engine, uplink: broker };
    for (const { topic, doubt, ...values } of series) {
      const { figure, path } = labelsOf(topic);
      const known = FIGURES[figure];
      const gauge = out.gauge(`seganet_network_${known.name}`, known.help);
      for (const value of BAND) gauge.add({ ...own, ...path, value }, (values[value] ?? NaN) * known.factor);
      out
        .gauge('seganet_network_forecast_trusted', '1 if the forecast of now is trusted.')
        .add({ ...own, ...path, figure }, doubt === '');
    }
    out.counters('seganet_network', COUNTERS, own, falls);
  }
}

/**
 * @param {string} topic of a series; a path may have a slash in its name
 * @returns {{ figure: string, path: Record<string, string> }}
 */
function labelsOf(topic) {
  const [, path = '', figure = topic] = /^path\/(.*)\/(\w+)$/s.exec(topic) ?? [];
  return { figure, path: path ? { path } : {} };
}

module.exports = { addNetwork, labelsOf };
