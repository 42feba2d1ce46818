'use strict';

const { closesOn, closesOnSize, refusedForGood, tooLarge } = require('./problem-sentences');

/** Reason codes of MQTT 5 for records that we refuse ourselves. */
const UNSPECIFIED_ERROR = 0x80;
const TOPIC_NAME_INVALID = 0x90;
const PACKET_TOO_LARGE = 0x95;

/** @typedef {import('../taken-batch').TakenBatch} TakenBatch */

/**
 * Gives up the records of packets, and reports why. The caller settles the batch when none of its packets is open.
 */
class DeadLetters {
  #prepared;
  #problem;
  /** Packets that were given up, and the records in them. */
  packets = 0;
  records = 0;

  /**
   * @param {import('../prepared-packet').PreparedPacket} prepared
   * @param {(code: string, reason: string) => void} problem
   */
  constructor(prepared, problem) {
    this.#prepared = prepared;
    this.#problem = problem;
  }

  /** @param {TakenBatch} batch @param {number} index */
  badTopic(batch, index) {
    const reason = 'A record was refused: its topic is empty, too long or contains +, # or NUL.';
    this.#bury(batch, index, 'BAD_TOPIC', TOPIC_NAME_INVALID, reason);
  }

  /**
   * The packet is larger than the broker's Maximum Packet Size.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} size
   * @param {number} limit
   */
  overLimit(batch, index, size, limit) {
    this.#bury(batch, index, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, tooLarge(size, limit));
  }

  /**
   * The broker closes the connection on the packet, and on no smaller one.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} size
   */
  closedOnSize(batch, index, size) {
    const record = this.#prepared.describe(batch, index, size);
    this.#bury(batch, index, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, closesOnSize(record, size));
  }

  /**
   * The broker closes the connection on the packet.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} size
   * @param {number} code of its DISCONNECT, 0 = none
   */
  closedOn(batch, index, size, code) {
    const record = this.#prepared.describe(batch, index, size);
    this.#bury(batch, index, 'UNWANTED', code || UNSPECIFIED_ERROR, closesOn(record, code));
  }

  /**
   * The broker refused the packet each time.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} code of its PUBACK
   * @param {string} name of the code
   */
  refused(batch, index, code, name) {
    this.#bury(batch, index, `PUBACK_${code}`, code, refusedForGood(name));
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {string} problem
   * @param {number} code
   * @param {string} reason
   */
  #bury(batch, index, problem, code, reason) {
    this.#problem(problem, reason);
    this.packets++;
    this.records += batch.bury(index, code, reason);
  }
}

exports.DeadLetters = DeadLetters;
