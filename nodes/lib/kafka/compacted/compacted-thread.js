'use strict';
// The presence topic as seen from Node-RED's thread.

const path = require('node:path');
const { Complaints } = require('../../base/complaints');
const { ManagedThread } = require('../../base/managed-thread');

/** @typedef {import('./presence-log').Published} Published */
/**
 * @typedef {object} ThreadHooks
 * @property {(records: Published[], isCaughtUp: boolean) => void} records
 * @property {() => void} caughtUp everything that was in the topic has been read
 * @property {() => void} restarted a new thread has nothing of what was published
 * @property {(sentence: string) => void} report
 */

const STOP_MS = 2000;
/** Time that the thread may take beyond it to close its connections. */
const GRACE_MS = 6000;

class PresenceThread {
  #hooks;
  #thread;
  #complaints;
  #isEnding = false;
  /** @type {import('../../kafka/uplink/client-life').State} */
  state = 'stopped';
  /** Why it does not work, '' = it does. */
  reason = '';
  isCaughtUp = false;
  /** Records that are not written yet. */
  waiting = 0;
  /** Connections to the cluster that the thread has tried. */
  attempts = 0;

  /** @param {import('./presence-log').LogOptions} options @param {ThreadHooks} hooks */
  constructor(options, hooks) {
    this.#hooks = hooks;
    this.#complaints = new Complaints(hooks.report);
    let starts = 0;
    this.#thread = new ManagedThread({
      file: path.join(__dirname, 'presence-worker.js'),
      name: 'seganet-region',
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
    if (message.type === 'warning') return this.#complaints.tell('topic', message.sentence);
    if (message.type === 'stopped') return this.#thread.terminate();
    const { state, reason, isCaughtUp, waiting, attempts } = message;
    const wasCaughtUp = this.isCaughtUp;
    Object.assign(this, { state, reason, isCaughtUp, waiting, attempts });
    if (state === 'connected') this.#thread.markHealthy();
    if (reason) this.#complaints.tell(state, reason);
    if (isCaughtUp && !wasCaughtUp) this.#hooks.caughtUp();
  }

  /** @param {string} cause @param {number} restartMs */
  #onExit(cause, restartMs) {
    this.isCaughtUp = false;
    if (this.#isEnding) return;
    this.state = 'disconnected';
    this.reason = `The thread of the presence topic ended unexpectedly (${cause}).`;
    this.#complaints.tell('thread', `${this.reason} It restarts in ${restartMs} ms.`);
  }
}

exports.PresenceThread = PresenceThread;
