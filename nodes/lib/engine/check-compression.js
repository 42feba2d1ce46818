'use strict';
// The compression of uplink nodes, checked when the node starts.

const { native, uplink } = require('./modules');

/**
 * @param {string} compress off, zstd, deflate or auto
 * @param {string} neverCompress topic filters, separated by commas
 * @throws {Error} with a sentence
 */
function checkCompression(compress, neverCompress) {
  if (neverCompress !== '') uplink().readFilters(neverCompress);
  if (compress !== 'zstd' && compress !== 'deflate') return;
  if (native().PublishWriter.compressions().includes(compress)) return;
  throw new Error(
    `"compress": this Node.js (${process.version}) has no ${compress}. Use Node.js 22.16 or newer from nodejs.org, or choose another compression.`
  );
}

module.exports = { checkCompression };
