'use strict';

/**
 * Writes a chunk and waits until the stream has room again, or has ended.
 * @param {import('node:stream').Writable} stream
 * @param {Buffer} chunk
 * @returns {Promise<void>}
 */
function write(stream, chunk) {
  if (stream.destroyed || stream.write(chunk)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

module.exports = { write };
