'use strict';
// CBOR (RFC 8949): the codec of the gateway's JavaScript.

const { LIMITS, problemOf } = require('./bounds');
const { CborError, Cursor, MAJOR } = require('./cursor');
const { decode } = require('./reader');
const { Simple, Tagged } = require('./values');
const { Writer, encode } = require('./writer');

module.exports = { LIMITS, MAJOR, CborError, Cursor, Simple, Tagged, Writer, decode, encode, problemOf };
