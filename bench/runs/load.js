'use strict';
// A load of the plan's length, as measure() and Stage take it.

/** The ordinary one: 10 messages a second and device, 200 B, every 20th an alarm. */
const farm = { devices: 1000, rate: 10, payload: 200, alarmEvery: 20, inflight: 64 };

/**
 * @param {import('../options/chapter').Plan} plan
 * @param {Partial<import('./measure').Profile>} more its own numbers, and `gatewayEnv` of this case
 * @returns {import('./measure').Profile}
 */
function loadOf(plan, { gatewayEnv = {}, ...more }) {
  return {
    ...farm,
    seconds: plan.seconds,
    warmup: plan.warmup,
    quietMs: 4000,
    drain: 30,
    datatype: 'buffer',
    gatewayCpus: plan.gatewayCpus,
    harnessCpus: plan.harnessCpus,
    openFiles: plan.openFiles,
    ...plan.sizes,
    ...more,
    // What the user asks for is stronger than what a case is made of.
    gatewayEnv: { ...gatewayEnv, ...plan.env }
  };
}

module.exports = { loadOf, farm };
