'use strict';

const { Trouble } = require('../../cli/trouble');

const EXIT = /** @type {const} */ ({ OK: 0, DAMAGE: 1, USAGE: 2, CANNOT: 3 });

module.exports = { EXIT, Trouble };
