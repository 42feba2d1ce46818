'use strict';
// The interface between the keeper and what runs a tenant.

const { plainText } = require('../base/plain-text');

/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */
/**
 * @typedef {object} Observed
 * @property {'absent' | 'created' | 'stopped' | 'running' | 'paused'} state created: it exists and never ran
 * @property {string} reason why it ended, '' = it did not, or that is unknown
 */
/**
 * Every method rejects with a TenantError of code `engine` if the engine does not answer, and with another error if
 * the engine refuses.
 * @typedef {object} Driver
 * @property {string} name
 * @property {string} [problem] why no method of it works, until the tenants file is read again
 * @property {boolean} isIsolated false: a tenant can reach what this user can reach
 * @property {boolean} canPause
 * @property {() => Promise<string>} check resolves to a sentence about the engine, if it can be used
 * @property {(specs: Spec[]) => Promise<string[]>} [problems] sentences about what these tenants lack here, such as
 *   limits
 * @property {(spec: Spec) => string} [weakness] which of the tenant's limits does not hold, as far as it is known by
 *   now; '' = none
 * @property {(spec: Spec) => string} [lacks] a limit that does not hold, although the tenant is isolated without it; as
 *   far as it is known by now; '' = none
 * @property {(spec: Spec) => Promise<void>} create makes what the tenant lacks, or makes it again after a change
 *   of the
 *   tenants file; the data stay; called only while the tenant does not run
 * @property {(spec: Spec) => Promise<void>} start
 * @property {(spec: Spec, graceMs: number) => Promise<void>} stop also of a paused tenant; it has ended when this
 *   resolves
 * @property {(spec: Spec) => Promise<void>} pause
 * @property {(spec: Spec) => Promise<void>} unpause
 * @property {(spec: Spec) => Promise<Observed>} inspect
 * @property {(spec: Spec, signal: AbortSignal) => Promise<{ reason: string }>} ended resolves when the running
 *   tenant ends, with a
 *   sentence; stays pending after the signal
 * @property {(spec: Spec) => Promise<string>} [delay] why a started tenant does not run yet; '' = unknown
 * @property {(spec: Spec) => Promise<string>} address its own address: nothing else answers there
 * @property {(spec: Spec) => Promise<number>} memory bytes in use, 0 = unknown
 * @property {(spec: Spec, lines: number) => Promise<string>} logs its last lines of output
 * @property {(spec: Spec, options: { hasData: boolean }) => Promise<void>} remove it is stopped; hasData: its data
 *   go, too
 * @property {(spec: Spec) => Promise<number>} [dataBytes] space of its data on the disk, with that of deleted files
 *   that it keeps open; a result above the tenant's limit is a lower bound, because the count stops at the limit.
 *   Rejects with a ClosedError if a folder cannot be opened
 * @property {(image: string) => Promise<string>} [digestOf] the image's name with its digest, for one with a tag
 * @property {(specs: Spec[], most: number, isBusy?: () => boolean) => void} [keepSpares] keeps processes in reserve for
 *   starts of these tenants: at most as many as there are tenants that one could become; isBusy: tenants start
 * @property {import('./spares').SparesRow} [spares]
 * @property {() => Promise<void>} [removeRests] what checks of backups have left whose process was killed
 * @property {() => void} close
 */

/** Most lines of output that one request returns. */
const MAX_LINES = 1000;

/** @param {number | null} code @param {string | null} signal @returns {string} how a process ended */
function endOf(code, signal) {
  return signal ? `ended by the signal ${signal}` : `ended with code ${code}`;
}

/** @param {string} text @param {number} lines @returns {string} the last ones, which a terminal can print */
const lastLines = (text, lines) => plainText(text.split('\n').filter(Boolean).slice(-lines).join('\n'));

module.exports = { MAX_LINES, endOf, lastLines };
