'use strict';

const { StoreThread } = require('./thread');

module.exports = { StoreThread };
