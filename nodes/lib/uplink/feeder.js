'use strict';

const { Slot, AGAIN, NEW } = require('./slot');
const { Queues } = require('./queues');
const { Sender } = require('./sender');

/** @typedef {import('./stage').Stage} Stage */
/** @typedef {import('../../../native').UplinkSource} UplinkSource */

/**
 * @typedef {object} Link what the broker granted
 * @property {number} protocolVersion 4 or 5
 * @property {number} receiveMaximum
 * @property {number} maximumPacketSize 0 = no limit that it told
 * @property {number} maximumQos
 * @property {boolean} retainAvailable
 */

/**
 * @typedef {object} FeederOptions
 * @property {import('./window').Window} window
 * @property {import('./output').Output} output
 * @property {import('./pacer').Pacer} pacer
 * @property {() => void} schedule asks for a pump() later in this turn of the loop
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem a record was refused, or cannot be sent
 * @property {number} [retryMs] wait after a refusal that looks final, default 1000
 */

const META_FIELDS = 16;
const TURN_MS = 4;
const SPARE_SLOTS = 64;
const EMPTY = -1;

/**
 * Pulls batches from the engine and turns them into PUBLISH packets while the window has room: live before backlog, best class
 * first.
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
    this.pacer = options.pacer;
    this.schedule = options.schedule;
    this.delay = options.delay;
    this.now = options.now;
    this.problem = options.problem;
    this.sender = new Sender(options, {
      settled: (slot) => this.#release(slot),
      again: (slot) => {
        this.queues.add(slot);
        this.schedule();
      },
      roomier: () => {
        if (this.isBlocked) this.schedule();
      },
      go: () => this.schedule()
    });

    /** @type {UplinkSource | null} */
    this.source = null;
    /** @type {Map<number, Stage>} */
    this.stages = new Map();
    this.taking = true;
    /** Nothing is sent: the connection is about to be renewed. */
    this.isPaused = false;
    this.stageMissing = false;
    /** The last pump ended for want of room: the next acknowledgement must start another. Otherwise the doorbell does. */
    this.isBlocked = false;
    /** A timer will pump when the backlog may go on. */
    this.isPacing = false;

    /** Taken and not released, in the order they were taken. @type {Set<Slot>} */
    this.taken = new Set();
    this.liveTaken = 0;
    this.queues = new Queues();
    /** @type {Slot[]} */
    this.spare = [];
    this.order = 0;
    this.meta = new Float64Array(META_FIELDS);
  }

  /** @param {UplinkSource} source */
  attach(source) {
    this.source = source;
    this.schedule();
  }

  /** Forgets the engine; it gives un-released batches out again. Late acknowledgements find no batch. */
  detach() {
    this.sender.abandon();
    this.taken.clear();
    this.liveTaken = 0;
    this.queues.clear();
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
    this.isPaused = false;
    this.sender.connected(link, write);
    this.schedule();
  }

  /** @param {boolean} [byBroker] it closed the connection: no time-out of ours, no lost network */
  disconnected(byBroker = false) {
    if (!this.sender.link) return;
    this.queues.clear();
    const isTooLarge = this.sender.disconnected(byBroker, this.taken);
    for (const slot of this.taken) if (slot.pending > 0) this.queues.add(slot);
    if (isTooLarge) this.sender.convict();
  }

  needsQos1() {
    for (const stage of this.stages.values()) if (stage.qos > 0) return true;
    return false;
  }

  /** True when no live batch is taken and none waits. The backlog is on disk and can wait. */
  idle() {
    return this.liveTaken === 0 && (!this.source || this.source.best() === 0);
  }

  /** Age of the oldest batch without an acknowledgement, ms; -1 = none. */
  oldestMs() {
    const live = this.source ? this.source.oldestMs() : -1;
    for (const slot of this.taken) return Math.max(live, this.now() - slot.takenAt);
    return live;
  }

  /** Sends what there is room for, at most some ms. */
  pump() {
    const { suspect, link } = this.sender;
    if (!link || this.isPaused || this.sender.quota.waitMs > 0) return;
    if (suspect.isOnTrial) return;
    this.isBlocked = suspect.isAside;
    if (!suspect.isTime) this.#sendAll();
    // Alone on its way: when others were taken here for a while, or when there are no others.
    if (suspect.isDue && this.window.inflight === 0 && this.window.room > 0) {
      this.sender.try(this.stages.get(suspect.slot?.stage ?? 0));
    }
    this.output.flush();
  }

  #sendAll() {
    const until = this.now() + TURN_MS;
    while (this.window.room > 0) {
      if (!this.#sendNext()) return;
      if (this.now() > until) {
        this.schedule();
        return;
      }
    }
    this.isBlocked = true;
  }

  /** @returns {boolean} false when there is nothing that may go now */
  #sendNext() {
    const { queues, source } = this;
    const mayTake = this.taking && !this.stageMissing && source !== null;
    const ready = mayTake ? source.best() : 0;
    const begun = queues.best(queues.live);
    if (begun !== 0 && (ready === 0 || begun <= ready)) return this.#sendFirstOf(queues.live[begun]);
    if (ready !== 0) return this.#take(false);
    return this.#sendBacklog(mayTake);
  }

  /** @param {boolean} mayTake */
  #sendBacklog(mayTake) {
    const { queues } = this;
    const begun = queues.best(queues.backlog);
    const ready = mayTake ? /** @type {UplinkSource} */ (this.source).bestBacklog() : 0;
    if (begun === 0 && ready === 0) return false;
    if (this.#roomForBacklog() <= 0) {
      this.isBlocked = true;
      return false;
    }
    if (begun !== 0 && (ready === 0 || begun <= ready)) return this.#sendFirstOf(queues.backlog[begun]);
    const wait = this.pacer.waitMs();
    if (wait === 0) return this.#take(true);
    if (!this.isPacing) {
      this.isPacing = true;
      this.delay(() => {
        this.isPacing = false;
        this.schedule();
      }, wait);
    }
    // What was begun is paid for, however urgent the next one is.
    return begun !== 0 && this.#sendFirstOf(queues.backlog[begun]);
  }

  #roomForBacklog() {
    return this.pacer.places(this.window.limit) - this.window.backlog;
  }

  /** @param {boolean} backlog */
  #take(backlog) {
    const source = /** @type {UplinkSource} */ (this.source);
    const slot = this.spare.pop() ?? new Slot();
    let length = source.take(slot.buffer, this.meta, backlog);
    if (length < EMPTY) {
      slot.grow(-length - 2);
      length = source.take(slot.buffer, this.meta, backlog);
    }
    if (length < 0) {
      this.spare.push(slot);
      // A more urgent and larger batch may have come between the two: then it is tried again.
      if (length < EMPTY) this.schedule();
      return false;
    }
    slot.load(length, this.meta, ++this.order, this.now());
    if (slot.isBacklog) this.pacer.spend(slot.records);
    else this.liveTaken++;
    this.taken.add(slot);
    if (slot.open === 0) this.#release(slot);
    else this.queues.add(slot);
    return true;
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
    while (slot.next < slot.count && this.window.room > 0) {
      if (slot.isBacklog && this.#roomForBacklog() <= 0) break;
      const state = slot.states[slot.next];
      // A packet that was cut leaves its first half in its place.
      if ((state === NEW || state === AGAIN) && !this.sender.send(slot, slot.next, stage)) continue;
      slot.next++;
    }
    if (slot.pending === 0) {
      queue.shift();
      slot.queued = false;
      if (slot.open === 0) this.#release(slot);
    }
    return true;
  }

  /** @param {Slot} slot */
  #release(slot) {
    const source = /** @type {UplinkSource} */ (this.source);
    this.taken.delete(slot);
    if (!slot.isBacklog) this.liveTaken--;
    if (slot.dead) source.release(slot.id, slot.dead, slot.deadCode, slot.deadReason);
    else source.release(slot.id);
    slot.shrink();
    if (this.spare.length < SPARE_SLOTS) this.spare.push(slot);
  }
}

exports.Feeder = Feeder;
