'use strict';
// JSON as CBOR (RFC 8949 section 6.2).

const { encode } = require('../../base/cbor');

/** Numbers with a fraction have the size that JSON's have in JavaScript. */
const WRITTEN = /** @type {const} */ ({ floats: 'double' });

/** @param {unknown} value of readJson() @returns {Buffer} */
const cborOf = (value) => encode(value, WRITTEN);

exports.cborOf = cborOf;
