'use strict';
// Cuts a stream into whole MQTT packets [MQTT 5, 2.1].

class Frames {
  constructor() {
    this.rest = Buffer.alloc(0);
  }

  /** Bytes of a packet whose end has not arrived yet. */
  get partial() {
    return this.rest.length;
  }

  /** @param {Buffer} bytes @returns {Buffer[]} packets that are complete now */
  push(bytes) {
    this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, bytes]) : bytes;
    const frames = [];
    for (;;) {
      const length = frameLength(this.rest);
      if (length === 0 || this.rest.length < length) return frames;
      frames.push(this.rest.subarray(0, length));
      this.rest = this.rest.subarray(length);
    }
  }
}

/** @param {Buffer} bytes @returns {number} length of the first packet with its header, 0 = not yet known */
function frameLength(bytes) {
  let remaining = 0;
  for (let i = 1; i <= 4 && i < bytes.length; i += 1) {
    remaining += (bytes[i] & 0x7f) * 128 ** (i - 1);
    if ((bytes[i] & 0x80) === 0) return 1 + i + remaining;
  }
  if (bytes.length > 4) throw new Error('not an MQTT packet: its length has more than four bytes');
  return 0;
}

const type = { CONNECT: 1, CONNACK: 2, PUBLISH: 3, PUBACK: 4 };

/** @param {Buffer} frame */
const typeOf = (frame) => frame[0] >> 4;

module.exports = { Frames, typeOf, type };
