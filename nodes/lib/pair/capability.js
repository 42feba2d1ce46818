'use strict';
// What a pair of gateways adds to the engine: the log in PostgreSQL.

exports.threads = () => require('./index');
