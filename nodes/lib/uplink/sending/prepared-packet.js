'use strict';

const { recordName } = require('./refused/problem-sentences');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */

/** The packet that is measured before it is sent or given up. */
class PreparedPacket {
  #stageOf;
  /** No packet is valid before the first connection. */
  #hasLink = false;
  /** Bytes of the packet. */
  size = 0;

  /**
   * @param {Pick<typeof import('../../../../native'), 'PublishWriter'>} native
   * @param {(id: number) => import('./uplink-stage').Stage | undefined} stageOf
   */
  constructor(native, stageOf) {
    this.#stageOf = stageOf;
    /** Writes the packets; also the express path's. */
    this.writer = new native.PublishWriter();
  }

  /** @param {import('./feeder-types').Link} link */
  connected({ protocolVersion, retainAvailable }) {
    this.#hasLink = true;
    this.writer.setLink(protocolVersion === 5, retainAvailable);
  }

  /**
   * Measures a packet.
   * @param {TakenBatch} batch
   * @param {number} packet
   * @returns {boolean} false: its topic is not valid in a PUBLISH, or its stage is not known
   */
  prepare(batch, packet) {
    const isKnown = this.#hasLink && this.#stageOf(batch.stage) !== undefined;
    this.size = isKnown ? batch.prepare(packet, this.writer) : 0;
    return this.size > 0;
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} packet
   * @returns {string | null} null: the topic contains nothing from the device
   */
  topicOf(batch, packet) {
    return this.prepare(batch, packet) ? this.writer.deviceTopic() : null;
  }

  /**
   * Returns a record's name for display.
   * @param {TakenBatch} batch
   * @param {number} packet
   * @param {number} size
   */
  describe(batch, packet, size) {
    const isPrepared = this.prepare(batch, packet);
    return recordName(batch.deviceOf(packet), isPrepared ? this.writer.topic() : '', size);
  }
}

exports.PreparedPacket = PreparedPacket;
