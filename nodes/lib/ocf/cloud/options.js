'use strict';
// What a cloud can be set to.

/**
 * @typedef {object} Options
 * @property {string} sid the cloud's id, a UUID
 * @property {string | ((request: import('./coap').Request) => string)} endpoint where devices and controllers reach the
 *   cloud, such as coaps+tcp://cloud.example:5684
 * @property {number} accessSeconds life of an access token, -1 = indefinite
 * @property {number} refreshDays life of a refresh token after its last use
 * @property {number} refreshGraceMs time in which the refresh token of before is still accepted after the new access
 *   token was used
 * @property {number} requestTimeoutMs time in which a device must answer
 * @property {number} mostOpen unanswered requests of a device
 * @property {number} mostDevices
 * @property {readonly string[]} recordTypes types of the published resources that become records, `*` = any
 * @property {number | undefined} recordClass class of the records; undefined: the gateway's rules decide
 */

const DEFAULTS = {
  accessSeconds: 3600,
  refreshDays: 90,
  refreshGraceMs: 0,
  requestTimeoutMs: 10000,
  mostOpen: 32,
  mostDevices: 10000,
  recordTypes: [],
  recordClass: undefined
};

/** Least and most of the numbers. @type {Record<string, [number, number]>} */
const LIMITS = {
  accessSeconds: [-1, 315360000],
  refreshDays: [1, 3650],
  refreshGraceMs: [0, 3600000],
  requestTimeoutMs: [100, 300000],
  mostOpen: [1, 1024],
  mostDevices: [1, 10000000]
};

/**
 * @param {Partial<Options> & Pick<Options, 'sid' | 'endpoint'>} given
 * @returns {Options}
 * @throws {RangeError} that names the option
 */
function withDefaults(given) {
  const options = { ...DEFAULTS, ...given };
  for (const [name, [least, most]] of Object.entries(LIMITS)) {
    const value = /** @type {any} */ (options)[name];
    if (
      !Number.isInteger(value) ||
      value < least ||
      value > most ||
      (name === 'accessSeconds' && value === 0)
    ) {
      throw new RangeError(`${name} must be a whole number from ${least} to ${most}.`);
    }
  }
  return options;
}

module.exports = { withDefaults, DEFAULTS, LIMITS };
