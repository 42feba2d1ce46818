'use strict';

const { Slot, NEW, SENT, DONE, AGAIN, LATER } = require('./slot');
const { MAX_TOPIC_BYTES, topicBytes, topicIsValid } = require('./topics');
const { RETAIN_FLAG, packetLength, remainingLength, writePublish } = require('./publish');
const { refusalName } = require('./reasons');

/** @typedef {import('./topics').CompiledTopic} CompiledTopic */
/** @typedef {import('./topics').Part} Part */
/** @typedef {{topic: CompiledTopic, recordTopic: CompiledTopic, qos: 0 | 1}} Stage */
/** @typedef {import('../../../native').UplinkSource} UplinkSource */

/**
 * @typedef {object} Link what the broker granted
 * @property {number} protocolVersion 4 or 5
 * @property {number} receiveMaximum
 * @property {number} maximumPacketSize 0 = no limit
 * @property {number} maximumQos
 * @property {boolean} retainAvailable
 */

/**
 * @typedef {object} FeederOptions
 * @property {import('./window').Window} window
 * @property {import('./output').Output} output
 * @property {() => void} schedule asks for a pump() later in this turn of the loop
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem a record was refused, or cannot be sent
 * @property {number} [retryMs] wait after a refusal, default 1000
 */

const META_FIELDS = 12;
const CLASSES = 4;
const ENVELOPE_KIND = 1;
const MAX_TRIES = 5;
const TURN_MS = 4;
const SPARE_SLOTS = 64;
const EMPTY = -1;

/**
 * Pulls batches from the engine and turns them into PUBLISH packets while the window has room; best class first.
 *
 * It is the only owner of what is in flight. mqtt.js never sees a PUBLISH: its outgoing store copies each packet and sends
 * them again one a round trip, before it says that it is connected. Here a batch keeps its bytes until it is released, a lost
 * connection makes its packets pending again, and pending packets of a class always go before new batches of that class.
 * Nothing depends on what the broker remembers.
 */
class Feeder {
  /** @param {FeederOptions} options */
  constructor(options) {
    this.window = options.window;
    this.output = options.output;
    this.schedule = options.schedule;
    this.delay = options.delay;
    this.now = options.now;
    this.problem = options.problem;
    this.retryMs = options.retryMs ?? 1000;

    /** @type {UplinkSource | null} */
    this.source = null;
    /** @type {Link | null} */
    this.link = null;
    /** @type {Map<number, Stage>} */
    this.stages = new Map();
    this.taking = true;
    this.stageMissing = false;
    /** The last pump ended for want of room: the next acknowledgement must start another. Otherwise the doorbell does. */
    this.isBlocked = false;

    /** Taken and not released, in the order they were taken. @type {Set<Slot>} */
    this.taken = new Set();
    /** Those with something to send, by class, in the order they were taken. @type {Slot[][]} */
    this.queues = Array.from({ length: CLASSES + 1 }, () => []);
    /** @type {Slot[]} */
    this.spare = [];
    this.order = 0;
    this.meta = new Float64Array(META_FIELDS);

    this.published = 0;
    this.acknowledged = 0;
    this.redelivered = 0;
    this.failed = 0;
    this.rttMs = 0;
    this.sampleId = 0;
    this.sampleAt = 0;
    /** When the broker or the socket last took something from us. */
    this.progressAt = 0;
  }

  /** @param {UplinkSource} source */
  attach(source) {
    this.source = source;
    this.schedule();
  }

  /** Forgets the engine; it gives un-released batches out again. Late acknowledgements find no batch. */
  detach() {
    this.window.abandon();
    this.taken.clear();
    for (const queue of this.queues) queue.length = 0;
    this.source?.close();
    this.source = null;
  }

  /** Adds or replaces stages. Earlier ones stay known: their batches may still be on the way. @param {Map<number, Stage>} stages */
  setStages(stages) {
    for (const [id, stage] of stages) this.stages.set(id, stage);
    this.stageMissing = false;
    this.schedule();
  }

  /** @param {Link} link @param {import('./output').Write} write */
  connected(link, write) {
    this.link = link;
    this.window.setLimit(link.receiveMaximum);
    this.output.open(write);
    this.progressAt = this.now();
    this.schedule();
  }

