'use strict';

/**
 * Writes the births of a Sparkplug edge node, which share their sequence numbers with its data, into the output of its
 * session. The engine makes the packets (native/core/encoding/sparkplug/edge_node.h).
 */
class Births {
  #writer;
  #output;

  /**
   * @param {object} parts
   * @param {import('../../../../native').PublishWriter} parts.writer of the session
   * @param {import('../sending/output').Output} parts.output
   * @param {string} parts.group
   * @param {string} parts.node
   */
  constructor({ writer, output, group, node }) {
    this.#writer = writer;
    this.#output = output;
    writer.setEdgeNode(group, node);
    /** The node, or devices that it knows, are not born in this session. */
    this.isPending = false;
  }

  /**
   * A session begins.
   * @param {number} bdSeq of its will
   * @param {boolean} isV5
   * @param {number} maxPacket of the broker, 0 = unknown
   */
  begin(bdSeq, isV5, maxPacket) {
    this.#writer.beginEdgeNode(bdSeq, isV5, maxPacket);
    this.isPending = true;
  }

  /** A host wants all births again. */
  again() {
    this.#writer.rebirth();
    this.isPending = true;
  }

  /** Returns the payload of the node's death. @param {number} bdSeq @returns {Buffer} */
  death(bdSeq) {
    return this.#writer.death(bdSeq);
  }

  /** Writes what must precede the prepared packet. @param {boolean} isUrgent that packet is a live record of class 1 */
  writeBefore(isUrgent) {
    const packets = this.#writer.births();
    if (packets) this.#write(packets, isUrgent);
  }

  /** Writes births for which there is room. @returns {boolean} true: there are more */
  writeRest() {
    while (this.isPending && !this.#output.isFull(false)) {
      const packet = this.#writer.nextBirth();
      if (packet) this.#write(packet, false);
      else this.isPending = false;
    }
    return this.isPending;
  }

  /** @param {Buffer} packets @param {boolean} isUrgent */
  #write(packets, isUrgent) {
    const output = this.#output;
    const buffer = output.reserve(packets.length);
    packets.copy(buffer, output.end);
    output.filled(output.end + packets.length, isUrgent);
  }
}

exports.Births = Births;
