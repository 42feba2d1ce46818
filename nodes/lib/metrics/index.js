'use strict';
// The metrics of all engines of this process, in the Prometheus text format.

const { CONTENT_TYPE, Exposition } = require('./text');
const { addDirectory } = require('./directory');
const { addEngine } = require('./engine');
const { addOverlay } = require('./overlay');
const { addUplink } = require('./uplink');
const { addProcess } = require('./process');
const { addSeries } = require('./series');
const { addSingleTenants, addTenants } = require('./tenants');
const { version } = require('../../../package.json');

/** @typedef {import('./engine').Snapshot} Snapshot */
/** @typedef {import('./uplink').Uplink} Uplink */

/**
 * @typedef {{ id: string, name: string, gateway: string, stats: Snapshot | null,
 *   single?: import('./tenants').SingleTenants }} EngineView stats null = not running; single: figures of single tenants
 */

/**
 * @param {EngineView[]} engines
 * @param {import('./process').ProcessView} [process] without it, the metrics of the process are left out
 * @param {import('./series').SeriesView[]} [series] of all series nodes
 * @param {import('./directory').DirectoryView[]} [directories] of all find nodes
 * @param {import('./overlay').OverlayView[]} [overlays] of all overlay networks
 * @returns {string}
 */
function metricsText(engines, process, series = [], directories = [], overlays = []) {
  const out = new Exposition();
  out.gauge('seganet_build_info', 'Version of the gateway.').add({ version }, 1);
  if (process) addProcess(out, process);
  for (const { id, name, gateway, stats, single } of engines) {
    const labels = { engine: id };
    out.gauge('seganet_engine_info', 'Names of the engines.').add({ ...labels, name, gateway }, 1);
    out.gauge('seganet_engine_up', '1 if the engine is running.').add(labels, stats !== null);
    if (!stats) continue;
    addEngine(out, labels, stats);
    const uplinks = /** @type {Uplink[]} */ (stats.uplinks);
    for (const uplink of uplinks) addUplink(out, labels, uplink);
    if (stats.tenants) addTenants(out, labels, stats.tenants);
    if (single) addSingleTenants(out, labels, single);
    // The energy is of the whole machine, so the first uplink that measured it is enough.
    for (const { energy } of uplinks) {
      if (!energy) continue;
      out
        .gauge(
          'seganet_machine_power_watts',
          'Power draw of the machine in the last minute, as measured by the sensor.'
        )
        .add({ source: energy.source }, energy.watts);
    }
  }
  for (const view of series) addSeries(out, view);
  for (const view of directories) addDirectory(out, view);
  for (const view of overlays) addOverlay(out, view);
  return out.toString();
}

module.exports = { CONTENT_TYPE, metricsText };
