'use strict';

const { CliError } = require('../../base/cli/cli-error');

/**
 * NOT_OK: the set-up is missing, was refused or failed. CANNOT: a tool or a privilege is missing, so the result is
 * unknown.
 */
const EXIT = /** @type {const} */ ({ OK: 0, NOT_OK: 1, USAGE: 2, CANNOT: 3 });

module.exports = { EXIT, CliError };
