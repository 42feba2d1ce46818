'use strict';

const { DtlsSecrets } = require('./dtls-secrets');
const { TlsThread } = require('./tls-thread');

module.exports = { DtlsSecrets, TlsThread };
