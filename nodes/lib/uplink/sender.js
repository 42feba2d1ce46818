'use strict';

const { SENT, DONE, AGAIN, LATER, ASIDE } = require('./slot');
const { Publish } = require('./publish');
const { Pulse } = require('./pulse');
const { Quota } = require('./quota');
const { MAX_TRIES, Refusals, isFinal } = require('./refusals');
const { Suspect } = require('./suspect');
const { refusalName } = require('./reasons');

/** @typedef {import('./slot').Slot} Slot */
/** @typedef {import('./stage').Stage} Stage */
/** @typedef {import('./feeder').Link} Link */

/**
 * @typedef {object} SenderHandlers
 * @property {(slot: Slot) => void} settled nothing of the batch is open any more
 * @property {(slot: Slot) => void} again the batch has something to send again
 * @property {(bytes: number) => void} roomier a packet of so many bytes left the window
 * @property {() => void} go what was held back may be sent
 */

/** Reason codes of MQTT 5 for what we refuse ourselves. */
const TOPIC_NAME_INVALID = 0x90;
const PACKET_TOO_LARGE = 0x95;
/** Packets that look refused for good and wait for their next try outside of the window, at most: they hold memory. */
const MAX_OUTSIDE = 1000;

/** What becomes of one packet: cut or given up where it cannot go, written, acknowledged, refused, sent again. */
class Sender {
  /** @param {import('./feeder').FeederOptions} options @param {SenderHandlers} handlers */
  constructor(options, handlers) {
    this.window = options.window;
    this.output = options.output;
    this.delay = options.delay;
    this.now = options.now;
    this.problem = options.problem;
    this.handlers = handlers;
    this.pulse = new Pulse(options.window, options.now);
    this.refusals = new Refusals(options.window, options.retryMs ?? 1000);
    this.quota = new Quota(options.window, options.now);
    this.suspect = new Suspect(options.now);
    this.packet = new Publish();
    /** @type {Link | null} */
    this.link = null;
    this.isAwaiting = false;
    /** Rises with every connection that is lost, and when the batches are no longer ours: timers of before do nothing. */
    this.life = 0;

    /** Of the packets that wait for their next try, those that hold no place in the window. */
    this.outside = 0;
    /** When all packets that are refused for now will have been sent again. */
    this.quotaUntil = 0;
    this.published = 0;
    this.acknowledged = 0;
    this.redelivered = 0;
    /** Packets that were given up, and records in them. */
    this.failed = 0;
    this.deadLetters = 0;
  }

  /** @param {Link} link @param {import('./output').Write} write */
  connected(link, write) {
    this.link = link;
    this.window.setLimit(link.receiveMaximum);
    this.output.open(write);
    this.pulse.connected();
    this.suspect.connected();
    // A broker that tells its limit needs no guess.
    if (link.maximumPacketSize > 0) this.#acquit();
    else this.#awaitTrial();
  }

  /** @param {boolean} byBroker @param {Iterable<Slot>} taken @returns {boolean} true: the suspect is too large, see convict() */
  disconnected(byBroker, taken) {
    const { suspect } = this;
    const isTooLarge = this.link?.maximumPacketSize === 0 && suspect.dropped(this.window, byBroker);
    this.link = null;
    this.life++;
    this.outside = 0;
    this.quotaUntil = 0;
    this.quota.disconnected();
    this.pulse.disconnected();
    this.output.close();
    this.window.reset();
    for (const slot of taken) {
      slot.rewind();
      const isSuspect = suspect.isAside && suspect.slot === slot && suspect.order === slot.order;
      if (isSuspect && slot.states[suspect.packet] !== ASIDE) slot.putAside(suspect.packet);
    }
    return isTooLarge;
  }

  /** Nothing is refused, suspected or waits to be sent again. */
  get isCalm() {
    return this.outside === 0 && this.quota.waitMs === 0 && !this.suspect.isAside && !this.suspect.isOnTrial;
  }

  /** ms until all packets that the broker refuses for now will have been sent again, 0 = there are none. */
  get quotaWait() {
    return Math.max(0, this.quotaUntil - this.now());
  }

