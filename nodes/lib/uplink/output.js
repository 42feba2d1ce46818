'use strict';

const CHUNK_BYTES = 65536;

/**
 * @typedef {object} Chunk
 * @property {Buffer} buffer
 * @property {number[]} ids QoS 0 packets: they are done when the chunk is written
 */

/** @typedef {(bytes: Buffer, done: (error?: Error | null) => void) => void} Write */

/**
 * Gathers the packets of one turn into one write, and so into one TLS record (16 KiB at most). A chunk is used again when
 * the stream has told that it was written.
 */
class Output {
  /** @param {(ids: number[]) => void} onWritten a chunk left; ids: its QoS 0 packets */
  constructor(onWritten) {
    this.onWritten = onWritten;
    /** @type {Chunk[]} */
    this.spare = [];
    /** @type {Chunk | null} */
    this.chunk = null;
    /** Where the next byte goes. */
    this.end = 0;
    /** @type {Write | null} */
    this.write = null;
    /** @type {(error?: Error | null) => void} */
    this.written = () => {};
    /** @type {Chunk[]} */
    this.writing = [];
  }

  /** A connection is up. @param {Write} write */
  open(write) {
    this.close();
    this.write = write;
    // One callback for each connection, not for each write: writes complete in order, and late callbacks of an old
    // connection find their own list.
    /** @type {Chunk[]} */
    const writing = [];
    this.writing = writing;
    this.written = (error) => {
      const chunk = /** @type {Chunk} */ (writing.shift());
      if (this.writing !== writing || error) return;
      this.onWritten(chunk.ids);
      chunk.ids.length = 0;
      if (chunk.buffer.length === CHUNK_BYTES && this.spare.length < 4) this.spare.push(chunk);
    };
  }

  /** The connection is gone; what was not written is forgotten. */
  close() {
    this.write = null;
    this.writing = [];
    this.chunk = null;
    this.end = 0;
  }

  /** Room for a packet of this size at `end`. @param {number} bytes @returns {Buffer} */
  reserve(bytes) {
    if (this.chunk && this.end + bytes > this.chunk.buffer.length) this.flush();
    if (!this.chunk) {
      if (bytes > CHUNK_BYTES) this.chunk = { buffer: Buffer.allocUnsafeSlow(bytes), ids: [] };
      else this.chunk = this.spare.pop() ?? { buffer: Buffer.allocUnsafeSlow(CHUNK_BYTES), ids: [] };
      this.end = 0;
    }
    return this.chunk.buffer;
  }

  /** The packet just reserved is QoS 0: done when written. @param {number} id */
  doneWhenWritten(id) {
    /** @type {Chunk} */ (this.chunk).ids.push(id);
  }

  flush() {
    const { chunk, write } = this;
    if (!chunk || !write || this.end === 0) return;
    this.chunk = null;
    this.writing.push(chunk);
    write(chunk.buffer.subarray(0, this.end), this.written);
  }
}

exports.Output = Output;
