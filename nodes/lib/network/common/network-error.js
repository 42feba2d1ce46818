'use strict';

const { Trouble } = require('../../base/cli/cli-error');

/** NOT_OK: the set-up is not there, was refused or failed. CANNOT: a tool or the right is missing, so nobody can tell. */
const EXIT = /** @type {const} */ ({ OK: 0, NOT_OK: 1, USAGE: 2, CANNOT: 3 });

module.exports = { EXIT, Trouble };
