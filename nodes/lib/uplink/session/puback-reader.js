'use strict';

const PUBACK = 4;
const MAX_LENGTH_BYTES = 4;
/** Larger PUBACKs (a reason string and many user properties) are left to mqtt.js, which does not keep them either. */
const MAX_PUBACK_BYTES = 65536;
const EMPTY = Buffer.alloc(0);

/**
 * Extracts the PUBACKs from what the broker sends. All other packets are left for mqtt.js, complete and in order.
 *
 * mqtt.js passes a PUBACK through a pipe, a list of buffers, a parser, a queue and a turn of nextTick: more than all
 * the other work of the thread for a PUBLISH (bench/questions/uplink-publish.js).
 */
class PubackReader {
  /** @param {(id: number, reasonCode: number) => void} onPuback @param {(bytes: Buffer) => void} onOther */
  constructor(onPuback, onOther) {
    this.onPuback = onPuback;
    this.onOther = onOther;
    /** The beginning of an incomplete packet. @type {Buffer} */
    this.rest = EMPTY;
    /** Bytes that still belong to another kind of packet. */
    this.skip = 0;
  }

  /** @param {Buffer} chunk */
  read(chunk) {
    const bytes = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    let at = Math.min(this.skip, bytes.length);
    this.skip -= at;
    // Consecutive other packets are passed on together; this is where they begin.
    let others = 0;
    while (at < bytes.length) {
      const end = packetEnd(bytes, at);
      if (end === 0) break;
      if (isPuback(bytes, at, end)) {
        if (end > bytes.length) break;
        if (others < at) this.onOther(bytes.subarray(others, at));
        this.#puback(bytes, at, end);
        others = end;
        at = end;
      } else {
        this.skip = Math.max(0, end - bytes.length);
        at = Math.min(end, bytes.length);
      }
    }
    if (others < at) this.onOther(bytes.subarray(others, at));
    this.rest = at < bytes.length ? bytes.subarray(at) : EMPTY;
  }

  /**
   * Handles a PUBACK [MQTT 3.4.2]: an identifier, and in MQTT 5 a reason code unless it is 0.
   * @param {Buffer} bytes
   * @param {number} at
   * @param {number} end
   */
  #puback(bytes, at, end) {
    const body = bodyAt(bytes, at);
    const reasonCode = body + 2 < end ? bytes[body + 2] : 0;
    this.onPuback((bytes[body] << 8) | bytes[body + 1], reasonCode);
  }
}

/**
 * True for a PUBACK. One without an identifier is left to mqtt.js, which reports the error.
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} end
 */
function isPuback(bytes, at, end) {
  return bytes[at] >> 4 === PUBACK && end - at <= MAX_PUBACK_BYTES && end - bodyAt(bytes, at) >= 2;
}

/**
 * Returns the offset behind the fixed header. REQUIRES: a packet whose length is complete.
 * @param {Buffer} bytes
 * @param {number} at
 */
function bodyAt(bytes, at) {
  let body = at + 1;
  while (bytes[body++] & 0x80);
  return body;
}

/**
 * Returns where the packet that begins at `at` ends; 0 = its length is incomplete. Returns Infinity for an invalid
 * length [MQTT 2.2.3], so that all bytes go to mqtt.js, which reports the error.
 * @param {Buffer} bytes
 * @param {number} at
 */
function packetEnd(bytes, at) {
  let length = 0;
  for (let i = 0; i < MAX_LENGTH_BYTES; i++) {
    const next = at + 1 + i;
    if (next >= bytes.length) return 0;
    length += (bytes[next] & 0x7f) * 128 ** i;
    if (bytes[next] < 0x80) return next + 1 + length;
  }
  return Infinity;
}

exports.PubackReader = PubackReader;
