'use strict';

/** Bytes of IPv4 and TCP with timestamps, in a segment; IPv6 has 20 more. */
const TCP_IP_BYTES = 52;
const IP_V6_BYTES = 20;
/** Bytes of a record of TLS 1.3 besides its content. */
const TLS_BYTES = 22;
const PUBACK_BYTES = 4;
const SMOOTHING = 4;
/** Until something was sent, as the engine assumes it: the head of a PUBLISH, and a compressed record. */
const FIRST_HEAD_BYTES = 68;
const FIRST_RECORD_BYTES = 60;

/** @typedef {import('../../../../native').SentNumbers} SentNumbers */

/**
 * What a message costs on the link of a session. MQTT's part is measured from the packets that were written; those of
 * TLS and TCP/IP are known: a message takes a TLS record and a segment, and so does its PUBACK. A message with more
 * bytes than a segment has more of them, in proportion to its records.
 */
class LinkCost {
  #sent;
  /** @type {SentNumbers | null} */
  #before = null;
  #head = FIRST_HEAD_BYTES;
  #record = FIRST_RECORD_BYTES;

  /** @param {() => SentNumbers} sent of the session's writer */
  constructor(sent) {
    this.#sent = sent;
    /** Records go over a path that costs by the byte. */
    this.isMetered = false;
    /**
     * What batches and their compression have saved so far: bytes of IP. An estimate, in which an unbatched record has
     * the same line, in a message of its own.
     */
    this.savedBytes = 0;
  }

  /**
   * Call it once a second.
   * @param {{ isTls: boolean, isV6: boolean }} link
   * @returns {{ headBytes: number, recordBytes: number }} of a message besides its records, in both directions; of a
   *   record in it
   */
  update({ isTls, isV6 }) {
    const sent = this.#sent();
    const before = this.#before ?? zeros(sent);
    this.#before = sent;
    const packets = sent.packets - before.packets;
    const records = sent.records - before.records;
    const fixed = PUBACK_BYTES + 2 * (TCP_IP_BYTES + (isV6 ? IP_V6_BYTES : 0) + (isTls ? TLS_BYTES : 0));
    if (packets > 0 && records > 0) {
      const payload = sent.payloadBytes - before.payloadBytes;
      this.#head += ((sent.headBytes - before.headBytes) / packets - this.#head) / SMOOTHING;
      this.#record += (payload / records - this.#record) / SMOOTHING;
      const fewer = Math.max(0, records - packets) * (fixed + this.#head);
      this.savedBytes += Math.round(fewer + Math.max(0, sent.plainBytes - before.plainBytes - payload));
    }
    return { headBytes: Math.round(fixed + this.#head), recordBytes: Math.round(this.#record) };
  }
}

/** @param {SentNumbers} numbers @returns {SentNumbers} */
function zeros(numbers) {
  return /** @type {SentNumbers} */ (Object.fromEntries(Object.keys(numbers).map((name) => [name, 0])));
}

exports.LinkCost = LinkCost;
