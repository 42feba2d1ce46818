'use strict';

const { createHash } = require('node:crypto');

const MAX_DONE = 1024;
const PUBACK = 0x40;

/**
 * A PUBLISH of QoS 1 for which a PUBACK is due. id: '' = no answer is expected.
 * @typedef {{messageId: number, key: string, id: string, isAnswered: boolean}} Debt
 */

/**
 * PUBACKs of a session that the broker keeps. Each is sent when its command is safe, in the order of the PUBLISH
 * packets [MQTT-4.6.0-2]. A packet that the broker sends again after a lost connection is recognized while it is in
 * memory.
 */
class CommandAcks {
  /** @param {(bytes: Buffer) => void} write to the present connection */
  constructor(write) {
    this.write = write;
    /** PUBACKs due on the present connection, in the order of arrival. @type {Debt[]} */
    this.order = [];
    /**
     * Commands handed over and not answered, including those of earlier connections.
     * @type {Map<string, Debt>} by id
     */
    this.open = new Map();
    /** Packets that the broker may send again, the oldest first. @type {Map<string, Debt>} by key */
    this.known = new Map();
    /** PUBACKs of the present connection that the broker may not have read. @type {Debt[]} */
    this.unread = [];
    /** How many of these were written before the last PINGREQ. */
    this.beforePing = 0;
    this.acknowledged = 0;
    this.redelivered = 0;
  }

  /** @param {boolean} sessionPresent false: the broker has forgotten its identifiers */
  connected(sessionPresent) {
    this.order = [];
    this.unread = [];
    this.beforePing = 0;
    if (sessionPresent) return;
    this.known.clear();
  }

  /** A PINGREQ was written. */
  pinged() {
    this.beforePing = this.unread.length;
  }

  /**
   * The PINGRESP arrived, so the broker has read what was written before the PINGREQ. Those identifiers are free and
   * will name other commands.
   */
  pingAnswered() {
    for (const debt of this.unread.splice(0, this.beforePing)) this.#forget(debt);
    this.beforePing = 0;
  }

  /** @param {Debt} debt */
  #forget(debt) {
    if (this.known.get(debt.key) === debt) this.known.delete(debt.key);
  }

  /**
   * @param {import('mqtt').IPublishPacket} packet of QoS 1
   * @param {string} id for a new packet; '' = it is answered already
   * @returns {boolean} true if the packet is new
   */
  enter(packet, id) {
    const messageId = /** @type {number} */ (packet.messageId);
    const key = keyOf(packet);
    // [MQTT-4.4.0-1] A PUBLISH that is sent again has the same identifier, and DUP.
    const before = packet.dup ? this.known.get(key) : undefined;
    const debt = before ?? { messageId, key, id, isAnswered: id === '' };
    if (before) this.redelivered++;
    else this.#remember(debt);
    this.order.push(debt);
    this.#flush();
    return !before;
  }

  /** Call it when the command is safe. @param {string} id */
  answer(id) {
    const debt = this.open.get(id);
    if (!debt) return;
    this.open.delete(id);
    debt.isAnswered = true;
    this.#flush();
  }

  /** @param {Debt} debt */
  #remember(debt) {
    this.known.delete(debt.key);
    this.known.set(debt.key, debt);
    if (!debt.isAnswered) this.open.set(debt.id, debt);
    if (this.known.size <= MAX_DONE) return;
    for (const [key, { isAnswered }] of this.known) {
      if (!isAnswered) continue;
      this.known.delete(key);
      break;
    }
  }

  #flush() {
    let count = 0;
    while (this.order[count]?.isAnswered) count++;
    if (count === 0) return;
    const bytes = Buffer.alloc(4 * count);
    const debts = this.order.splice(0, count);
    for (const [i, { messageId }] of debts.entries()) {
      // [MQTT 3.4] Without a reason code: success, in 3.1.1 and 5.
      bytes.set([PUBACK, 2, messageId >> 8, messageId & 0xff], 4 * i);
    }
    this.unread.push(...debts);
    // Without pings, the memory must be bounded too.
    const over = this.unread.splice(0, Math.max(0, this.unread.length - MAX_DONE));
    this.beforePing = Math.max(0, this.beforePing - over.length);
    this.acknowledged += count;
    this.write(bytes);
  }
}

/** @param {import('mqtt').IPublishPacket} packet */
function keyOf({ messageId, topic, payload }) {
  const hash = createHash('sha256').update(topic).update('\0').update(payload).digest('base64');
  return `${messageId} ${hash}`;
}

exports.CommandAcks = CommandAcks;
