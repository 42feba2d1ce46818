'use strict';
// The commands of one engine: a queue for each device, one command of a device on its way at a time, so that they arrive in
// order. What cannot be brought at once is kept on disk, and then counts as accepted.
//
//   submit ─▶ queue of the device ─▶ attempt ─▶ taken, refused
//                    ▲      │ not reachable, or it takes longer than PATIENCE_MS
//          wake(), tick()   └─▶ store: 'queued'
//
// Pure: its clock is given, and nothing happens by time but in tick(), once a second.

/** @typedef {import('./command').Command} Command */
/** @typedef {import('./command').Status} Status */

/**
 * What became of an attempt; 'offline': to be tried again when the device is there.
 * @typedef {{ end: 'taken' | 'refused' | 'offline' | 'busy' | 'timeout', reason?: string }} Outcome
 *
 * Told 'queued' at most once, and then the end; 'closed': the engine ended, and the command is not kept.
 * @typedef {(status: Status | 'closed', reason: string) => void} Watch
 *
 * @typedef {object} Shelf where commands are kept
 * @property {(command: Command, done: (error: Error | null, row: number) => void) => void} add
 * @property {(row: number) => void} remove
 *
 * @typedef {object} DeskParts
 * @property {(command: Command, done: (outcome: Outcome) => void) => void} attempt calls done once, perhaps at once
 * @property {Shelf} shelf
 * @property {() => number} now ms, monotonic
 * @property {() => number} wall ms since 1970
 * @property {Partial<typeof LIMITS>} [limits]
 *
 * @typedef {object} Entry
 * @property {Command} command @property {Watch} watch
 * @property {number} at when it came @property {number} expiresAt by the monotonic clock @property {number} row 0 = it is not on disk
 * @property {boolean} storing @property {boolean} ended @property {number} attempts that timed out
 *
 * @typedef {object} Queue of one device
 * @property {Entry[]} entries @property {Entry | null} busy the one that is on its way; its first one
 * @property {number} busySince @property {number} attempt which one is on its way
 * @property {number} parkedUntil 0 = not parked @property {boolean} woken while one was on its way
 * @property {boolean} pumping
 */

const LIMITS = {
  perDevice: 100,
  total: 10000,
  totalBytes: 16 << 20,
  /** How long somebody waits for 'taken' before the command is kept. */
  patienceMs: 1000,
  /** An attempt without any outcome counts as timed out. More than the engine's own time for it. */
  attemptMs: 15000,
  /** That time out, of one command. */
  attempts: 3,
  retryMs: 1000,
  /** Devices that said nothing are tried again all the same: an event may be lost. */
  sweepMs: 30000,
  sweepsPerTick: 200
};
/** What a command costs beyond its texts. */
const ENTRY_BYTES = 256;

class CommandQueues {
  /** @param {DeskParts} parts */
  constructor({ attempt, shelf, now, wall, limits = {} }) {
    this.attempt_ = attempt;
    this.shelf_ = shelf;
    this.now_ = now;
    this.wall_ = wall;
    this.limits = { ...LIMITS, ...limits };
    /** @type {Map<string, Queue>} by device */
    this.queues_ = new Map();
    this.size = 0;
    this.bytes = 0;
    this.closed_ = false;
    /** @type {Record<Status, number>} */
    this.counters = { taken: 0, queued: 0, expired: 0, refused: 0, timeout: 0, full: 0 };
  }

  /**
   * @param {Command} command
   * @param {Watch} watch
   */
  submit(command, watch) {
    const full = this.fullFor_(command);
    if (command.expiresAt <= this.wall_())
      this.tell_(watch, 'expired', 'The command had expired when it arrived.');
    else if (full) this.tell_(watch, 'full', full);
    else this.enter_(command, watch, 0);
  }

  /**
   * Takes a command back that an earlier run kept. It waits for the next tick, or its device.
   * @param {Command} command
   * @param {number} row
   * @param {Watch} watch
   */
  restore(command, row, watch) {
    const queue = this.queueOf_(command.device);
    queue.parkedUntil ||= this.now_();
    this.enter_(command, watch, row);
  }

  /**
   * The device may be there now.
   * @param {string} device
   * @returns {boolean} something waits for it
   */
  wake(device) {
    const queue = this.queues_.get(device);
    if (!queue) return false;
    queue.parkedUntil = 0;
    queue.woken = queue.busy !== null;
    this.pump_(queue);
    return true;
  }

  /** @param {(device: string) => boolean} matches */
  wakeAll(matches) {
    for (const device of [...this.queues_.keys()]) if (matches(device)) this.wake(device);
  }

  /** Once a second. */
  tick() {
    const now = this.now_();
    let sweeps = this.limits.sweepsPerTick;
    for (const queue of [...this.queues_.values()]) {
      for (const entry of [...queue.entries]) {
        if (entry !== queue.busy && entry.expiresAt <= now) this.finish_(queue, entry, 'expired', '');
        else if (now - entry.at >= this.limits.patienceMs)
          this.keep_(queue, entry, 'The device has not acknowledged the command yet.');
      }
      if (queue.busy && now - queue.busySince >= this.limits.attemptMs) {
        this.settle_(queue, queue.attempt, { end: 'timeout', reason: 'The device did not answer.' });
      }
      if (queue.parkedUntil > 0 && queue.parkedUntil <= now && sweeps-- > 0) {
        queue.parkedUntil = 0;
        this.pump_(queue);
      }
    }
  }

