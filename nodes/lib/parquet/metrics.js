'use strict';
// What a parquet uplink has beside the metrics of every uplink.

/** @typedef {import('../metrics/text').Exposition} Exposition @typedef {import('../metrics/text').Labels} Labels */

/** Counters: field, name, help. They restart with the thread of the node. */
const COUNTERS = /** @type {const} */ ([
  ['files', 'files', 'Files that were written, without those of merges.'],
  ['rows', 'rows', 'Rows in these files.'],
  ['bytes', 'bytes', 'Bytes of these files.'],
  ['repeated', 'repeated_rows', 'Copies of records that were left out of these files.'],
  ['failures', 'failed_writes', 'Attempts to write files that failed; they are repeated.'],
  ['merges', 'merges', 'Merges of files.'],
  ['mergedFiles', 'merged_files', 'Files that merges replaced.'],
  ['mergedRows', 'merged_rows', 'Rows that merges wrote.'],
  ['mergeRepeated', 'merge_repeated_rows', 'Copies of records that merges left out.'],
  ['mergeFailures', 'failed_merges', 'Merges that failed; they are repeated.']
]);
const GAUGES = /** @type {const} */ ([
  ['days', 'days', 'Days that have files.'],
  ['filesNow', 'listed_files', 'Files that the manifests name.'],
  ['rowsNow', 'listed_rows', 'Rows in these files.'],
  ['bytesNow', 'listed_bytes', 'Bytes of these files.'],
  ['rowsOpen', 'open_rows', 'Records that were taken and are in no file yet.']
]);

/** @typedef {Record<(typeof COUNTERS | typeof GAUGES)[number][0] | 'writeMs', number>} FileFigures */

/** @param {Exposition} out @param {Labels} labels of the engine and the uplink @param {FileFigures} figures */
function addFiles(out, labels, figures) {
  out.counters('seganet_parquet', COUNTERS, labels, figures);
  out.gauges('seganet_parquet', GAUGES, labels, figures);
  out
    .gauge('seganet_parquet_write_seconds', 'Time that the latest files took, with the sync to disk.')
    .add(labels, figures.writeMs / 1000);
}

module.exports = { addFiles };
