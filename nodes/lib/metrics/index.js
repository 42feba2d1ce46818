'use strict';
// The metrics of all engines of this process, in the Prometheus text format.

const { CONTENT_TYPE, Exposition } = require('./text');
const { addEngine } = require('./engine');
const { addUplink } = require('./uplink');
const { addProcess } = require('./process');
const { version } = require('../../../package.json');

/** @typedef {import('./engine').Snapshot} Snapshot */
/** @typedef {import('./uplink').Uplink} Uplink */

/**
 * @typedef {import('./text').Exposition} Out @typedef {import('./text').Labels} Labels
 * @typedef {import('../engine/host').EngineHost} EngineHost
 *
 * @typedef {{ id: string, name: string, gateway: string, stats: Snapshot | null, host?: Pick<EngineHost, 'members'> }}
 *   EngineView stats null = not running
 *
 * @typedef {object} MetricsAddition what a capability adds
 * @property {(out: Out) => void} [process] once
 * @property {(out: Out, labels: Labels, stats: Snapshot, host?: EngineView['host']) => void} [engine] for each engine
 *   that runs
 * @property {(out: Out, labels: Labels, uplink: Uplink) => void} [uplink] for each uplink
 * @property {Record<string, (out: Out, labels: Labels, figures: any) => void>} [sources] for each source of a protocol
 */

/**
 * @param {EngineView[]} engines
 * @param {import('./process').ProcessView} [process] without it, the metrics of the process are left out
 * @param {MetricsAddition[]} [additions]
 * @returns {string}
 */
function metricsText(engines, process, additions = []) {
  const out = new Exposition();
  out.gauge('seganet_build_info', 'Version of the gateway.').add({ version }, 1);
  if (process) addProcess(out, process);
  for (const { id, name, gateway, stats, host } of engines) {
    const labels = { engine: id };
    out.gauge('seganet_engine_info', 'Names of the engines.').add({ ...labels, name, gateway }, 1);
    out.gauge('seganet_engine_up', '1 if the engine is running.').add(labels, stats !== null);
    if (!stats) continue;
    addEngine(out, labels, stats);
    addSources(out, labels, stats, additions);
    const uplinks = /** @type {Uplink[]} */ (stats.uplinks);
    for (const uplink of uplinks) {
      addUplink(out, labels, uplink);
      const own = { ...labels, uplink: uplink.broker };
      for (const added of additions) added.uplink?.(out, own, uplink);
    }
    for (const added of additions) added.engine?.(out, labels, stats, host);
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
  for (const added of additions) added.process?.(out);
  return out.toString();
}

/**
 * Adds the figures that only sources of a protocol have.
 * @param {Out} out @param {Labels} labels @param {Snapshot} stats @param {MetricsAddition[]} additions
 */
function addSources(out, labels, { sources = [] }, additions) {
  for (const { nodeId, protocol, figures } of sources)
    for (const added of additions) added.sources?.[protocol]?.(out, { ...labels, node: nodeId }, figures);
}

module.exports = { CONTENT_TYPE, metricsText };
