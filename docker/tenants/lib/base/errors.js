'use strict';

const { CliError } = require('../../../../nodes/lib/base/cli/cli-error');

/** Exit codes of the command. CONFIG is EX_CONFIG of sysexits.h. */
const EXIT = { OK: 0, CANNOT: 1, USAGE: 2, CONFIG: 78 };

/**
 * Why a request about a tenant failed:
 *   unknown   there is no such tenant
 *   leased    it is in use
 *   failed    it does not start, or ended by itself; retryMs = when the next start is allowed
 *   busy      a limit is reached, or it was stopped meanwhile
 *   engine    the container engine does not answer
 *   gone      the lease has ended
 *   invalid   the request is wrong
 *   taken     the name has a tenant, or data, already
 *   limit     the tenants file does not allow it
 *   full      the disk has too little space
 * @typedef {'unknown' | 'leased' | 'failed' | 'busy' | 'engine' | 'gone' | 'invalid' | 'taken' | 'limit' | 'full'} Code
 */

/** An error with a code for programs, and a sentence for people. */
class TenantError extends Error {
  /** @param {Code} code @param {string} message @param {number} [retryMs] when to try again; 0 = not worthwhile */
  constructor(code, message, retryMs = 0) {
    super(message);
    this.code = code;
    this.retryMs = retryMs;
  }
}

/** @param {unknown} error @returns {boolean} true if the engine did not answer */
const isEngineAway = (error) => error instanceof TenantError && error.code === 'engine';

/** @param {unknown} error @returns {string} */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

exports.EXIT = EXIT;
exports.CliError = CliError;
exports.TenantError = TenantError;
exports.isEngineAway = isEngineAway;
exports.messageOf = messageOf;
