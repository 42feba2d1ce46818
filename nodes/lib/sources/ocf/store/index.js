'use strict';

exports.SqliteStore = require('./sqlite-store').SqliteStore;
exports.StoreThread = require('./store-thread').StoreThread;
