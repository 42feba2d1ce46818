'use strict';

const CHUNK_BYTES = 65536;

/**
 * @typedef {object} Chunk
 * @property {Buffer} buffer
 * @property {number[]} ids QoS 0 packets, which are done when the chunk is written
 * @property {number} bytes written into it
 * @property {number} urgent bytes of live records of class 1
 */

/** @typedef {(bytes: Buffer, done: (error?: Error | null) => void) => void} Write */

/**
 * Collects the packets of one turn into one write, and so into one TLS record (16 KiB at most). A chunk is reused when
 * the stream has reported that it was written.
 *
 * What the stream has not written yet can no longer be overtaken, so this queue is kept short: the rest waits in the
 * engine, in the order of urgency. Live records of class 1 do not wait for the bytes of others, only for their own.
 */
class Output {
  /**
   * @param {(ids: number[]) => void} onWritten a chunk was written; ids: its QoS 0 packets
   * @param {number} [limit] unwritten bytes at which no further packet is begun
   */
  constructor(onWritten, limit = Infinity) {
    this.onWritten = onWritten;
    this.limit = limit;
    /** Bytes that the stream has not written, and how many of them are live records of class 1. */
    this.unsent = 0;
    this.urgentUnsent = 0;
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
      this.unsent -= chunk.bytes;
      this.urgentUnsent -= chunk.urgent;
      chunk.bytes = chunk.urgent = 0;
      this.onWritten(chunk.ids);
      chunk.ids.length = 0;
      if (chunk.buffer.length === CHUNK_BYTES && this.spare.length < 4) this.spare.push(chunk);
    };
  }

  /** The connection is gone. Discards what was not written. */
  close() {
    this.write = null;
    this.writing = [];
    this.chunk = null;
    this.end = 0;
    this.unsent = 0;
    this.urgentUnsent = 0;
  }

  /** True if no packet of this kind may be added now. @param {boolean} isUrgent a live record of class 1 */
  isFull(isUrgent) {
    return (isUrgent ? this.urgentUnsent : this.unsent) >= this.limit;
  }

  /**
   * Returns a buffer with room for a packet of this size at `end`.
   * @param {number} bytes
   * @returns {Buffer}
   */
  reserve(bytes) {
    if (this.chunk && this.end + bytes > this.chunk.buffer.length) this.flush();
    if (!this.chunk) {
      this.chunk = (bytes <= CHUNK_BYTES && this.spare.pop()) || newChunk(Math.max(bytes, CHUNK_BYTES));
      this.end = 0;
    }
    return this.chunk.buffer;
  }

  /**
   * The reserved packet was written into the buffer.
   * @param {number} end where it ends
   * @param {boolean} isUrgent a live record of class 1
   */
  filled(end, isUrgent) {
    const chunk = /** @type {Chunk} */ (this.chunk);
    const bytes = end - this.end;
    this.end = end;
    chunk.bytes += bytes;
    this.unsent += bytes;
    if (!isUrgent) return;
    chunk.urgent += bytes;
    this.urgentUnsent += bytes;
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

/** @param {number} size @returns {Chunk} */
function newChunk(size) {
  return { buffer: Buffer.allocUnsafeSlow(size), ids: [], bytes: 0, urgent: 0 };
}

exports.Output = Output;