  disconnected() {
    if (!this.link) return;
    this.link = null;
    this.sampleId = 0;
    this.output.close();
    this.window.reset();
    for (const queue of this.queues) queue.length = 0;
    for (const slot of this.taken) {
      slot.rewind();
      slot.queued = slot.pending > 0;
      if (slot.queued) this.queues[slot.class].push(slot);
    }
  }

  needsQos1() {
    for (const stage of this.stages.values()) if (stage.qos > 0) return true;
    return false;
  }

  /** True when nothing is taken and nothing waits. */
  idle() {
    return this.taken.size === 0 && (!this.source || this.source.best() === 0);
  }

  /** Sends what there is room for, at most some ms. */
  pump() {
    if (!this.link) return;
    const until = this.now() + TURN_MS;
    while (this.window.room > 0) {
      const ready = this.taking && !this.stageMissing && this.source ? this.source.best() : 0;
      const begun = this.#begunClass();
      if (begun !== 0 && (ready === 0 || begun <= ready)) {
        if (!this.#sendFirstOf(this.queues[begun])) break;
      } else if (ready === 0 || !this.#take()) break;
      if (this.now() > until) {
        this.schedule();
        break;
      }
    }
    this.isBlocked = this.window.room <= 0;
    this.output.flush();
  }

  #begunClass() {
    for (let c = 1; c <= CLASSES; c++) if (this.queues[c].length > 0) return c;
    return 0;
  }

  #take() {
    const source = /** @type {UplinkSource} */ (this.source);
    const slot = this.spare.pop() ?? new Slot();
    let length = source.take(slot.buffer, this.meta);
    if (length < EMPTY) {
      slot.grow(-length - 2);
      length = source.take(slot.buffer, this.meta);
    }
    if (length < 0) {
      this.spare.push(slot);
      // A more urgent and larger batch may have come between the two: then it is tried again.
      if (length < EMPTY) this.schedule();
      return false;
    }
    slot.load(length, this.meta, ++this.order);
    this.taken.add(slot);
    if (slot.open === 0) this.#release(slot);
    else this.#enqueue(slot);
    return true;
  }

