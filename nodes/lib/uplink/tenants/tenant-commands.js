'use strict';

const { commandFilter, parseTopic } = require('../commands/command-topics');

/** Most commands of a tenant that are not answered. The tenant keeps the others. */
const MOST_OPEN = 32;

/**
 * @typedef {object} TenantCommand
 * @property {string} device in the tenant
 * @property {string} rest of the topic behind the device
 * @property {Uint8Array} payload
 * @property {0 | 1} qos
 * @property {number} [expiryS]
 *
 * @typedef {object} CommandParts
 * @property {string} user as which the front is connected: the tenant sends commands to this device
 * @property {(command: TenantCommand, ack: number) => void} handOver ack: argument of answer(), 0 = none is due
 * @property {(bytes: Buffer) => void} write to the tenant
 */

/**
 * The commands of a tenant for its devices: messages at cmd/front/DEVICE/… of its own gateway. A command is
 * acknowledged to the tenant when the front has it safe; without that, the tenant sends it again.
 */
class TenantCommands {
  /** @param {CommandParts} parts */
  constructor({ user, handOver, write }) {
    this.handOver = handOver;
    this.write = write;
    this.names = { prefix: 'cmd', gateway: user };
    /** Packet ids of commands that are not answered. @type {Set<number>} */
    this.open = new Set();
    /** Reads the next packet. @type {(() => void) | null} */
    this.resume = null;
  }

  /** @param {import('mqtt').MqttClient} client connected, with a new session */
  connected(client) {
    // A tenant that does not allow it sends no commands; its records are delivered all the same.
    client.subscribe(commandFilter(this.names), { qos: 1, rh: 2, nl: true }, () => {});
  }

  /** @param {import('mqtt').IPublishPacket} packet @param {() => void} done */
  onPublish({ topic, payload, qos, retain, messageId = 0, properties }, done) {
    const address = retain ? null : parseTopic(topic, this.names);
    const ack = qos > 0 ? messageId : 0;
    const isKnown = ack > 0 && this.open.has(ack);
    if (ack > 0) this.open.add(ack);
    if (!address) this.answer(ack);
    else if (!isKnown) {
      // A copy: the other thread would otherwise keep the whole chunk.
      const copy = new Uint8Array(/** @type {Buffer} */ (payload));
      const expiryS = properties?.messageExpiryInterval;
      this.handOver({ ...address, payload: copy, qos: qos > 0 ? 1 : 0, expiryS }, ack);
    }
    if (this.open.size < MOST_OPEN) done();
    else this.resume = done;
  }

  /** The command is safe. @param {number} ack */
  answer(ack) {
    if (!this.open.delete(ack)) return;
    this.write(Buffer.from([0x40, 2, ack >> 8, ack & 0xff]));
    const { resume } = this;
    this.resume = null;
    resume?.();
  }
}

exports.TenantCommands = TenantCommands;
