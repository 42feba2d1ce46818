'use strict';
// The metrics of shadows.

/** Counters of the thread: field, name, help. */
const STORED = /** @type {const} */ ([
  ['updates', 'updates', 'Updates that changed a shadow and are on disk.'],
  ['unchanged', 'unchanged', 'Updates that changed nothing.'],
  ['deletes', 'deleted', 'Shadows that were deleted.'],
  ['gets', 'reads', 'Documents that were read.'],
  ['refused', 'refused', 'Requests that were refused.'],
  ['commits', 'commits', 'Commits to the disk.']
]);
/** Counters of what goes to devices. */
const SENT = /** @type {const} */ ([
  ['deltas', 'deltas', 'Differences that were sent, or wait for their device.'],
  ['deltasTaken', 'deltas_taken', 'Differences that devices acknowledged.'],
  ['deltasFailed', 'deltas_failed', 'Differences that a device did not take; sent again when it connects.'],
  ['repliesLost', 'replies_lost', 'Answers that did not reach their device.']
]);

/**
 * @param {import('../metrics').Out} out
 * @param {string} engine id
 * @param {ReturnType<import('./shadows').Shadows['figures']>} figures
 */
function addShadows(out, engine, { shadows = 0, bytes = 0, reason = '', counters = {}, own }) {
  const labels = { engine };
  out.gauge('seganet_shadow_shadows', 'Shadows of devices.').add(labels, shadows);
  out.gauge('seganet_shadow_bytes', 'Size of the file of the shadows.').add(labels, bytes);
  out
    .gauge('seganet_shadow_stored', '1 = shadows can be stored, 0 = they are refused.')
    .add(labels, reason ? 0 : 1);
  const zeros = Object.fromEntries(STORED.map(([field]) => [field, 0]));
  out.counters('seganet_shadow', STORED, labels, /** @type {any} */ ({ ...zeros, ...counters }));
  out.counters('seganet_shadow', SENT, labels, own);
}

module.exports = { addShadows };
