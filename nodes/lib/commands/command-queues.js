'use strict';
// The command queues of one engine, one for each device. A device has one command in flight at a time, so that commands
// arrive in order. A command that cannot be delivered immediately is stored on disk, and then counts as accepted.
//
//   submit ─▶ queue of the device ─▶ attempt ─▶ taken, refused
//                    ▲      │ not reachable, or no result after patienceMs
//          wake(), tick()   └─▶ store: 'queued'
//
// A command to a topic that its connected device does not listen to is skipped, with all later ones to that topic, so
// that it does not hold up the others. The device's next subscription wakes the skipped ones. While a device has only
// just connected or subscribed, its other subscriptions may be on their way: nothing is skipped for settleMs, so that
// commands for these arrive in order.
//
// Each sender may have one leading command for a device, before all others, which only the sender keeps: its next one
// replaces it.
//
// Pure: the caller provides the clock, and calls tick() once a second.

const { CommandRoom } = require('./command-room');
const { allOf, emptyQueue, gather, remove, skip } = require('./device-queue');

/** @typedef {import('./command').Command} Command */
/** @typedef {import('./command').Status} Status */
/** @typedef {import('./device-queue').Entry} Entry */
/** @typedef {import('./device-queue').Queue} Queue */

/**
 * The result of an attempt. 'offline': try again when the device is reachable. 'unheard': it is, and does not listen to
 * the topic. isDoubtful: the device may have got the command all the same.
 * @typedef {{ end: 'taken' | 'refused' | 'offline' | 'unheard' | 'busy' | 'timeout', reason?: string,
 *   isDoubtful?: boolean }} Outcome
 *
 * Gets 'queued' at most once, and then the final status. 'closed': the engine stopped, and the command is not stored.
 * @typedef {(status: Status | 'closed', reason: string) => void} Watch
 *
 * Where a command is stored: a row on disk, or the text by which gateways that share it name it. 0 = not stored.
 * @typedef {number | string} Row
 *
 * @typedef {object} Storage stores commands on disk
 * @property {(command: Command, done: (error: Error | null, row: Row) => void) => void} add
 * @property {(row: Row, outcome: { status: Status, reason: string }) => void} remove
 *
 * @typedef {object} QueuesParts
 * @property {(command: Command, done: (outcome: Outcome) => void) => void} attempt calls done once, possibly before it
 *   returns
 * @property {Storage} storage
 * @property {() => number} now ms, monotonic
 * @property {() => number} wall ms since 1970
 * @property {Partial<typeof LIMITS>} [limits]
 * @property {() => void} [began] called when there is a command, after there was none: the ticks must begin
 *
 * @typedef {object} Leading follows a leading command
 * @property {string} [sender] who keeps it, default ''
 * @property {(status: 'taken' | 'refused' | 'timeout', reason: string) => void} ended
 * @property {() => void} doubted called when the device may have got it without an acknowledgement; it is tried again
 */

const LIMITS = {
  perDevice: 100,
  total: 10000,
  totalBytes: 16 << 20,
  /** Part of both that the commands of one tenant may use. */
  tenantShare: 0.1,
  /** Longest wait for 'taken' before the command is stored. */
  patienceMs: 1000,
  /** An attempt without a result times out after this time, which is longer than the engine's own timeout. */
  attemptMs: 15000,
  /** Most attempts of one command that may time out. */
  attempts: 3,
  retryMs: 1000,
  /** Time after a wake() in which no command is skipped. */
  settleMs: 2000,
  /** Interval of attempts without a wake(), because an event may be lost. */
  sweepMs: 30000,
  sweepsPerTick: 200
};
/** An engine does not take part any more, and the others go on. */
const NOT_SHARED = 'The command is left to the other gateways.';
const UNHEARD = 'The device is connected but does not subscribe to this topic.';

class CommandQueues {
  #attempt;
  #storage;
  #now;
  #wall;
  #began;
  /** @type {Map<string, Queue>} by device */
  #queues;
  #room;
  #closed;
  #lastNumber = 0;

