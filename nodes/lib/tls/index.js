'use strict';

const { TlsThread } = require('./tls-thread');

module.exports = { TlsThread };