  /** The batches are no longer ours. */
  abandon() {
    this.life++;
    this.outside = 0;
    this.window.abandon();
    this.suspect.clear();
  }

  /** @param {Slot} slot @param {number} index pending @param {Stage} stage @returns {boolean} false: it was cut into two, send again */
  send(slot, index, stage) {
    const link = /** @type {Link} */ (this.link);
    const { packet, suspect } = this;
    if (!packet.prepare(slot, index, stage, link)) {
      const reason = 'A record was refused: its topic is empty, too long or has + # or NUL in it.';
      slot.pending--;
      this.#bury(slot, index, 'BAD_TOPIC', TOPIC_NAME_INVALID, reason);
      return true;
    }
    // [MQTT-3.2.2-15] Not more than the broker's Maximum Packet Size.
    const told = link.maximumPacketSize;
    if (told > 0 ? packet.size > told : suspect.isTooLarge(packet.size)) {
      if (slot.split(index)) return false;
      slot.pending--;
      const reason = told > 0 ? tooLarge(packet.size, told) : tooLargeByProof(packet.size);
      this.#bury(slot, index, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, reason);
      return true;
    }
    if (told === 0 && suspect.minds(packet.size)) {
      suspect.hold(slot, index, packet.size);
      this.#awaitTrial();
      return true;
    }
    this.#write(slot, index, stage);
    return true;
  }

