'use strict';

const { Trouble } = require('../../base/cli/cli-error');

const EXIT = /** @type {const} */ ({ OK: 0, DAMAGE: 1, USAGE: 2, CANNOT: 3 });

module.exports = { EXIT, Trouble };
