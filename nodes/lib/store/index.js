'use strict';

const { StoreThread } = require('./store-thread');

module.exports = { StoreThread };
