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
  #options;
  #voice;
  #now;
  /** @type {import('./modules').StoreThread | null} */
  #thread;
  /** @type {Map<string, { at: number, unsaid: number }>} last warning by kind, and occurrences since */
  #said;
  #troubled;
  /** When the thread last reported, ms of now(). */
  #reportedAt;
  /** @type {Set<string>} names of the uplink nodes of the plan */
  #names;
  /** When to check for records of other uplink nodes, ms of now(). */
  #lookAt;

  /**
   * @param {StoreOptions} options
   * @param {Voice} voice
   * @param {() => number} [now] ms
   */
  constructor(options, voice, now = () => performance.now()) {
    /** Called when it changes whether commits are on two machines. @type {(counts: boolean) => void} */
    this.onCounts = () => {};
    this.#options = options;
    this.#voice = voice;
    this.#now = now;
    this.#thread = null;
    /** @type {StoreState} */
    this.state = { state: 'opening' };
    this.#said = new Map();
    this.#troubled = false;
    this.#reportedAt = 0;
    this.#names = new Set();
    this.#lookAt = Infinity;
  }

  /**
   * Starts the store thread. The engine accepts records while the thread opens its database.
   * @param {number} token Engine.token
   */
  start(token) {
    try {
      const thread = new (parts.store(this.isShared).StoreThread)(this.#options);
      this.#thread = thread;
      this.#reportedAt = this.#now();
      // After stop(), the last reason for an error is more useful than the state 'stopped'.
      thread.on('state', (state) => this.#thread && this.#follow(state));
      thread.on('problem', (problem) => this.#problem(problem));
      thread.on('counts', (counts) => this.onCounts(counts));
      thread.on('lost', (reason) =>
        this.#voice.error(`${reason} This process ends, and is the standby after its next start.`)
      );
      thread.attach(token);
    } catch (error) {
      const reason = `The log did not start: ${error instanceof Error ? error.message : error}`;
      this.#follow({ state: 'refused', code: 'START', reason });
    }
  }

  /**
   * Call it when a plan was applied. Records of uplink nodes that are not in the plan are reported once.
   * @param {string[]} names of its uplink nodes
   */
  expect(names) {
    this.#names = new Set(names);
    this.#lookAt = this.#now() + LOOK_AFTER_MS;
  }

  /** True if two gateways have one log, in a database. */
  get isShared() {
    return Boolean(this.#options.url);
  }

  /** @returns {'no' | 'yes' | 'unknown'} whether another gateway has the log; unknown: the database did not answer */
  get standby() {
    if (!this.#thread?.owning) return 'no';
    return this.state.state === 'standby' ? 'yes' : 'unknown';
  }

  /** @returns {import('../commands').Store | undefined} keeps commands beside a log that is shared */
  get commandStore() {
    return this.#thread?.commandStore;
  }

  /** @returns {Promise<void> | null} resolves when this gateway has the log; null = it has, or nobody shares it */
  get owning() {
    return this.#thread?.owning ?? null;
  }

  /** @returns {number} ms since the thread reported, which it does at least each nine seconds; -1 = none runs */
  get silentMs() {
    return this.#thread ? this.#now() - this.#reportedAt : -1;
  }

  /** Once a second. */
  tick() {
    if (this.#now() < this.#lookAt || !['ready', 'full'].includes(this.state.state)) return;
    this.#lookAt = Infinity;
    this.#thread?.holdings().then((holdings) => this.#reportStrangers(holdings));
  }

  /** @param {import('./modules').Holding[]} holdings */
  #reportStrangers(holdings) {
    const strangers = holdings.filter(({ node }) => !this.#names.has(node));
    if (strangers.length === 0) return;
    const list = strangers.slice(0, MOST_NAMED).map(({ node, records }) => `${node} (${records})`);
    if (strangers.length > MOST_NAMED) list.push(`and ${strangers.length - MOST_NAMED} others`);
    const count = strangers.reduce((all, { records }) => all + records, 0);
    const { directory } = this.#options;
    this.#voice.warn(
      `${count} records in the log belong to uplink nodes that are not in the flow (deleted or disabled): ${list.join(', ')}. They stay on disk and are not sent. Restore the nodes with these ids (undo the deletion, import the previous flow, or enable them), or stop the gateway and export the records with "seganet-log dump ${directory} --node ID".`
    );
  }

  /** @returns {Promise<import('./modules').Holding[]> | null} records on disk by uplink node; null = the log is not open */
  holdings() {
    if (!['ready', 'full'].includes(this.state.state)) return null;
    return this.#thread?.holdings() ?? null;
  }

  /**
   * @param {number} timeoutMs
   * @returns {Promise<boolean> | null} resolves to true when the MQTT sessions of an earlier run are restored, false if
   *   that takes too long; null: nothing to wait for
   */
  restoring(timeoutMs) {
    const restoring = this.#thread?.restoring;
    if (!restoring) return null;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      void restoring.then(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /**
   * Copies the log into a new file while it is in use.
   * @param {string} file absolute; must not exist
   * @returns {Promise<void>}
   */
  async backup(file) {
    if (!this.#thread) throw new Error('The log is not open.');
    await this.#thread.backup(file);
  }

  /**
   * @param {{ after: number, limit: number }} page of dead letters
   * @returns {Promise<import('./modules').DeadLetterPage>}
   */
  async deadLetters(page) {
    if (!this.#thread) throw new Error('The log is not open.');
    return this.#thread.deadLetters(page);
  }

  /**
   * Sends dead letters again if their uplink nodes are in the plan.
   * @param {number[] | null} rows null = all
   * @returns {Promise<import('./modules').SentAgain>}
   */
  async sendAgain(rows) {
    if (!this.#thread) throw new Error('The log is not open.');
    return this.#thread.sendAgain(rows, [...this.#names]);
  }

  /** @returns {StoreState & { directory: string }} for the stats node and the admin API */
  view() {
    return { directory: this.#options.directory, ...this.state };
  }

  /** @returns {string} for a status: why records are not written, '' while they are */
  trouble() {
    const { state, code = '' } = this.state;
    if (state === 'full') return this.#options.whenFull === 'drop' ? '' : 'log full';
    if (code === 'DATABASE') return 'database failing';
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
    const thread = this.#thread;
    this.#thread = null;
    await thread?.stop(timeoutMs);
    this.state = { ...this.state, state: 'stopped' };
  }

  /** @param {StoreState} state on change, and at least each nine seconds */
  #follow(state) {
    const { state: name, code = '', reason = '' } = state;
    this.#reportedAt = this.#now();
    const changed = name !== this.state.state || code !== this.state.code;
    this.state = state;
    if (!changed) return;
    const { directory, place } = this.#options;
    const log = this.isShared ? 'The shared log' : `The log in ${directory}`;
    if (name === 'standby') {
      const owner = state.pair?.owner || 'Another gateway';
      this.#voice.info(`${owner} has the log. This gateway${place ? ` (${place})` : ''} is its standby.`);
    }
    const troubled = name === 'refused' || name === 'failing' || name === 'full';
    if (troubled) {
      const full = name === 'full';
      const what = full ? 'has reached its limit' : `cannot be written (${code || name})`;
      const sentence = reason || `${log} ${what}.`;
      this.#once(`${name} ${code}`, 1, () => this.#voice[full ? 'warn' : 'error'](sentence));
    } else if (name === 'ready' && this.#troubled) {
      this.#once(name, 1, () => this.#voice.info(`${log} is writable again.`));
    }
    this.#troubled = troubled || (this.#troubled && name !== 'ready');
  }

  /** @param {{ code: string, reason: string, count?: number }} problem such as a damaged chunk */
  #problem({ code, reason, count = 1 }) {
    // The state has already reported it.
    if (this.#troubled && code === this.state.code) return;
    this.#once(`problem ${code}`, count, (times) =>
      this.#voice.warn(times > 1 ? `${reason} (${times} times)` : reason)
    );
  }

  /**
   * @param {string} what kind of the problem
   * @param {number} count
   * @param {(times: number) => void} say called at most once a minute for one kind
   */
  #once(what, count, say) {
    const before = this.#said.get(what);
    if (before && this.#now() - before.at < SAY_AGAIN_MS) {
      before.unsaid += count;
      return;
    }
    this.#said.set(what, { at: this.#now(), unsaid: 0 });
    say(count + (before?.unsaid ?? 0));
  }
}

exports.LogLink = LogLink;
