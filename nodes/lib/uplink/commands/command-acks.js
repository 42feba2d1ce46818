'use strict';

const { createHash } = require('node:crypto');

const MAX_DONE = 1024;
const PUBACK = 0x40;

/**
 * A PUBLISH of QoS 1 that we owe a PUBACK.
 * @typedef {{messageId: number, key: string, id: string, isAnswered: boolean}} Debt id: '' = nobody was asked
 */

/**
 * PUBACKs of a session that the broker keeps: each is sent when its command is safe, in the order of the PUBLISH packets
 * [MQTT-4.6.0-2], and what the broker sends again after a lost connection is known while it is in memory.
 */
class Custody {
  /** @param {(bytes: Buffer) => void} write to the present connection */
  constructor(write) {
    this.write = write;
    /** Of the present connection, in the order of arrival. @type {Debt[]} */
    this.order = [];
    /** Handed over and not answered, of earlier connections too. @type {Map<string, Debt>} by id */
    this.open = new Map();
    /** What the broker may send again, the oldest first. @type {Map<string, Debt>} by key */
    this.known = new Map();
    /** PUBACKs of the present connection that the broker may not have read. @type {Debt[]} */
    this.unread = [];
    /** Of these, the ones that were written before the last PINGREQ. */
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

  /** A PINGREQ is written. */
  pinged() {
    this.beforePing = this.unread.length;
  }

  /** Its PINGRESP came: what was written before it was read, so its identifiers are free and name other commands from now on. */
  pingAnswered() {
    for (const debt of this.unread.splice(0, this.beforePing)) this.#forget(debt);
    this.beforePing = 0;
  }

  /** @param {Debt} debt */
  #forget(debt) {
    if (this.known.get(debt.key) === debt) this.known.delete(debt.key);
  }

  /**
   * @param {import('mqtt').IPublishPacket} packet of QoS 1 @param {string} id for a new one; '' = it is answered already
   * @returns {boolean} it is new
   */
  enter(packet, id) {
    const messageId = /** @type {number} */ (packet.messageId);
    const key = keyOf(packet);
    // [MQTT-4.4.0-1] A PUBLISH that is sent again has its identifier and DUP.
    const before = packet.dup ? this.known.get(key) : undefined;
    const debt = before ?? { messageId, key, id, isAnswered: id === '' };
    if (before) this.redelivered++;
    else this.#remember(debt);
    this.order.push(debt);
    this.#flush();
    return !before;
  }

  /** The command is safe. @param {string} id */
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
    // Without pings: what is remembered is bounded too.
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

exports.Custody = Custody;
