'use strict';

const { createHash, randomBytes } = require('node:crypto');
const path = require('node:path');
const { hasBegunEnd } = require('../base/process-end');
const { StoreThread } = require('../store/store-thread');
const { checkOptions } = require('./options');
const { PairCommandStore } = require('./pair-command-store');

/** EX_TEMPFAIL: the service manager starts the process again, which is then the standby. */
const EXIT_FENCED = 75;
/** A deploy opens the log again as the same owner. */
const PROCESS = randomBytes(16);

/** @param {string} log @returns {string} */
const holderOf = (log) => createHash('sha256').update(PROCESS).update(log).digest('hex').slice(0, 16);

/**
 * The store thread of a log in PostgreSQL, which a pair of gateways shares.
 *
 * Events beside those of {@link StoreThread}: 'replicated' {isReplicated}, whether commits are on two machines: the
 * thread goes on when all listeners have returned; 'fenced' {reason}: another gateway has the log, this process ends.
 */
class PairThread extends StoreThread {
  /** Throws TypeError or RangeError with a sentence. @param {import('./options').PairOptions} options */
  constructor(options) {
    super(options, {
      check: checkOptions,
      parts: path.join(__dirname, 'log-parts.js'),
      data: { holder: holderOf(options.name) }
    });
    /** Commits are on two machines: an acknowledgement may depend on them. */
    this.isReplicated = false;
    this.commandStore = new PairCommandStore((message) => this.thread.post(message));
    this.on('commandsFound', ({ rows }) => this.commandStore.found(rows));
    this.on('commandsStored', (result) => this.commandStore.stored(result));
    /** @type {(() => void) | undefined} */
    this.take = undefined;
    /** Resolves when this gateway has the log; null = it has. @type {Promise<void> | null} */
    this.owning = new Promise((resolve) => (this.take = resolve));
    this.on('replicated', ({ isReplicated }) => {
      this.#setReplicated(isReplicated);
      this.thread.post({ type: 'told' });
    });
    this.on('state', ({ code, pair }) => {
      // The next thread begins with commits that do not count.
      if (code === 'THREAD') this.#setReplicated(false);
      if (pair?.role !== 'active' || !this.owning) return;
      this.owning = null;
      this.take?.();
    });
    this.on('fenced', ({ reason }) => {
      this.emit('lost', reason);
      process.exit(EXIT_FENCED);
    });
  }

  /** @param {boolean} isReplicated */
  #setReplicated(isReplicated) {
    this.isReplicated = isReplicated;
    this.emit('counts', isReplicated);
  }

  /** Lets the other gateway have the log if this process ends. @param {number} timeoutMs */
  stop(timeoutMs) {
    if (hasBegunEnd()) this.thread.post({ type: 'release' });
    return super.stop(timeoutMs);
  }
}

module.exports = { StoreThread: PairThread, EXIT_FENCED };
