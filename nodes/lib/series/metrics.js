'use strict';
// The metrics of series nodes.

/** @typedef {import('../metrics/text').Exposition} Exposition */

/**
 * @typedef {object} SeriesView
 * @property {string} id of the node
 * @property {string} name
 * @property {boolean} running
 * @property {string} [reason] why nothing is stored, '' = it is
 * @property {number} [series]
 * @property {number} [waitingPoints]
 * @property {number} [openPoints]
 * @property {number} [bytes]
 * @property {number} [textBytes]
 * @property {Record<string, number>} [counters]
 */

/** Reasons for which points are not kept: field, label. */
const REFUSED = /** @type {const} */ ([
  ['old', 'old'],
  ['future', 'future'],
  ['noSeries', 'series'],
  ['left', 'values']
]);
/** Counters: field, name, help. */
const COUNTERS = /** @type {const} */ ([
  ['points', 'points', 'Points that were stored.'],
  [
    'outOfOrder',
    'points_out_of_order',
    'Of these, points that are older than the latest one of their series.'
  ],
  ['doubled', 'points_doubled', 'Points that gave way to another one with the same time.'],
  ['refused', 'records_refused', 'Records that failed because too much waited for the disk.'],
  ['commits', 'commits', 'Commits of points.'],
  ['blocks', 'blocks', 'Blocks of a minute that were written.'],
  ['hours', 'hours', 'Hours of a series that were merged into one block and a mean.'],
  ['expiredHours', 'expired_hours', 'Hours of a series whose points were deleted.'],
  ['expiredMeans', 'expired_means', 'Hours of a series whose means were deleted.'],
  ['damagedBlocks', 'damaged_blocks', 'Damaged blocks that were found.'],
  ['setAside', 'databases_set_aside', 'Damaged databases that were replaced.'],
  ['texts', 'texts', 'Records that the search was given.'],
  ['noText', 'texts_skipped', 'Records without text, or with too much of it for the search.'],
  ['removed', 'texts_removed', 'Records that the search forgot because of its limit.']
]);
const GAUGES = /** @type {const} */ ([
  ['series', 'stored', 'Series in the database.'],
  ['waitingPoints', 'waiting_points', 'Points that wait for the disk.'],
  ['openPoints', 'memory_points', 'Points of open blocks in memory.'],
  ['bytes', 'database_bytes', 'Bytes in use in the database.'],
  ['textBytes', 'text_bytes', 'Bytes of the records that can be searched.']
]);

/** @param {Exposition} out @param {SeriesView} view */
function addSeries(out, view) {
  const { id, name, running, reason = '', counters = {} } = view;
  const labels = { node: id };
  out.gauge('seganet_series_info', 'Names of the series nodes.').add({ ...labels, name }, 1);
  out.gauge('seganet_series_up', '1 if the series node stores points.').add(labels, running && reason === '');
  if (!running) return;
  const refused = out.counter('seganet_series_points_refused_total', 'Points that were not kept, by reason.');
  for (const [field, label] of REFUSED) refused.add({ ...labels, reason: label }, counters[field] ?? 0);
  out.counters('seganet_series', COUNTERS, labels, counters);
  out.gauges('seganet_series', GAUGES, labels, view);
}

module.exports = { addSeries };
