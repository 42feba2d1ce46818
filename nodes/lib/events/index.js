'use strict';
// What happened to a gateway, and who changed it.

const { auditHandler } = require('./audit-log');
const { EventBook } = require('./event-book');
const { EventStore } = require('./event-store');
const { KINDS, LANGUAGES, SEVERITIES, sentenceOf } = require('./kinds');

module.exports = { EventBook, EventStore, KINDS, LANGUAGES, SEVERITIES, auditHandler, sentenceOf };
