'use strict';
// The CBOR that OCF uses: map keys are text, and there are no tags.

const cbor = require('../../base/cbor');

const LIMITS = { bytes: 65536, depth: 16, items: 8192 };
const PROFILE = { textKeys: true, noTags: true };

/**
 * Returns what is wrong with the bytes, '' if they are one well-formed item of OCF within the limits.
 * @param {Uint8Array} bytes
 * @param {import('../../base/cbor/bounds').Limits} [limits]
 * @returns {string} follows "The CBOR body "
 */
const problemOf = (bytes, limits = LIMITS) => cbor.problemOf(bytes, limits, PROFILE);

module.exports = { LIMITS, problemOf };
