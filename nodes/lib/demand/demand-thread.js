'use strict';
// The thread that writes the questions of one engine, as seen from Node-RED's thread. It starts with the first change,
// because most gateways are never asked.

const path = require('node:path');
const { ManagedThread } = require('../base/managed-thread');
const { DemandFile, LostFile } = require('./demand-file');

const STOP_MS = 10000;

class DemandThread {
  #directory;
  /** Of the file. */
  #path;
  #warn;
  #lastId = 0;
  /** @type {Map<number, (error: Error | null) => void>} */
  #open = new Map();
  /** Why there is no thread. */
  #reason = '';
  /** @type {ManagedThread | null} */
  thread = null;

  /** @param {string} directory of the file @param {(sentence: string) => void} warn */
  constructor(directory, warn) {
    this.#directory = directory;
    this.#path = new DemandFile(directory).path;
    this.#warn = warn;
  }

  /** Reads the file in the caller's thread, because devices must not connect before their restores are known. */
  load() {
    const file = new DemandFile(this.#directory);
    try {
      return file.load();
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.#warn(
        `The questions in ${this.#path} cannot be read (${message}). Devices that were asked to send faster keep that rate until they are asked again.`
      );
      return { questions: [], restores: [] };
    } finally {
      file.close();
    }
  }

  /**
   * @param {import('./demand-file').Change[]} changes
   * @param {(error: Error | null) => void} done
   */
  write(changes, done) {
    this.thread ??= this.#start();
    if (!this.thread.isRunning) return done(new Error(this.#reason));
    const id = ++this.#lastId;
    this.#open.set(id, done);
    this.thread.post({ type: 'write', id, changes });
  }

  /** Ends the thread when it has written what was given to it. */
  async close() {
    await this.thread?.stop({ type: 'stop' }, STOP_MS);
  }

  #start() {
    const thread = new ManagedThread({
      file: path.join(__dirname, 'demand-worker.js'),
      name: 'seganet-demand',
      workerData: () => ({ directory: this.#directory }),
      onMessage: ({ id, failure, isLost }) => {
        thread.markHealthy();
        if (failure) this.#warn(`The questions in ${this.#path} cannot be written (${failure}).`);
        this.#end(id, failure && (isLost ? new LostFile(failure) : new Error(failure)));
      },
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    thread.start();
    return thread;
  }

  /** @param {number} id @param {Error | ''} failure '' = it is on disk */
  #end(id, failure) {
    const done = this.#open.get(id);
    this.#open.delete(id);
    done?.(failure || null);
  }

  /** @param {string} cause @param {number} restartMs -1 = it was stopped */
  #onExit(cause, restartMs) {
    this.#reason = `the thread of the questions ended unexpectedly (${cause})`;
    if (restartMs >= 0) this.#warn(`${this.#reason.replace('t', 'T')}. It restarts in ${restartMs} ms.`);
    for (const id of [...this.#open.keys()]) this.#end(id, new Error(this.#reason));
  }
}

exports.DemandThread = DemandThread;
