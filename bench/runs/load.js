'use strict';
// Builds a load of the plan's length for measure() and Stage.

/** The default load: 10 messages per second from each device, 200 B, every 20th an alarm. */
const farm = { devices: 1000, rate: 10, payload: 200, alarmEvery: 20, inflight: 64 };

/**
 * @param {import('../options/chapter').Plan} plan
 * @param {Partial<import('./measure').Profile>} more overrides, and `gatewayEnv` of this case
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
    // The user's settings override those of the case.
    gatewayEnv: { ...gatewayEnv, ...plan.env }
  };
}

module.exports = { loadOf };
