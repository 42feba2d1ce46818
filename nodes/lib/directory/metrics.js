'use strict';
// The metrics of find nodes.

/** @typedef {import('../metrics/text').Exposition} Exposition */

/**
 * @typedef {object} DirectoryView
 * @property {string} id of the node
 * @property {string} name
 * @property {boolean} running
 * @property {string} [reason] why the directory cannot be used, '' = it can
 * @property {number} [things]
 * @property {number} [posted]
 * @property {number} [left] things that were not made because there are too many
 * @property {number} [devices]
 * @property {number} [forgotten] times that a device was not kept in memory because there were too many
 * @property {number} [streams]
 * @property {{ kept: number, asked: number, stale: number, unanswered: number }} [counters]
 */

const GAUGES = /** @type {const} */ ([
  ['things', 'things', 'Things in the directory.'],
  ['posted', 'posted_things', 'Of these, things that were posted.'],
  ['left', 'left_out_things', 'Things of devices that are left out because the directory has too many.'],
  ['devices', 'devices', 'Devices whose values are in memory.'],
  ['streams', 'event_clients', 'Clients that get events.']
]);
/** How a question ended: field, label. */
const ENDS = /** @type {const} */ ([
  ['kept', 'record'],
  ['asked', 'asked'],
  ['stale', 'stale'],
  ['unanswered', 'none']
]);

/** @param {Exposition} out @param {DirectoryView} view */
function addDirectory(out, view) {
  const { id, name, running, reason = '', counters } = view;
  const labels = { node: id };
  out.gauge('seganet_directory_info', 'Names of the find nodes.').add({ ...labels, name }, 1);
  out.gauge('seganet_directory_up', '1 if the directory can be used.').add(labels, running && reason === '');
  if (!running) return;
  out.gauges('seganet_directory', GAUGES, labels, view);
  out
    .counter(
      'seganet_directory_forgotten_total',
      'Times that a device was not kept in memory because there were too many.'
    )
    .add(labels, view.forgotten ?? 0);
  const questions = out.counter(
    'seganet_directory_questions_total',
    'Questions, by the source of the answer.'
  );
  for (const [field, answer] of ENDS) questions.add({ ...labels, answer }, counters?.[field] ?? 0);
}

module.exports = { addDirectory };
