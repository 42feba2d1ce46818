'use strict';

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { nextTask } = require('./compaction');

/** @typedef {import('./archive').Archive} Archive */

const FILE = path.join(__dirname, 'compaction-worker.js');
/** After a merge that failed, the next one begins after this time. */
const RETRY_MS = 60000;
/** Its day is tried again after this time, so that a damaged file of one day does not end the merges of all others. */
const DAY_RETRY_MS = 3600000;
/** Its garbage is collected before it takes more; about 40 MiB are alive. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

/** Merges files, one task at a time, in a thread that lives as long as there is something to merge. */
class Compactor {
  /** @type {Archive | null} */
  #archive = null;
  /** @type {Worker | null} */
  #worker = null;
  /** @type {import('./compaction').Task | null} */
  #task = null;
  /** When a record was added to a day last, ms, monotonic. @type {Map<string, number>} */
  #changedAt = new Map();
  /** By day, monotonic. @type {Map<string, number>} */
  #pausedUntil = new Map();
  #retryAt = -Infinity;
  #counters = { merges: 0, mergedFiles: 0, mergedRows: 0, mergeRepeated: 0, mergeFailures: 0 };
  #isStopping = false;

  /**
   * @param {import('../uplink/options').CheckedOptions} options
   * @param {{ problem: (error: unknown, date: string) => void, now: () => number }} parts now: ms, monotonic
   */
  constructor(options, { problem, now }) {
    this.options = options;
    this.problem = problem;
    this.now = now;
  }

  /** @param {Archive} archive that is open */
  start(archive) {
    this.#archive = archive;
  }

  /** @param {string} date */
  added(date) {
    this.#changedAt.set(date, this.now());
  }

  /** Starts the next merge, if one is due. Call it once a second. */
  check() {
    if (!this.#archive || this.#task || this.#isStopping || this.now() < this.#retryAt) return;
    const times = {
      changedAt: this.#changedAt,
      pausedUntil: this.#pausedUntil,
      now: this.now(),
      wall: Date.now()
    };
    this.#task = nextTask(this.#archive.days, times, this.options.quietMs);
    if (!this.#task) return void this.#worker?.postMessage(null);
    this.#worker ??= this.#spawn();
    this.#worker.postMessage(this.#task);
  }

  #spawn() {
    const worker = new Worker(FILE, {
      workerData: { options: this.options },
      name: 'seganet-merge',
      resourceLimits: HEAP
    });
    worker.on('message', (message) => void this.#merged(message));
    worker.on('error', (error) => this.#failed(error));
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
      if (this.#task) this.#failed(new Error('the thread ended'));
    });
    return worker;
  }

  /** @param {{ run: import('./manifest').Run, repeated: number } | { failure: string, code: string }} message */
  async #merged(message) {
    const task = this.#task;
    if (!task || this.#isStopping) return;
    if ('failure' in message)
      return this.#failed(Object.assign(new Error(message.failure), { code: message.code }));
    try {
      await /** @type {Archive} */ (this.#archive).replace(task.date, task.runs, message.run);
      this.#counters.merges++;
      this.#counters.mergedFiles += task.runs.reduce((sum, { files }) => sum + files.length, 0);
      this.#counters.mergedRows += message.run.files.reduce((sum, { rows }) => sum + rows, 0);
      this.#counters.mergeRepeated += message.repeated;
      this.#pausedUntil.delete(task.date);
      this.#task = null;
    } catch (error) {
      return this.#failed(error);
    }
    this.check();
  }

  /** @param {unknown} error */
  #failed(error) {
    const { date } = this.#task ?? { date: '' };
    this.#task = null;
    this.#retryAt = this.now() + RETRY_MS;
    if (date) this.#pausedUntil.set(date, this.now() + DAY_RETRY_MS);
    this.#counters.mergeFailures++;
    this.problem(error, date);
  }

  figures() {
    const runs = [...(this.#archive?.days.values() ?? [])];
    const files = runs.flat().flatMap((run) => run.files);
    return {
      ...this.#counters,
      days: runs.length,
      filesNow: files.length,
      rowsNow: files.reduce((sum, { rows }) => sum + rows, 0),
      bytesNow: files.reduce((sum, { bytes }) => sum + bytes, 0)
    };
  }

  /** Gives up the present merge: its files are removed at the next start. */
  async stop() {
    this.#isStopping = true;
    await this.#worker?.terminate();
  }
}

exports.Compactor = Compactor;