  /** The packet is prepared. @param {Slot} slot @param {number} index pending @param {Stage} stage */
  #write(slot, index, stage) {
    const { output, packet } = this;
    const now = this.now();
    const isAgain = slot.states[index] === AGAIN;
    slot.pending--;
    slot.states[index] = SENT;
    const id = this.window.open(slot, index, packet.size, now);
    const out = output.reserve(packet.size);
    output.filled(packet.write(out, output.end, stage.qos ? id : 0, isAgain), slot.isUrgent);
    if (stage.qos) this.pulse.sent(id, now);
    else output.doneWhenWritten(id);
    if (isAgain) this.redelivered++;
    else this.published++;
  }

  /**
   * Gives the records of a packet up. The caller settles the batch when nothing of it is open.
   * @param {Slot} slot @param {number} index @param {string} problem @param {number} code @param {string} reason
   */
  #bury(slot, index, problem, code, reason) {
    this.problem(problem, reason);
    this.failed++;
    this.deadLetters += slot.bury(index, code, reason);
  }

  /** A PUBACK. @param {number} id packet identifier @param {number} reasonCode 0 in MQTT 3.1.1 */
  acknowledge(id, reasonCode) {
    if (!this.window.isOpen(id)) return;
    const isTaken = reasonCode < 0x80;
    this.pulse.acknowledged(id, isTaken);
    this.suspect.taken(this.window.sizes[id]);
    if (isTaken) {
      this.refusals.taken();
      this.quota.taken();
    }
    // Alone on its way, so this was its answer.
    if (this.suspect.isOnTrial) this.#acquit();
    this.#close(id, reasonCode);
  }

  /** A chunk went to the kernel; its QoS 0 packets are done. @param {number[]} ids */
  written(ids) {
    for (const id of ids) if (this.window.isOpen(id)) this.#close(id, 0);
    if (ids.length > 0) this.pulse.wrote();
  }

  /** @param {number} id open @param {number} reasonCode */
  #close(id, reasonCode) {
    const { window } = this;
    const slot = window.slots[id];
    const index = window.packets[id];
    const size = window.sizes[id];
    window.close(id);
    this.handlers.roomier(size);
    if (!slot) return;
    if (reasonCode >= 0x80) this.#refused(slot, index, reasonCode);
    else {
      this.acknowledged++;
      slot.states[index] = DONE;
      slot.open--;
    }
    if (slot.open === 0) this.handlers.settled(slot);
  }

  /**
   * Sends a refused packet again after a while. Until then one that is kept holds its place in the window, so that a broker that
   * refuses everything slows us down instead of filling the memory; one that will be given up soon does not.
   * @param {Slot} slot @param {number} index @param {number} reasonCode
   */
  #refused(slot, index, reasonCode) {
    slot.tries[index] = Math.min(255, slot.tries[index] + 1);
    if (Quota.is(reasonCode)) return this.#exceeded(slot, index, reasonCode);
    const wait = this.refusals.next(reasonCode, slot.tries[index]);
    const code = `PUBACK_${reasonCode}`;
    const name = refusalName(reasonCode);
    if (wait < 0) {
      const reason = `The broker refused a record ${MAX_TRIES} times (${name}); it is a dead letter now. Check the topic and the rights of this client at the broker.`;
      this.#bury(slot, index, code, reasonCode, reason);
      return;
    }
    if (!isFinal(reasonCode)) {
      this.quotaUntil = Math.max(this.quotaUntil, this.now() + wait);
      this.problem(
        code,
        `The broker refuses records for now (${name}). They are kept and sent again, later each time.`
      );
    }
    slot.states[index] = LATER;
    const isOutside = isFinal(reasonCode) && this.outside < MAX_OUTSIDE;
    if (isOutside) this.outside++;
    else this.window.wait(slot);
    const { order } = slot;
    const { life } = this;
    this.delay(() => {
      if (this.life !== life || slot.order !== order || slot.states[index] !== LATER) return;
      if (isOutside) this.outside--;
      else this.window.endWait(slot);
      slot.sendAgain(index);
      this.handlers.again(slot);
    }, wait);
  }

  /** @param {Slot} slot @param {number} index @param {number} reasonCode */
  #exceeded(slot, index, reasonCode) {
    const wait = this.quota.exceeded();
    this.refusals.keep(reasonCode);
    this.quotaUntil = Math.max(this.quotaUntil, this.now() + wait);
    this.problem(
      `PUBACK_${reasonCode}`,
      `The broker refuses records for now (${refusalName(reasonCode)}). They are kept and sent again, later each time.`
    );
    slot.sendAgain(index);
    this.handlers.again(slot);
    this.delay(() => this.handlers.go(), wait);
  }

  /** Wakes the pump when the trial is due. */
  #awaitTrial() {
    const { suspect } = this;
    if (!suspect.isAside || this.isAwaiting) return;
    this.isAwaiting = true;
    this.delay(() => {
      this.isAwaiting = false;
      // Another connection began meanwhile.
      if (suspect.waitMs() > 0) this.#awaitTrial();
      else this.handlers.go();
    }, suspect.waitMs());
  }

  /** The suspect goes alone. REQUIRES: it stands aside, nothing is in flight. @param {Stage | undefined} stage of its batch */
  try(stage) {
    const { suspect, packet, link } = this;
    const slot = /** @type {Slot} */ (suspect.slot);
    if (!stage || !link || !packet.prepare(slot, suspect.packet, stage, link)) return;
    slot.sendAgain(suspect.packet);
    suspect.tried();
    this.#write(slot, suspect.packet, stage);
  }

  /** Nothing is suspected any more; what stood aside goes on. */
  #acquit() {
    for (const slot of this.suspect.clear()) if (slot.resume()) this.handlers.again(slot);
  }

  /** The suspect is too large: it is cut, or it is a dead letter. REQUIRES: disconnected() said so. */
  convict() {
    const { suspect } = this;
    const slot = /** @type {Slot} */ (suspect.slot);
    const { packet, size } = suspect;
    slot.sendAgain(packet);
    if (slot.split(packet)) this.handlers.again(slot);
    else {
      slot.pending--;
      this.#bury(slot, packet, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, tooLargeByProof(size));
      if (slot.open === 0) this.handlers.settled(slot);
    }
    this.#acquit();
  }
}

/** @param {number} size @param {number} limit */
function tooLarge(size, limit) {
  return `A record was refused: its packet has ${size} bytes and the broker takes ${limit}. Raise the broker's limit, or let the device send less at once.`;
}

/** @param {number} size */
function tooLargeByProof(size) {
  return `A record was refused: its packet has ${size} bytes, and the broker closes the connection on it alone. Raise the broker's packet limit.`;
}

exports.Sender = Sender;
