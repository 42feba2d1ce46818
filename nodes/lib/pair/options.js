'use strict';
// Options of a log in PostgreSQL.

const { isPostgresUrl, parsePostgresUrls } = require('../postgres/url');
const { checkOptions: checkLog } = require('../store/log-options');

/**
 * @typedef {import('../store/log-options').StoreOptions & { url: string, name: string, place?: string, waitMs?: number
 *   }} PairOptions url: see parsePostgresUrls(); name of the log; place: name of this machine, for messages; waitMs: an
 *   owner of the log without a sign of life for this time is replaced, default 1500, 1000..60000
 * @typedef {import('../store/log-options').CheckedOptions & Required<Pick<PairOptions, 'url' | 'name' | 'place' |
 *   'waitMs'>>} CheckedPairOptions
 */

const WAIT_MS = 1500;

/**
 * Fills defaults. Throws TypeError or RangeError with a sentence for the user.
 * @param {PairOptions} options
 * @param {string} defaultNative
 * @returns {CheckedPairOptions}
 */
function checkOptions(options, defaultNative) {
  const { url, name, place = '', waitMs = WAIT_MS } = options;
  if (!isPostgresUrl(url)) {
    throw new RangeError('The log must be an address such as postgres://user@host1,host2/database.');
  }
  parsePostgresUrls(url);
  if (!Number.isInteger(waitMs) || waitMs < 1000 || waitMs > 60000) {
    throw new RangeError(`waitMs is ${waitMs}; it must be a whole number from 1000 to 60000.`);
  }
  return { ...checkLog(options, defaultNative), url, name, place, waitMs };
}

module.exports = { checkOptions };
