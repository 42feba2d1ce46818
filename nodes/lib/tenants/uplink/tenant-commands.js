'use strict';

const { commandFilter, parseTopic } = require('../../uplink/commands/command-topics');

/** Most commands of a tenant that are not answered, of both QoS, and their bytes. The tenant keeps the others. */
const MOST_OPEN = 32;
const MOST_OPEN_BYTES = 1 << 20;
/** Longest time that a command of a tenant may wait for its device. */
const MOST_EXPIRY_S = 7 * 86400;
const PUBACK = 0x40;
const SUCCESS = 0;
/** [MQTT 3.4.2.1] Implementation specific error: "the receiver is not willing to accept it". */
const REFUSED = 0x83;
const QUOTA_EXCEEDED = 0x97;
/**
 * Of all sessions of this thread, so that a late answer to a command of a session that has ended, or of a tenant that
 * has left the plan, is no answer to another command.
 */
let lastAck = 0;
/** @type {Record<import('../../commands/command').Status, number>} */
const CODES = {
  taken: SUCCESS,
  queued: SUCCESS,
  refused: REFUSED,
  expired: REFUSED,
  timeout: REFUSED,
  full: QUOTA_EXCEEDED
};

/**
 * @typedef {object} TenantCommand
 * @property {string} device in the tenant
 * @property {string} rest of the topic behind the device
 * @property {Uint8Array} payload
 * @property {0 | 1} qos
 * @property {number} [expiryS] at most MOST_EXPIRY_S
 *
 * @typedef {object} CommandParts
 * @property {string} user as which the front is connected: the tenant sends commands to this device
 * @property {(command: TenantCommand, ack: number) => void} handOver ack: argument of answer(), which must follow; no
 *   other command of the thread has it
 * @property {(bytes: Buffer) => void} write to the tenant
 */

/**
 * The commands of a tenant for its devices: messages at cmd/front/DEVICE/… of its own gateway. A command is
 * acknowledged to the tenant when the front has it safe; without that, the tenant sends it again. The PUBACK of a
 * command that the front does not keep has the reason code of an error, which makes the tenant's command node fail.
 */
class TenantCommands {
  /** @param {CommandParts} parts */
  constructor({ user, handOver, write }) {
    this.handOver = handOver;
    this.write = write;
    this.names = { prefix: 'cmd', gateway: user };
    /** Commands that are not answered; id: of the packet, 0 = QoS 0. @type {Map<number, { id: number, bytes: number }>} */
    this.open = new Map();
    this.openBytes = 0;
    /** Reads the next packet. @type {(() => void) | null} */
    this.resume = null;
  }

  /** @param {import('mqtt').MqttClient} client connected, with a new session */
  connected(client) {
    // A tenant that does not allow it sends no commands; its records are delivered all the same.
    client.subscribe(commandFilter(this.names), { qos: 1, rh: 2, nl: true }, () => {});
  }

  get isFull() {
    return this.open.size >= MOST_OPEN || this.openBytes >= MOST_OPEN_BYTES;
  }

  /** @param {import('mqtt').IPublishPacket} packet @param {() => void} done */
  onPublish({ topic, payload, qos, retain, messageId = 0, properties }, done) {
    const address = retain ? null : parseTopic(topic, this.names);
    const id = qos > 0 ? messageId : 0;
    const isKnown = id > 0 && [...this.open.values()].some((command) => command.id === id);
    if (!isKnown && !address) this.#acknowledge(id, REFUSED);
    else if (!isKnown && address) {
      // A copy: the other thread would otherwise keep the whole chunk.
      const copy = new Uint8Array(/** @type {Buffer} */ (payload));
      const asked = properties?.messageExpiryInterval;
      const expiryS = asked === undefined ? undefined : Math.min(asked, MOST_EXPIRY_S);
      const ack = ++lastAck;
      this.open.set(ack, { id, bytes: copy.length });
      this.openBytes += copy.length;
      this.handOver({ ...address, payload: copy, qos: qos > 0 ? 1 : 0, expiryS }, ack);
    }
    if (this.isFull) this.resume = done;
    else done();
  }

  /** @param {number} ack @param {import('../../commands/command').Status} status the first one of the command */
  answer(ack, status) {
    const command = this.open.get(ack);
    if (!command) return;
    this.open.delete(ack);
    this.openBytes -= command.bytes;
    this.#acknowledge(command.id, CODES[status]);
    if (this.isFull) return;
    const { resume } = this;
    this.resume = null;
    resume?.();
  }

  /** @param {number} id 0 = no PUBACK is due @param {number} code */
  #acknowledge(id, code) {
    if (id === 0) return;
    const bytes = [id >> 8, id & 0xff];
    this.write(Buffer.from(code === SUCCESS ? [PUBACK, 2, ...bytes] : [PUBACK, 3, ...bytes, code]));
  }
}

exports.TenantCommands = TenantCommands;
