'use strict';

/** @typedef {import('./index').Check} Check @typedef {import('./index').Verdict} Verdict */

/**
 * @param {string} reason a sentence, '' if there is nothing wrong
 * @param {Record<string, unknown>} [more]
 * @returns {Check}
 */
function check(reason, more = {}) {
  return { ok: reason === '', reason, ...more };
}

/** @param {Record<string, Check>} checks in the order of importance @returns {Verdict} */
function verdict(checks) {
  const reason = Object.values(checks).find(({ ok }) => !ok)?.reason ?? '';
  return { ok: reason === '', reason, checks };
}

module.exports = { check, verdict };
