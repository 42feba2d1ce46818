'use strict';

const { FrontThread } = require('./thread');

module.exports = { FrontThread };
