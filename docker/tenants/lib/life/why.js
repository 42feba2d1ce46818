'use strict';
// Why a tenant does not take records now, as far as its keeper knows.

/**
 * @typedef {object} Known
 * @property {string} name
 * @property {import('./tenant/status').State} state
 * @property {string} reason
 * @property {number} sinceMs how long it has been in this state
 * @property {number} leases
 * @property {number} failures in a row
 * @property {number} retryMs until it may start again
 * @property {boolean} isWaking a start was asked for and has not ended
 * @property {boolean} isHeld its data are being restored
 * @property {string} awayDriver driver whose engine does not answer, '' = it answers
 *
 * @typedef {'restored' | 'engine' | 'failed' | 'turn' | 'starting' | 'retry' | 'leaving' | 'running' | 'asleep'} Code
 */

/** @param {number} ms @returns {string} */
const seconds = (ms) => `${Math.max(0, Math.ceil(ms / 1000))} s`;

/** @param {string} reason @returns {string} */
const because = (reason) => (reason ? ` (${reason.replace(/\.$/, '')})` : '');

/** @param {Known} known @returns {{ code: Code, text: string }} text: sentences */
function whyOf(known) {
  const { name, state, reason, sinceMs, leases, failures, retryMs, isWaking, isHeld, awayDriver } = known;
  if (isHeld)
    return {
      code: 'restored',
      text: `The data of ${name} are being restored, updated or removed. It starts after that.`
    };
  if (awayDriver && state !== 'running')
    return {
      code: 'engine',
      text: `The engine of ${awayDriver} does not answer, so ${name} cannot start. The keeper looks every 2 s; start the engine.`
    };
  if (state === 'failed')
    return {
      code: 'failed',
      text: `${name} stays down after ${failures} failures${because(reason)}. Repair the cause, then: seganet-tenants wake ${name}`
    };
  if (state === 'starting')
    return { code: 'starting', text: `${name} has been starting for ${seconds(sinceMs)}.` };
  if (isWaking)
    return {
      code: 'turn',
      text: `${name} waits until other starts or its own stop have ended (SEGANET_TENANTS_STARTS limits the starts at once).`
    };
  if (state === 'running')
    return {
      code: 'running',
      text: `${name} runs${leases > 0 ? `, with ${leases} leases` : ', and nothing has a lease for it'}.`
    };
  if (failures > 0 && retryMs > 0)
    return {
      code: 'retry',
      text: `${name} failed ${failures} times in a row${because(reason)} and may start again in ${seconds(retryMs)}.`
    };
  if (state === 'pausing' || state === 'stopping')
    return { code: 'leaving', text: `${name} is being ${state === 'pausing' ? 'paused' : 'stopped'}.` };
  return {
    code: 'asleep',
    text: `${name} sleeps (${state})${because(reason)}, and no start was asked for. The gateway asks when it has records for it.`
  };
}

module.exports = { whyOf };