  /** Those that are not kept are given up by 'closed'. */
  close() {
    this.closed_ = true;
    for (const { entries } of this.queues_.values()) {
      for (const { row, watch } of entries) if (row === 0) watch('closed', 'The engine stopped.');
    }
    this.queues_.clear();
  }

  /** @returns {{ waiting: number, waitingBytes: number, devices: number } & Record<Status, number>} */
  view() {
    return {
      waiting: this.size,
      waitingBytes: this.bytes,
      devices: this.queues_.size,
      ...this.counters
    };
  }

  /**
   * @param {Command} command
   * @returns {string} why there is no room, '' when there is
   */
  fullFor_(command) {
    const { perDevice, total, totalBytes } = this.limits;
    const ofDevice = this.queues_.get(command.device)?.entries.length ?? 0;
    if (ofDevice >= perDevice) return `${perDevice} commands already wait for this device.`;
    if (this.size >= total) return `${total} commands already wait.`;
    return this.bytes + costOf(command) > totalBytes ? `${totalBytes} bytes of commands already wait.` : '';
  }

  /** @param {string} device */
  queueOf_(device) {
    let queue = this.queues_.get(device);
    if (!queue) {
      queue = {
        entries: [],
        busy: null,
        busySince: 0,
        attempt: 0,
        parkedUntil: 0,
        woken: false,
        pumping: false
      };
      this.queues_.set(device, queue);
    }
    return queue;
  }

  /**
   * @param {Command} command
   * @param {Watch} watch
   * @param {number} row
   */
  enter_(command, watch, row) {
    const queue = this.queueOf_(command.device);
    const at = this.now_();
    // The wall clock may be set while it waits.
    const expiresAt = at + command.expiresAt - this.wall_();
    const entry = { command, watch, at, expiresAt, row, storing: false, ended: false, attempts: 0 };
    queue.entries.push(entry);
    this.size++;
    this.bytes += costOf(command);
    if (queue.parkedUntil > 0) this.keep_(queue, entry, '');
    else this.pump_(queue);
  }

  /** @param {Queue} queue */
  pump_(queue) {
    // A carrier may answer at once: a loop, not a recursion of a hundred commands.
    if (queue.pumping) return;
    queue.pumping = true;
    while (!queue.busy && queue.parkedUntil === 0 && queue.entries.length > 0 && !this.closed_) {
      const attempt = ++queue.attempt;
      queue.busy = queue.entries[0];
      queue.busySince = this.now_();
      queue.woken = false;
      const done = (/** @type {Outcome} */ outcome) => {
        if (this.settle_(queue, attempt, outcome)) this.pump_(queue);
      };
      try {
        this.attempt_(queue.busy.command, done);
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
   * @returns {boolean} the next may go
   */
  settle_(queue, attempt, { end, reason = '' }) {
    const entry = queue.busy;
    if (!entry || queue.attempt !== attempt || this.closed_) return false;
    queue.busy = null;
    if (end === 'taken' || end === 'refused') this.finish_(queue, entry, end, reason);
    else if (end === 'timeout' && ++entry.attempts >= this.limits.attempts)
      this.finish_(queue, entry, end, reason);
    else if (end !== 'offline') this.park_(queue, this.limits.retryMs, reason);
    else if (!queue.woken) this.park_(queue, this.limits.sweepMs, reason);
    return true;
  }

  /**
   * @param {Queue} queue
   * @param {number} waitMs
   * @param {string} reason
   */
  park_(queue, waitMs, reason) {
    queue.parkedUntil = this.now_() + waitMs;
    for (const entry of [...queue.entries]) this.keep_(queue, entry, reason);
  }

  /**
   * @param {Queue} queue
   * @param {Entry} entry
   * @param {string} why it waits, '' = the device is away
   */
  keep_(queue, entry, why) {
    const reason = why || 'The device is not connected.';
    if (entry.row > 0 || entry.storing) return;
    if (entry.command.qos === 0) {
      if (entry !== queue.busy)
        this.finish_(queue, entry, 'expired', `${reason} A command with QoS 0 is not kept.`);
      return;
    }
    entry.storing = true;
    this.shelf_.add(entry.command, (error, row) => {
      entry.storing = false;
      if (this.closed_) return;
      if (entry.ended) {
        if (!error) this.shelf_.remove(row);
      } else if (!error) {
        entry.row = row;
        this.tell_(entry.watch, 'queued', reason);
      } else if (entry !== queue.busy) {
        this.finish_(queue, entry, 'full', `The gateway cannot keep the command: ${error.message}`);
      }
    });
  }

  /**
   * @param {Queue} queue
   * @param {Entry} entry
   * @param {Status} status
   * @param {string} reason
   */
  finish_(queue, entry, status, reason) {
    const { command } = entry;
    entry.ended = true;
    queue.entries.splice(queue.entries.indexOf(entry), 1);
    this.size--;
    this.bytes -= costOf(command);
    if (queue.entries.length === 0) this.queues_.delete(command.device);
    if (entry.row > 0) this.shelf_.remove(entry.row);
    this.tell_(entry.watch, status, reason);
  }

  /**
   * @param {Watch} watch
   * @param {Status} status
   * @param {string} reason
   */
  tell_(watch, status, reason) {
    this.counters[status]++;
    watch(status, reason);
  }
}

/** @param {Command} command */
function costOf({ device, topic, payload }) {
  return ENTRY_BYTES + device.length + topic.length + payload.length;
}

exports.CommandQueues = CommandQueues;