  /** @param {Slot} slot */
  #enqueue(slot) {
    if (slot.queued) return;
    const queue = this.queues[slot.class];
    let at = queue.length;
    while (at > 0 && queue[at - 1].order > slot.order) at--;
    queue.splice(at, 0, slot);
    slot.queued = true;
  }

  /** @param {Slot[]} queue @returns {boolean} false when its stage is not known yet */
  #sendFirstOf(queue) {
    const slot = queue[0];
    const stage = this.stages.get(slot.stage);
    if (!stage) {
      this.stageMissing = true;
      this.problem(
        'NO_STAGE',
        `A batch waits: the topic of its uplink node (stage ${slot.stage}) is not known yet.`
      );
      return false;
    }
    const { states } = slot;
    for (; slot.next < slot.count && this.window.room > 0; slot.next++) {
      const state = states[slot.next];
      if (state === NEW || state === AGAIN) this.#publish(slot, slot.next, stage);
    }
    if (slot.pending === 0) {
      queue.shift();
      slot.queued = false;
      if (slot.open === 0) this.#release(slot);
    }
    return true;
  }

  /** @param {Slot} slot @param {number} record @param {Stage} stage */
  #publish(slot, record, stage) {
    const link = /** @type {Link} */ (this.link);
    slot.pending--;
    slot.locate(record);
    let parts = (slot.kind === ENVELOPE_KIND ? stage.topic : stage.recordTopic).parts[slot.class];
    let topicLength = topicBytes(parts, slot);
    if (topicLength === 0) {
      // A record without a topic of its own goes where envelopes go.
      parts = stage.topic.parts[slot.class];
      topicLength = topicBytes(parts, slot);
    }
    const isV5 = link.protocolVersion === 5;
    const size = packetLength(
      remainingLength(topicLength, slot.payloadEnd - slot.payloadAt, stage.qos, isV5)
    );
    if (!this.#isSendable(slot, topicLength, size, link)) {
      this.#refuse(slot, record);
      return;
    }

    const now = this.now();
    const isAgain = slot.states[record] === AGAIN;
    const retain = (slot.flags & RETAIN_FLAG) !== 0 && link.retainAvailable;
    const id = this.window.open(slot, record, now);
    const wireId = stage.qos ? id : 0;
    const { output } = this;
    const out = output.reserve(size);
    output.end = writePublish(out, output.end, slot, parts, topicLength, wireId, isAgain, retain, isV5);
    if (!stage.qos) output.doneWhenWritten(id);

    slot.states[record] = SENT;
    if (isAgain) this.redelivered++;
    else this.published++;
    if (this.sampleId === 0 && stage.qos) {
      this.sampleId = id;
      this.sampleAt = now;
    }
  }

  /** @param {Slot} slot @param {number} topicLength @param {number} size @param {Link} link */
  #isSendable(slot, topicLength, size, link) {
    if (topicLength === 0 || topicLength > MAX_TOPIC_BYTES || !topicIsValid(slot)) {
      this.problem(
        'BAD_TOPIC',
        'A record was refused: its topic is empty, too long or has + # or NUL in it.'
      );
      return false;
    }
    // [MQTT-3.2.2-15] Not more than the broker's Maximum Packet Size.
    if (link.maximumPacketSize > 0 && size > link.maximumPacketSize) {
      this.problem(
        'PACKET_TOO_LARGE',
        `A batch was refused: its packet has ${size} bytes and the broker takes ${link.maximumPacketSize}. Lower the batch's bytes.`
      );
      return false;
    }
    return true;
  }

  /** Gives a record up. The caller releases the batch when nothing of it is open. @param {Slot} slot @param {number} record */
  #refuse(slot, record) {
    slot.states[record] = DONE;
    slot.open--;
    slot.refused++;
    this.failed++;
  }

  /** A batch of which one record was refused is not called delivered. @param {Slot} slot */
  #release(slot) {
    this.taken.delete(slot);
    /** @type {UplinkSource} */ (this.source).release(slot.id, slot.refused === 0);
    slot.shrink();
    if (this.spare.length < SPARE_SLOTS) this.spare.push(slot);
  }

  /** A PUBACK. @param {number} id packet identifier @param {number} reasonCode 0 in MQTT 3.1.1 */
  acknowledge(id, reasonCode) {
    const { window } = this;
    if (!window.isOpen(id)) return;
    const slot = window.slots[id];
    const record = window.records[id];
    window.close(id);
    const now = this.now();
    this.progressAt = now;
    if (id === this.sampleId) {
      const sample = now - this.sampleAt;
      this.rttMs = this.rttMs === 0 ? sample : this.rttMs + (sample - this.rttMs) / 8;
      this.sampleId = 0;
    }
    if (this.isBlocked) this.schedule();
    if (!slot) return;
    if (reasonCode >= 0x80) this.#refused(slot, record, reasonCode);
    else {
      this.acknowledged++;
      slot.states[record] = DONE;
      slot.open--;
    }
    if (slot.open === 0) this.#release(slot);
  }

  /**
   * Sends a refused record again after a while; the fifth refusal is final. Until then it keeps its place in the window, so a
   * broker that refuses everything slows us down instead of filling the memory.
   * @param {Slot} slot @param {number} record @param {number} reasonCode
   */
  #refused(slot, record, reasonCode) {
    slot.tries[record]++;
    const code = `PUBACK_${reasonCode}`;
    if (slot.tries[record] >= MAX_TRIES) {
      this.problem(
        code,
        `The broker refused a record ${MAX_TRIES} times (${refusalName(reasonCode)}); it is dropped.`
      );
      this.#refuse(slot, record);
      return;
    }
    slot.states[record] = LATER;
    this.window.waiting++;
    const { order } = slot;
    this.delay(() => {
      // Another life of the slot, or the record was rewound by a reconnect meanwhile.
      if (slot.order !== order || !this.taken.has(slot) || slot.states[record] !== LATER) return;
      this.window.waiting--;
      slot.sendAgain(record);
      this.#enqueue(slot);
      this.schedule();
    }, this.retryMs);
  }

  /** A chunk went to the kernel; its QoS 0 packets are done. @param {number[]} ids */
  written(ids) {
    this.progressAt = this.now();
    for (const id of ids) this.acknowledge(id, 0);
  }

  /**
   * True when the connection looks dead: for so long neither the broker nor the socket took anything, or a packet was left
   * out while later ones were acknowledged. @param {number} timeoutMs
   */
  isStalled(timeoutMs) {
    const { window } = this;
    const id = this.link ? window.oldest() : 0;
    if (id === 0) return false;
    const now = this.now();
    if (now - window.sentAt[id] <= timeoutMs) return false;
    return window.serial[id] < window.ackedSerial || now - this.progressAt > timeoutMs;
  }
}

exports.Feeder = Feeder;
