'use strict';

const PUBACK = 4;
const MAX_LENGTH_BYTES = 4;
/** Larger ones (a reason string and many user properties) are left to mqtt.js, which does not keep them either. */
const MAX_PUBACK_BYTES = 65536;
const EMPTY = Buffer.alloc(0);

/**
 * Reads the PUBACKs out of what the broker sends; all other packets are left for mqtt.js, whole and in order.
 *
 * mqtt.js takes a PUBACK through a pipe, a list of buffers, a parser, a queue and a turn of nextTick: more than all the rest
 * that the thread does for a PUBLISH (bench/questions/uplink-publish.js).
 */
class PubackTap {
  /** @param {(id: number, reasonCode: number) => void} onPuback @param {(bytes: Buffer) => void} onOther */
  constructor(onPuback, onOther) {
    this.onPuback = onPuback;
    this.onOther = onOther;
    /** The beginning of a packet that is not complete yet. @type {Buffer} */
    this.rest = EMPTY;
    /** Bytes that still belong to a packet of others. */
    this.skip = 0;
  }

  /** @param {Buffer} chunk */
  read(chunk) {
    const bytes = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    let at = Math.min(this.skip, bytes.length);
    this.skip -= at;
    // Packets of others in a row go on together; they begin here.
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

  /** [MQTT 3.4.2] Identifier, and in MQTT 5 a reason code where it is not 0. @param {Buffer} bytes @param {number} at @param {number} end */
  #puback(bytes, at, end) {
    const body = bodyAt(bytes, at);
    const reasonCode = body + 2 < end ? bytes[body + 2] : 0;
    this.onPuback((bytes[body] << 8) | bytes[body + 1], reasonCode);
  }
}

/** One without an identifier is for mqtt.js to complain about. @param {Buffer} bytes @param {number} at @param {number} end */
function isPuback(bytes, at, end) {
  return bytes[at] >> 4 === PUBACK && end - at <= MAX_PUBACK_BYTES && end - bodyAt(bytes, at) >= 2;
}

/** Behind the fixed header. REQUIRES: it is a packet, and its length is here. @param {Buffer} bytes @param {number} at */
function bodyAt(bytes, at) {
  let body = at + 1;
  while (bytes[body++] & 0x80);
  return body;
}

/**
 * Where the packet that begins at `at` ends; 0 = its length is not here yet. Not a length [MQTT 2.2.3]: Infinity, so that all
 * goes to mqtt.js, which tells the error.
 * @param {Buffer} bytes @param {number} at
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

exports.PubackTap = PubackTap;
