'use strict';

const fs = require('node:fs');
const { END, head, padding } = require('../../../../nodes/lib/base/tar/tar');

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {'file' | 'link' | 'folder'} type
 * @property {Buffer | string} body a text is the path of a file, '' = none
 * @property {number} mode
 * @property {string} link target
 */

/** @param {Entry[]} entries @returns {AsyncGenerator<Buffer>} a tar file */
async function* tarOf(entries) {
  for (const { name, type, body, mode, link } of entries) {
    const bytes =
      typeof body !== 'string' ? body : body === '' ? Buffer.alloc(0) : await fs.promises.readFile(body);
    yield head({ name, type, size: bytes.length, mode, mtimeMs: 0, link });
    yield bytes;
    yield padding(bytes.length);
  }
  yield END;
}

module.exports = { tarOf };
