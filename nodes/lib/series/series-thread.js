'use strict';

const { EventEmitter } = require('node:events');
const path = require('node:path');
const { ManagedThread } = require('../base/managed-thread');
const { shown } = require('../base/values');
const { QuestionError } = require('./question-error');
const { TextSearches } = require('./text-searches');

/** Points that may wait for the disk, here and in the thread. */
const MAX_WAITING = 200000;
/** Characters of the records that wait. */
const MAX_WAITING_TEXT = 64 << 20;
/** Batches that the thread has; what comes meanwhile is one batch, so a slow disk gets large commits. */
const MAX_IN_FLIGHT = 2;
/** Records that are completed in one turn of the event loop. */
const COMPLETE = 500;
const STOP_MS = 10000;
const SEARCH_STOP_MS = 1000;

/**
 * @typedef {(error?: Error) => void} Done
 *
 * @typedef {object} SeriesRecord
 * @property {string} device
 * @property {number} ts ms since the epoch, 0 = now
 * @property {string[]} names
 * @property {number[]} values as many
 * @property {string} topic
 * @property {string | null} text payload for the search, null = none
 * @property {number} [held] length of the payload, which the message holds until the record is on disk
 *
 * @typedef {object} State
 * @property {string} reason why nothing is stored, '' = it is
 * @property {number} series
 * @property {number} openPoints in memory
 * @property {number} bytes of the database
 * @property {number} textBytes of the search
 * @property {boolean} isFull
 * @property {Record<string, number>} counters
 *
 * @typedef {{ id: number, batch: import('./series-store').Batch, dones: Done[], points: number, text: number }} Pack
 */

/**
 * The thread of one series node, as seen from Node-RED's thread. Events: 'state' {@link State} on change and at 1 Hz;
 * 'problem' a sentence.
 */
class SeriesThread extends EventEmitter {
  #packs = 0;
  #questions = 0;
  #isPlanned = false;
  /** @type {Pack} */
  #next;
  /** @type {Map<number, Pack>} */
  #inFlight = new Map();
  /** @type {Map<number, (answer: any) => void>} */
  #asking = new Map();
  /** Records whose end is known. @type {{ done: Done, error: Error | undefined }[]} */
  #ended = [];
  #isEnding = false;
  #searches;
  /** @type {Promise<void> | null} */
  #stopping = null;

  /** @param {import('./series-store').StoreOptions} options */
  constructor(options) {
    super();
    this.options = options;
    /** The latest state. @type {State} */
    this.state = {
      reason: '',
      series: 0,
      openPoints: 0,
      bytes: 0,
      textBytes: 0,
      isFull: false,
      counters: {}
    };
    /** Counters of threads that ended. @type {Record<string, number>} */
    this.past = {};
    this.waitingPoints = 0;
    this.waitingText = 0;
    /** Records that found no room to wait. */
    this.refused = 0;
    /** Numbers of records beyond a limit of the node. */
    this.left = 0;
    this.shown = { points: 0, atMs: performance.now() };
    this.#next = this.#newPack();
    this.#searches = new TextSearches(options.directory);
    this.thread = new ManagedThread({
      file: path.join(__dirname, 'series-worker.js'),
      name: 'seganet-series',
      workerData: () => ({ options }),
      onStart: () => this.#plan(),
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    this.thread.start();
  }

  /**
   * Stores a record.
   * @param {SeriesRecord} record
   * @param {Done} done called once, when the record is on disk, or with an error that is a sentence
   */
  put(record, done) {
    const { device, ts, names, values, topic, text, held = 0 } = record;
    const characters = device.length + topic.length + Math.max(held, text?.length ?? 0);
    const isFull = this.waitingPoints >= MAX_WAITING || this.waitingText + characters > MAX_WAITING_TEXT;
    if (isFull || this.#stopping) {
      this.refused++;
      const why = isFull
        ? `The disk of the series (${shown(this.options.directory)}) is too slow: ${this.waitingPoints} points wait for it.`
        : 'The series node is being closed.';
      done(new Error(this.state.reason || why));
      return;
    }
    const pack = this.#next;
    const { batch } = pack;
    batch.devices.push(device);
    batch.stamps.push(ts);
    batch.counts.push(names.length);
    for (let i = 0; i < names.length; i++) {
      batch.names.push(names[i]);
      batch.values.push(values[i]);
    }
    if (this.options.search !== 'off') {
      batch.topics.push(topic);
      batch.texts.push(text);
    }
    pack.dones.push(done);
    // A record without numbers takes room, too.
    const points = Math.max(1, names.length);
    pack.points += points;
    pack.text += characters;
    this.waitingPoints += points;
    this.waitingText += characters;
    this.#plan();
  }

  /** @returns {number} points a second since the last call */
  rate() {
    const { points = 0 } = this.state.counters;
    const now = performance.now();
    const perSecond = ((points - this.shown.points) * 1000) / Math.max(1, now - this.shown.atMs);
    this.shown = { points, atMs: now };
    return perSecond;
  }

  /** @param {any} page see list() of series-reader.js */
  list(page) {
    return this.#ask('list', { page });
  }

  /**
   * @param {{ device: string, name: string }[]} wanted
   * @param {import('./series-reader').Range} range
   * @param {'ndjson' | 'csv' | 'grafana'} format
   * @returns {Promise<{ type: string, text: string, next: number | null }>}
   */
  range(wanted, range, format) {
    return this.#ask('range', { wanted, range, format });
  }

  /**
   * @param {{ device: string, name: string }} wanted one series
   * @param {{ from: number, to: number, limit: number }} range from inclusive, to exclusive, ms; limit: most points
   * @returns {Promise<{ times: Float64Array, values: Float64Array, next: number | null }>} oldest first; next: where
   *   the rest begins, null = there is none
   */
  points(wanted, range) {
    return this.#ask('points', { wanted, range: { ...range, step: 0 } });
  }

  /**
   * See topics() of text-store.js.
   * @param {{ device: string, topic: string }} after
   * @param {number} limit
   * @returns {Promise<{ device: string, topic: string }[]>} none while the search is off
   */
  async topics(after, limit) {
    return this.options.search === 'off' ? [] : this.#ask('topics', { after, limit });
  }

  /**
   * Searches in a thread of its own, so that records are stored meanwhile.
   * @param {import('./text-search').Question} question
   */
  async search(question) {
    if (this.options.search === 'off')
      throw new QuestionError(
        'The search of this series node is off. Choose the records to search in the node.'
      );
    // What waits is searched, too.
    await this.#ask('writeText', {});
    return this.#searches.run(question);
  }

  /** Stores what waits, closes the database and ends the thread. @returns {Promise<void>} */
  stop() {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** @returns {Pack} */
  #newPack() {
    const batch = { devices: [], stamps: [], counts: [], names: [], values: [], topics: [], texts: [] };
    return { id: ++this.#packs, batch, dones: [], points: 0, text: 0 };
  }

  #plan() {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      if (this.#inFlight.size < MAX_IN_FLIGHT) this.#post();
    });
  }

