'use strict';
// Who may acknowledge a record with _Acknowledge: replicated_: the clouds (brokers, Kafka clusters), and a log whose
// commits are on two machines. The disk of this machine alone may not, unless they are all missing for a while and the
// user prefers to go on (degrade).

const { eachSecond } = require('../base/timing/each-second');

/**
 * replicated: the clouds acknowledge; waiting: nothing is acknowledged; degraded: the disk here acknowledges, too.
 * @typedef {'replicated' | 'waiting' | 'degraded'} ReplicaState
 *
 * @typedef {object} ReplicaOptions
 * @property {'wait' | 'degrade'} whenMissing
 * @property {number} timeoutMs for which a cloud must be missing before that, and be there again after it
 *
 * @typedef {object} ReplicaParts
 * @property {() => string} missing why a cloud cannot acknowledge now, '' = all can
 * @property {(counts: boolean) => void} setDiskCounts of the engine
 * @property {(state: ReplicaState, before: ReplicaState, reason: string) => void} changed
 * @property {() => number} [now] ms, monotonic
 */

class Replicas {
  #options;
  #parts;
  #now;
  /** When what is true now began to be true: missing, or there. */
  #since;
  #isMissing = true;
  /** Commits of the log are on two machines. */
  #logCounts = false;
  /** The engine's present setting. */
  #diskCounts = false;
  #end;

  /** @param {ReplicaOptions} options @param {ReplicaParts} parts */
  constructor(options, parts) {
    this.#options = options;
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
    this.#since = this.#now();
    /** @type {ReplicaState} */
    this.state = 'waiting';
    /** Why it is not 'replicated'. */
    this.reason = '';
    // Each second: nothing else notices that a cloud is missing while no record arrives.
    this.#end = eachSecond(() => {
      this.tick();
      return 0;
    });
  }

  tick() {
    const reason = this.#logCounts ? '' : this.#parts.missing();
    const isMissing = reason !== '';
    const now = this.#now();
    if (isMissing !== this.#isMissing) this.#since = now;
    this.#isMissing = isMissing;
    const isLong = now - this.#since >= this.#options.timeoutMs;
    if (isMissing) this.reason = reason;
    if (isMissing && this.#options.whenMissing === 'degrade' && isLong) this.#set('degraded');
    else if (isMissing && this.state === 'replicated') this.#set('waiting');
    else if (!isMissing && (isLong || this.state === 'waiting')) this.#set('replicated');
  }

  /** @param {ReplicaState} state */
  #set(state) {
    if (state === this.state) return;
    const before = this.state;
    this.state = state;
    if (state === 'replicated') this.reason = '';
    this.#tell();
    this.#parts.changed(state, before, this.reason);
  }

  /** Call it when that changes. @param {boolean} counts commits of the log are on two machines */
  setLogCounts(counts) {
    this.#logCounts = counts;
    // First: no acknowledgement may depend on a commit that follows.
    this.#tell();
    this.tick();
  }

  #tell() {
    const counts = this.#logCounts || this.state === 'degraded';
    if (counts === this.#diskCounts) return;
    this.#diskCounts = counts;
    this.#parts.setDiskCounts(counts);
  }

  /** @returns {{ state: ReplicaState, reason: string }} */
  view() {
    return { state: this.state, reason: this.reason };
  }

  close() {
    this.#end();
  }
}

exports.Replicas = Replicas;
