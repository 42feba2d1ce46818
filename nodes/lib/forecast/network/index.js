'use strict';
// Forecasts for the network: capacity, round trip and outages of each uplink of an engine, and of its paths.

const { Complaints } = require('../../base/complaints');
const { KeptFile } = require('../../store/kept-file');
const { drainedBatches } = require('./drained-batches');
const { MOST_SERIES, NetworkForecast } = require('./network-forecast');
const { seasonOf } = require('./season');

const FILE = 'network-forecast.gz';
const FULL = `The uplinks and their paths have more than ${MOST_SERIES} figures; the others are not forecast.`;

/** Of the engines that run. @type {Map<import('../../engine/host').EngineHost, InstanceType<typeof NetworkForecast>>} */
const networkForecasts = new Map();

/**
 * Follows the uplinks of an engine for as long as its node exists.
 * @param {import('../../engine/host').EngineHost} host
 * @param {import('../../engine/join').EngineNode} node of the engine
 */
function followNetwork(host, node) {
  if (host.networkSeasonS === 0) return;
  const complaints = new Complaints((sentence) => node.warn(sentence));
  const { ForecastTable } = require('../../../../native/index.js');
  const forecast = new NetworkForecast(seasonOf(host.networkSeasonS), {
    links: () => host.uplinks.links.keys(),
    batches: () => drainedBatches(host),
    seal: (stage) => host.engine.flush(stage),
    makeTable: (settings, content) => new ForecastTable(settings, content)
  });
  networkForecasts.set(host, forecast);
  if (host.keptIn === '') forecast.begin(null);
  else host.keptFiles.add(fileOf(forecast, host.keptIn, (sentence) => node.warn(sentence)));
  /** @type {NodeJS.Timeout} */
  let timer;
  const run = () => {
    let ms = 1000;
    try {
      ms = forecast.tick();
      if (forecast.isFull) complaints.tell('full', FULL);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      complaints.tell(message, `The network is not forecast now (${message}). The gateway goes on.`);
    }
    timer = setTimeout(run, ms).unref();
  };
  run();
  // Before the engine closes.
  node.on('close', () => {
    clearTimeout(timer);
    networkForecasts.delete(host);
  });
}

/**
 * @param {InstanceType<typeof NetworkForecast>} forecast
 * @param {string} folder
 * @param {(sentence: string) => void} warn
 */
function fileOf(forecast, folder, warn) {
  return new KeptFile(
    folder,
    FILE,
    {
      what: 'network forecasts',
      lost: 'The gateway begins to learn its network again.',
      restore: async (content) => forecast.begin(content),
      content: async () => forecast.save()
    },
    warn
  );
}

/** @type {import('../../live/snapshot').MakeLiveAddition} */
const networkLive = (host) => ({
  read: () => {
    const forecast = networkForecasts.get(host);
    return forecast ? { network: forecast.view() } : {};
  }
});

module.exports = { followNetwork, networkForecasts, networkLive };
