'use strict';

/** Longest device id in bytes of UTF-8, as in native/core/record/record.h. */
const MAX_DEVICE_BYTES = 256;

module.exports = { MAX_DEVICE_BYTES };
