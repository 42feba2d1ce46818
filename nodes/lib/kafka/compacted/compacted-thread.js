'use strict';
// Compacted topics as seen from Node-RED's thread.

const path = require('node:path');
const { Complaints } = require('../../base/complaints');
const { ManagedThread } = require('../../base/managed-thread');

/** @typedef {import('./compacted-log').Published} Published @typedef {import('./compacted-log').Read} Read */
/** @typedef {{ topic: string, key: string }} Named a record, without what it has */
/**
 * @typedef {object} ThreadHooks
 * @property {(records: Read[], isCaughtUp: boolean) => void} records
 * @property {(records: Named[]) => void} [written] the in-sync replicas have them
 * @property {(record: Named) => void} [tooLarge] Kafka will never take it
 * @property {() => void} [lost] the topics will be read from their start again
 * @property {() => void} caughtUp everything that was in the topics has been read
 * @property {() => void} restarted a new thread has nothing of what was published
 * @property {(sentence: string) => void} report
 */

const STOP_MS = 2000;
/** Time that the thread may take beyond it to close its connections. */
const GRACE_MS = 6000;

class CompactedThread {
  #what;
  #hooks;
  #thread;
  #complaints;
  #isEnding = false;
  /** @type {import('../uplink/client-life').State} */
  state = 'stopped';
  /** Why it does not work, '' = it does. */
  reason = '';
  isCaughtUp = false;
  /** Records that are not written yet. */
  waiting = 0;
  /** Connections to the cluster that the thread has tried. */
  attempts = 0;

  /** @param {string} name of the thread @param {import('./compacted-log').LogOptions} options @param {ThreadHooks} hooks */
  constructor(name, options, hooks) {
    this.#what = options.what;
    this.#hooks = hooks;
    this.#complaints = new Complaints(hooks.report);
    let starts = 0;
    this.#thread = new ManagedThread({
      file: path.join(__dirname, 'compacted-worker.js'),
      name,
      workerData: () => ({ options }),
      restarts: true,
      onStart: () => {
        if (starts++ > 0) hooks.restarted();
      },
      onMessage: (message) => this.#take(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs)
    });
  }

  start() {
    this.state = 'connecting';
    this.#thread.start();
  }

  /** @param {Published[]} records */
  publish(records) {
    if (records.length > 0) this.#thread.post({ type: 'publish', records });
  }

  async stop() {
    this.#isEnding = true;
    await this.#thread.stop({ type: 'stop', timeoutMs: STOP_MS }, STOP_MS + GRACE_MS);
    this.state = 'stopped';
  }

  /** @param {any} message */
  #take(message) {
    if (message.type === 'records') return this.#hooks.records(message.records, message.isCaughtUp);
    if (message.type === 'written') return this.#hooks.written?.(message.records);
    if (message.type === 'tooLarge') return this.#hooks.tooLarge?.(message.record);
    if (message.type === 'warning') return this.#complaints.tell(message.sentence, message.sentence);
    if (message.type === 'stopped') return this.#thread.terminate();
    const { state, reason, isCaughtUp, waiting, attempts } = message;
    const wasCaughtUp = this.isCaughtUp;
    Object.assign(this, { state, reason, isCaughtUp, waiting, attempts });
    if (state === 'connected') this.#thread.markHealthy();
    if (reason) this.#complaints.tell(state, reason);
    if (wasCaughtUp && !isCaughtUp) this.#hooks.lost?.();
    if (isCaughtUp && !wasCaughtUp) this.#hooks.caughtUp();
  }

  /** @param {string} cause @param {number} restartMs */
  #onExit(cause, restartMs) {
    if (this.isCaughtUp) this.#hooks.lost?.();
    this.isCaughtUp = false;
    if (this.#isEnding) return;
    this.state = 'disconnected';
    this.reason = `${this.#what}: the thread that reads them ended unexpectedly (${cause}).`;
    this.#complaints.tell('thread', `${this.reason} It restarts in ${restartMs} ms.`);
  }
}

exports.CompactedThread = CompactedThread;
