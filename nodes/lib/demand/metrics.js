'use strict';
// The metrics of monitoring on demand.

/** Counters: field, name, help. */
const COUNTERS = /** @type {const} */ ([
  ['asked', 'questions', 'Questions that were accepted.'],
  ['refused', 'questions_refused', 'Questions that were refused.'],
  ['ended', 'questions_ended', 'Questions that ended, by themselves or by their asker.'],
  ['restored', 'restored', 'Restores that devices acknowledged.'],
  ['givenUp', 'restores_given_up', 'Restores that no device took for 30 days.']
]);

/**
 * @param {import('../metrics').Out} out
 * @param {string} engine id
 * @param {ReturnType<import('./demand').Demand['figures']>} figures
 */
function addDemand(out, engine, { questions, devices, counters }) {
  const labels = { engine };
  out
    .gauge('seganet_demand_open_questions', 'Questions about devices that have not ended.')
    .add(labels, questions);
  const states = out.gauge('seganet_demand_devices', 'Devices with a question or an owed restore, by state.');
  for (const [state, count] of Object.entries(devices)) states.add({ ...labels, state }, count);
  out.counters('seganet_demand', COUNTERS, labels, counters);
}

module.exports = { addDemand };