  #post() {
    const pack = this.#next;
    if (pack.dones.length === 0 || !this.thread.isRunning) return;
    this.#next = this.#newPack();
    this.#inFlight.set(pack.id, pack);
    this.thread.post({ type: 'put', id: pack.id, batch: pack.batch });
  }

  /**
   * @param {string} what
   * @param {object} message
   * @returns {Promise<any>} rejects with a sentence; with a QuestionError if the question is wrong
   */
  async #ask(what, message) {
    if (!this.thread.isRunning || this.#stopping) throw new Error('The series are not open.');
    const id = ++this.#questions;
    this.thread.post({ type: 'ask', id, what, ...message });
    const { failure, isWrong, value } = await new Promise((resolve) => this.#asking.set(id, resolve));
    if (failure) throw isWrong ? new QuestionError(failure) : new Error(failure);
    return value;
  }

  /** @param {any} message */
  #onMessage({ type, ...message }) {
    if (type === 'stored') this.#stored(message.ids, message.failure);
    else if (type === 'answer') this.#answer(message.id, message);
    else if (type === 'problem') this.emit('problem', message.sentence);
    else if (type === 'state') {
      for (const [name, count] of Object.entries(this.past)) message.counters[name] += count;
      this.state = message;
      if (!message.reason) this.thread.markHealthy();
      this.emit('state', message);
    }
  }

  /** @param {number[]} ids @param {string} failure '' = they are on disk */
  #stored(ids, failure) {
    const error = failure ? new Error(failure) : undefined;
    for (const id of ids) {
      const pack = this.#inFlight.get(id);
      if (!pack) continue;
      this.#inFlight.delete(id);
      this.waitingPoints -= pack.points;
      this.waitingText -= pack.text;
      for (const done of pack.dones) this.#ended.push({ done, error });
    }
    if (!this.#isEnding && this.#ended.length > 0) this.#end();
    this.#plan();
  }

  /** Completes some records, and the others in later turns: each sends a message. */
  #end() {
    for (const { done, error } of this.#ended.splice(0, COMPLETE)) done(error);
    this.#isEnding = this.#ended.length > 0;
    if (this.#isEnding) setImmediate(() => this.#end());
  }

  /** @param {number} id @param {any} answer */
  #answer(id, answer) {
    this.#asking.get(id)?.(answer);
    this.#asking.delete(id);
  }

  /** @param {string} cause @param {number} restartMs */
  #onExit(cause, restartMs) {
    const failure = `The thread of the series ended unexpectedly (${cause}).`;
    this.#stored([...this.#inFlight.keys()], failure);
    for (const id of [...this.#asking.keys()])
      this.#answer(id, { failure: 'The thread of the series ended.' });
    this.past = this.state.counters;
    if (this.#stopping) return;
    const reason = `${failure} It restarts in ${restartMs} ms.`;
    this.state = { ...this.state, reason };
    this.emit('problem', reason);
    this.emit('state', this.state);
  }

  async #stop() {
    this.#post();
    const searching = this.#searches.close();
    await this.thread.stop({ type: 'stop' }, STOP_MS);
    // A search that SQLite does not end holds nothing up but the end of the process.
    await Promise.race([searching, new Promise((resolve) => setTimeout(resolve, SEARCH_STOP_MS).unref())]);
    // Whatever had no thread.
    const { dones } = this.#next;
    this.#next = this.#newPack();
    for (const done of dones) this.#ended.push({ done, error: new Error('The series node was closed.') });
    while (this.#ended.length > 0) this.#end();
  }
}

exports.SeriesThread = SeriesThread;
