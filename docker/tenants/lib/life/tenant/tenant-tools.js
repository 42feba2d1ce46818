'use strict';

/** @typedef {import('../../../../../nodes/lib/tenants/file/schema').Spec} Spec */
/**
 * What a tenant uses of its keeper.
 * @typedef {object} Tools
 * @property {import('../../drivers/driver').Driver} driver
 * @property {import('../../base/clock').Clock} clock
 * @property {import('./starts').Starts} starts
 * @property {(spec: Spec, host: string, how: string, signal: AbortSignal) => Promise<void>} accepts resolves when the
 *   tenant accepts connections; stays pending until then
 * @property {(event: object) => void} tell
 * @property {() => void} onEngineAway
 * @property {(name: string) => boolean} [isHeld] true: its volume is being replaced, so it must not start
 * @property {number} leaseMs
 * @property {number} readyMs longest time of a start
 * @property {number} graceMs time for an orderly end
 */

module.exports = {};
