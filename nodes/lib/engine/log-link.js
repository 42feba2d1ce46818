'use strict';
// The log of one engine, as its host sees it: the store thread, its latest state, and its warnings. A persistent
// problem is reported once instead of every second.

const parts = require('./modules');

/**
 * @typedef {import('./modules').StoreOptions} StoreOptions
 * @typedef {import('./modules').StoreState} StoreState
 * @typedef {{ warn(sentence: string): void, error(sentence: string): void, info(sentence: string): void }} Voice
 */

const SAY_AGAIN_MS = 60000;
const MOST_NAMED = 5;
/** By then, records that a removed node had in memory are on disk. */
const LOOK_AFTER_MS = 2000;

class LogLink {
  /**
   * @param {StoreOptions} options
   * @param {Voice} voice
   * @param {() => number} [now] ms
   */
  constructor(options, voice, now = () => performance.now()) {
    this.options_ = options;
    this.voice_ = voice;
    this.now_ = now;
    /** @type {import('./modules').StoreThread | null} */
    this.thread_ = null;
    /** @type {StoreState} */
    this.state = { state: 'opening' };
    /** @type {Map<string, { at: number, unsaid: number }>} last warning by kind, and occurrences since */
    this.said_ = new Map();
    this.troubled_ = false;
    /** @type {Set<string>} names of the uplink nodes of the plan */
    this.names_ = new Set();
    /** When to check for records of other uplink nodes, ms of now(). */
    this.lookAt_ = Infinity;
  }

  /**
   * Starts the store thread. The engine accepts records while the thread opens its database.
   * @param {number} token Engine.token
   */
  start(token) {
    try {
      const thread = new (parts.store().StoreThread)(this.options_);
      this.thread_ = thread;
      // After stop(), the last reason for an error is more useful than the state 'stopped'.
      thread.on('state', (state) => this.thread_ && this.follow_(state));
      thread.on('problem', (problem) => this.problem_(problem));
      thread.attach(token);
    } catch (error) {
      const reason = `The log did not start: ${error instanceof Error ? error.message : error}`;
      this.follow_({ state: 'refused', code: 'START', reason });
    }
  }

  /**
   * Call it when a plan was applied. Records of uplink nodes that are not in the plan are reported once.
   * @param {string[]} names of its uplink nodes
   */
  expect(names) {
    this.names_ = new Set(names);
    this.lookAt_ = this.now_() + LOOK_AFTER_MS;
  }

  /** Once a second. */
  tick() {
    if (this.now_() < this.lookAt_ || !['ready', 'full'].includes(this.state.state)) return;
    this.lookAt_ = Infinity;
    this.thread_?.holdings().then((holdings) => this.tellStrangers_(holdings));
  }

  /** @param {import('./modules').Holding[]} holdings */
  tellStrangers_(holdings) {
    const strangers = holdings.filter(({ node }) => !this.names_.has(node));
    if (strangers.length === 0) return;
    const list = strangers.slice(0, MOST_NAMED).map(({ node, records }) => `${node} (${records})`);
    if (strangers.length > MOST_NAMED) list.push(`and ${strangers.length - MOST_NAMED} others`);
    const count = strangers.reduce((all, { records }) => all + records, 0);
    const { directory } = this.options_;
    this.voice_.warn(
      `${count} records in the log belong to uplink nodes that are not in the flow (deleted or disabled): ${list.join(', ')}. They stay on disk and are not sent. Restore the nodes with these ids (undo the deletion, import the previous flow, or enable them), or stop the gateway and export the records with "seganet-log dump ${directory} --node ID".`
    );
  }

  /** @returns {StoreState & { directory: string }} for the stats node and the admin API */
  view() {
    return { directory: this.options_.directory, ...this.state };
  }

  /** @returns {string} for a status: why records are not written, '' while they are */
  trouble() {
    const { state, code = '' } = this.state;
    if (state === 'full') return this.options_.whenFull === 'drop' ? '' : 'log full';
    if (state === 'refused') return /BUSY|LOCK|IN_USE/i.test(code) ? 'log in use' : 'log refused';
    if (state !== 'failing') return '';
    if (/ENOSPC|EDQUOT|FULL/i.test(code)) return 'disk full';
    if (/EROFS|READONLY/i.test(code)) return 'disk read-only';
    return /EIO|IOERR/i.test(code) ? 'disk failing' : 'log failing';
  }

  /** @returns {string} ends a sentence about records that were not written with the reason */
  reason() {
    return this.state.reason ? `: ${this.state.reason.replace(/\.$/, '')}` : '';
  }

  /**
   * Commits pending writes and closes the database, so that the next engine can open it.
   * @param {number} timeoutMs
   */
  async stop(timeoutMs) {
    const thread = this.thread_;
    this.thread_ = null;
    await thread?.stop(timeoutMs);
    this.state = { ...this.state, state: 'stopped' };
  }

  /** @param {StoreState} state on change, and once a second */
  follow_(state) {
    const { state: name, code = '', reason = '' } = state;
    const changed = name !== this.state.state || code !== this.state.code;
    this.state = state;
    if (!changed) return;
    const { directory } = this.options_;
    const troubled = name === 'refused' || name === 'failing' || name === 'full';
    if (troubled) {
      const full = name === 'full';
      const what = full ? 'has reached its limit' : `cannot be written (${code || name})`;
      const sentence = reason || `The log in ${directory} ${what}.`;
      this.once_(`${name} ${code}`, 1, () => this.voice_[full ? 'warn' : 'error'](sentence));
    } else if (name === 'ready' && this.troubled_) {
      this.once_(name, 1, () => this.voice_.info(`The log in ${directory} is writable again.`));
    }
    this.troubled_ = troubled || (this.troubled_ && name !== 'ready');
  }

  /** @param {{ code: string, reason: string, count?: number }} problem such as a damaged chunk */
  problem_({ code, reason, count = 1 }) {
    // The state has already reported it.
    if (this.troubled_ && code === this.state.code) return;
    this.once_(`problem ${code}`, count, (times) =>
      this.voice_.warn(times > 1 ? `${reason} (${times} times)` : reason)
    );
  }

  /**
   * @param {string} what kind of the problem
   * @param {number} count
   * @param {(times: number) => void} say called at most once a minute for one kind
   */
  once_(what, count, say) {
    const before = this.said_.get(what);
    if (before && this.now_() - before.at < SAY_AGAIN_MS) {
      before.unsaid += count;
      return;
    }
    this.said_.set(what, { at: this.now_(), unsaid: 0 });
    say(count + (before?.unsaid ?? 0));
  }
}

exports.LogLink = LogLink;