  /** @param {QueuesParts} parts */
  constructor({ attempt, storage, now, wall, limits = {}, began = () => {} }) {
    this.#attempt = attempt;
    this.#storage = storage;
    this.#now = now;
    this.#wall = wall;
    this.#began = began;
    this.limits = { ...LIMITS, ...limits };
    this.#queues = new Map();
    this.#room = new CommandRoom(this.limits);
    this.#closed = false;
    /** @type {Record<Status, number>} */
    this.counters = { taken: 0, queued: 0, expired: 0, refused: 0, timeout: 0, full: 0 };
  }

  /**
   * @param {Command} command
   * @param {Watch} watch
   */
  submit(command, watch) {
    const full = this.#room.fullFor(command, this.#queues.get(command.device)?.size ?? 0);
    if (command.expiresAt <= this.#wall())
      this.#tell(watch, 'expired', 'The command had expired when it arrived.');
    else if (full) this.#tell(watch, 'full', full);
    else this.#enter(command, watch, 0);
  }

  /**
   * Sends a command before all that wait for the device. It replaces an earlier leading one of the same sender, unless
   * that is in flight and is taken or refused. It is not stored, does not expire, and no limit refuses it.
   * @param {Command} command
   * @param {Leading} follower
   */
  lead(command, { ended, doubted, sender = '' }) {
    this.retract(command.device, sender);
    /** @type {Watch} */
    const watch = (status, reason) => {
      if (status === 'taken' || status === 'refused' || status === 'timeout') ended(status, reason);
    };
    this.#enter({ ...command, expiresAt: Infinity }, watch, 0, doubted, sender);
  }

  /**
   * Removes the leading command of a sender for a device. One in flight stays.
   * @param {string} device
   * @param {string} [sender]
   * @returns {boolean} false: one is in flight
   */
  retract(device, sender = '') {
    const queue = this.#queues.get(device);
    const isOwn = (/** @type {Entry} */ each) => each.doubted !== null && each.sender === sender;
    const entry = queue && allOf(queue).find((each) => isOwn(each) && each !== queue.busy);
    if (queue && entry) this.#leave(queue, entry);
    return !(queue?.busy && isOwn(queue.busy));
  }

  /**
   * Adds a command that an earlier run stored. It waits for the next tick or wake().
   * @param {Command} command
   * @param {Row} row
   * @param {Watch} watch
   */
  restore(command, row, watch) {
    const queue = this.#queueOf(command.device);
    queue.parkedUntil ||= this.#now();
    this.#enter(command, watch, row);
  }

  /**
   * Call it when the device may be reachable.
   * @param {string} device
   * @returns {boolean} true if a command waits for it
   */
  wake(device) {
    const queue = this.#queues.get(device);
    if (!queue) return false;
    queue.changedAt = this.#now();
    queue.woken = queue.busy !== null;
    gather(queue);
    this.#resume(queue);
    return true;
  }

  /**
   * Ends a command whose outcome another gateway, or another engine, has found. No effect for an unknown one.
   * @param {string} device
   * @param {string} row
   * @param {Status | 'closed'} status closed: it is not shared any more
   * @param {string} reason
   */
  endShared(device, row, status, reason) {
    const queue = this.#queues.get(device);
    const entry = queue && allOf(queue).find((each) => each.row === row);
    if (!queue || !entry) return;
    const isBusy = queue.busy === entry;
    if (isBusy) {
      queue.busy = null;
      // The result of the attempt does not count.
      queue.attempt++;
    }
    this.#leave(queue, entry);
    entry.watch(status, reason);
    if (isBusy) this.#pump(queue);
  }

  /** Ends all shared commands with 'closed'. */
  endAllShared() {
    for (const [device, queue] of [...this.#queues]) {
      for (const { row } of allOf(queue))
        if (typeof row === 'string') this.endShared(device, row, 'closed', NOT_SHARED);
    }
  }

  /** @param {(device: string) => boolean} matches */
  wakeAll(matches) {
    for (const device of [...this.#queues.keys()]) if (matches(device)) this.wake(device);
  }

  get isEmpty() {
    return this.#queues.size === 0;
  }

  /** Call it once a second. */
  tick() {
    const now = this.#now();
    let sweeps = this.limits.sweepsPerTick;
    for (const queue of [...this.#queues.values()]) {
      for (const entry of allOf(queue)) {
        if (entry !== queue.busy && entry.expiresAt <= now) this.#finish(queue, entry, 'expired', '');
        else if (now - entry.at >= this.limits.patienceMs)
          this.#keep(queue, entry, 'The device has not acknowledged the command yet.');
      }
      if (queue.busy && now - queue.busySince >= this.limits.attemptMs) {
        this.#settle(queue, queue.attempt, { end: 'timeout', reason: 'The device did not answer.' });
      }
      if (queue.parkedUntil > 0 && queue.parkedUntil <= now && sweeps-- > 0) {
        this.#resume(queue);
      } else if (queue.skipped.size > 0 && queue.listenAt <= now && sweeps > 0) {
        sweeps -= queue.skipped.size;
        gather(queue);
        this.#pump(queue);
      }
    }
  }

  /** Ends the commands that are not stored with 'closed'. */
  close() {
    this.#closed = true;
    for (const queue of this.#queues.values()) {
      for (const { row, watch } of allOf(queue)) if (row === 0) watch('closed', 'The engine stopped.');
    }
    this.#queues.clear();
  }

  /** @returns {{ waiting: number, waitingBytes: number, devices: number } & Record<Status, number>} */
  view() {
    return {
      waiting: this.#room.size,
      waitingBytes: this.#room.bytes,
      devices: this.#queues.size,
      ...this.counters
    };
  }

  /** @param {string} device */
  #queueOf(device) {
    let queue = this.#queues.get(device);
    if (!queue) {
      queue = emptyQueue(this.#now());
      this.#queues.set(device, queue);
      if (this.#queues.size === 1) this.#began();
    }
    return queue;
  }

  /**
   * @param {Command} command
   * @param {Watch} watch
   * @param {Row} row
   * @param {(() => void) | null} [doubted] of a leading command
   * @param {string} [sender] of a leading command
   */
  #enter(command, watch, row, doubted = null, sender = '') {
    const queue = this.#queueOf(command.device);
    const at = this.#now();
    // On the monotonic clock, because the wall clock may be set while the command waits.
    const expiresAt = at + command.expiresAt - this.#wall();
    const states = { storing: false, outcome: null, skipped: false };
    const number = doubted ? 0 : ++this.#lastNumber;
    const entry = { command, watch, doubted, sender, at, expiresAt, row, ...states, number, attempts: 0 };
    if (doubted) queue.entries.splice(queue.busy ? 1 : 0, 0, entry);
    else queue.entries.push(entry);
    queue.size++;
    if (!doubted) this.#room.count(command, 1);
    if (queue.parkedUntil === 0) this.#pump(queue);
    else if (!queue.settling) this.#keep(queue, entry, '');
  }

  /** @param {Queue} queue */
  #pump(queue) {
    // A carrier may answer before it returns. The loop avoids a deep recursion.
    if (queue.pumping) return;
    queue.pumping = true;
    while (!queue.busy && queue.parkedUntil === 0 && queue.entries.length > 0 && !this.#closed) {
      const [first] = queue.entries;
      if (queue.skipped.has(first.command.topic)) {
        this.#skip(queue, first, UNHEARD);
        continue;
      }
      const attempt = ++queue.attempt;
      queue.busy = first;
      queue.busySince = this.#now();
      queue.woken = false;
      const done = (/** @type {Outcome} */ outcome) => {
        if (this.#settle(queue, attempt, outcome)) this.#pump(queue);
      };
      try {
        this.#attempt(first.command, done);
      } catch (error) {
        done({ end: 'refused', reason: error instanceof Error ? error.message : String(error) });
      }
    }
    queue.pumping = false;
  }

  /**
   * @param {Queue} queue
   * @param {number} attempt
   * @param {Outcome} outcome
   * @returns {boolean} true if the next attempt may start
   */
  #settle(queue, attempt, { end, reason = '', isDoubtful = end === 'timeout' }) {
    const entry = queue.busy;
    if (!entry || queue.attempt !== attempt || this.#closed) return false;
    queue.busy = null;
    if (isDoubtful) entry.doubted?.();
    if (end === 'taken' || end === 'refused') this.#finish(queue, entry, end, reason);
    else if (this.#isReplaced(queue, entry)) this.#leave(queue, entry);
    else if (end === 'timeout' && ++entry.attempts >= this.limits.attempts)
      this.#finish(queue, entry, end, reason);
    else if (end === 'unheard') this.#unheard(queue, entry, reason);
    else if (end !== 'offline') this.#park(queue, this.limits.retryMs, reason);
    else if (!queue.woken) {
      // The device begins again, with other subscriptions perhaps.
      gather(queue);
      this.#park(queue, this.limits.sweepMs, reason);
    }
    return true;
  }

  /**
   * True for a leading command if the next one of its sender came while it was in flight.
   * @param {Queue} queue
   * @param {Entry} entry
   */
  #isReplaced(queue, entry) {
    if (!entry.doubted) return false;
    return allOf(queue).some((each) => each !== entry && each.doubted && each.sender === entry.sender);
  }

  /**
   * @param {Queue} queue
   * @param {Entry} entry of which the attempt just ended
   * @param {string} reason
   */
  #unheard(queue, entry, reason) {
    if (queue.woken) return;
    const settledAt = queue.changedAt + this.limits.settleMs;
    if (this.#now() >= settledAt) return this.#skip(queue, entry, reason);
    this.#keep(queue, entry, reason);
    // A QoS 0 command is not kept.
    if (entry.outcome) return;
    queue.settling = true;
    queue.parkedUntil = settledAt;
  }

  /**
   * @param {Queue} queue
   * @param {Entry} entry not in flight
   * @param {string} reason
   */
  #skip(queue, entry, reason) {
    if (queue.skipped.size === 0) queue.listenAt = this.#now() + this.limits.sweepMs;
    skip(queue, entry);
    this.#keep(queue, entry, reason);
  }

  /** Ends the parking. @param {Queue} queue */
  #resume(queue) {
    queue.parkedUntil = 0;
    queue.settling = false;
    this.#pump(queue);
  }

  /**
   * @param {Queue} queue
   * @param {number} waitMs
   * @param {string} reason
   */
  #park(queue, waitMs, reason) {
    queue.parkedUntil = this.#now() + waitMs;
    for (const entry of [...queue.entries]) this.#keep(queue, entry, reason);
  }

  /**
   * @param {Queue} queue
   * @param {Entry} entry
   * @param {string} why the command waits, '' = the device is not reachable
   */
  #keep(queue, entry, why) {
    const reason = why || 'The device is not connected.';
    if (entry.row !== 0 || entry.storing || entry.doubted) return;
    if (entry.command.qos === 0) {
      if (entry !== queue.busy)
        this.#finish(queue, entry, 'expired', `${reason} A command with QoS 0 is not kept.`);
      return;
    }
    entry.storing = true;
    this.#storage.add(entry.command, (error, row) => {
      entry.storing = false;
      if (this.#closed) return;
      if (entry.outcome) {
        if (!error) this.#storage.remove(row, entry.outcome);
      } else if (!error) {
        entry.row = row;
        this.#tell(entry.watch, 'queued', reason);
      } else if (entry !== queue.busy) {
        this.#finish(queue, entry, 'full', `The gateway cannot keep the command: ${error.message}`);
      }
    });
  }

  /**
   * @param {Queue} queue
   * @param {Entry} entry
   * @param {Status} status
   * @param {string} reason
   */
  #finish(queue, entry, status, reason) {
    entry.outcome = { status, reason };
    this.#leave(queue, entry);
    if (entry.row !== 0) this.#storage.remove(entry.row, entry.outcome);
    this.#tell(entry.watch, status, reason);
  }

  /** @param {Queue} queue @param {Entry} entry not in flight */
  #leave(queue, entry) {
    const { command } = entry;
    remove(queue, entry);
    if (!entry.doubted) this.#room.count(command, -1);
    if (queue.size === 0) this.#queues.delete(command.device);
  }

  /**
   * @param {Watch} watch
   * @param {Status} status
   * @param {string} reason
   */
  #tell(watch, status, reason) {
    this.counters[status]++;
    watch(status, reason);
  }
}

module.exports = { CommandQueues, NOT_SHARED, UNHEARD };
