'use strict';

exports.SqliteStore = require('./sqlite-store').SqliteStore;
