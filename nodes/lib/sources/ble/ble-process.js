'use strict';
// The gateway's side of the radio's process. It starts and restarts the process, and passes on its messages.

const { fork } = require('node:child_process');
const path = require('node:path');
const { EventEmitter } = require('node:events');
const { Backoff } = require('../../base/backoff');

const RESTART_MIN_MS = 1000;
const RESTART_MAX_MS = 60000;
/** An adapter that is not on after this time is started again, in another process. */
const PATIENCE_MS = 10000;
const STOP_MS = 2000;
const WRITE_MS = 10000;
/** Most characters kept of the end of the process's stderr. */
const TAIL_CHARACTERS = 2000;

/**
 * @typedef {import('./ble-settings').BleSettings} BleSettings
 * @typedef {import('./ble-outbox').BleRecord} BleRecord
 * @typedef {import('./central').View & { advertisementsDropped: number, valuesDropped: number, waiting: number }}
 *   ProcessView
 *
 * @typedef {object} FromChild a message, which has some of these
 * @property {string} [state]
 * @property {string} [reason]
 * @property {ProcessView} [view]
 * @property {[string, boolean]} [linked]
 * @property {[string, string]} [trouble]
 * @property {[number, string]} [answer]
 * @property {BleRecord[]} [records] their payloads are plain Uint8Arrays
 *
 * @typedef {object} BleEvents
 * @property {[{ state: string, reason: string }]} state noble's states, or missing, broken, died
 * @property {[BleRecord, () => void]} record call the function when the engine has the record, or has refused it
 * @property {[string, boolean]} linked
 * @property {[string, string]} trouble
 */

/** @extends {EventEmitter<BleEvents>} */
class BleProcess extends EventEmitter {
  #settings;
  #start;
  #backoff;
  #patienceMs;
  /** @type {Map<number, (result: string) => void>} */
  #writes;
  #lastWrite;
  #stopping;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {BleSettings} settings
   * @param {{ start?: () => import('node:child_process').ChildProcess, restartMinMs?: number, patienceMs?: number }}
   *   [options]
   */
  constructor(settings, options = {}) {
    super();
    this.#settings = settings;
    this.#start = options.start ?? startChild;
    this.#backoff = new Backoff(options.restartMinMs ?? RESTART_MIN_MS, RESTART_MAX_MS);
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
    this.state = 'starting';
    /** @type {ProcessView} */
    this.view = noView();
    this.#writes = new Map();
    this.#lastWrite = 0;
    this.#stopping = false;
    /** @type {Set<string>} devices that are connected */
    this.linked = new Set();
    this.#timer = undefined;
    this.#run();
  }

  #run() {
    const child = this.#start();
    this.child = child;
    this.view = noView();
    let tail = '';
    child.stderr?.setEncoding('utf8').on('data', (text) => (tail = (tail + text).slice(-TAIL_CHARACTERS)));
    const taken = this.#creditOf(child);
    child.on('message', (message) => this.#onMessage(/** @type {FromChild} */ (message), taken));
    // A process that cannot be started emits no 'exit'.
    child.once('error', (error) => this.#onEnd(child, error.message));
    child.once('exit', (code) => this.#onEnd(child, code ? sentenceOf(tail) || `exit code ${code}` : ''));
    child.send({ start: this.#settings, patienceMs: this.#patienceMs }, () => {});
  }

  /** @param {FromChild} message @param {() => void} taken */
  #onMessage(message, taken) {
    if (message.state) this.#setState(message.state, message.reason ?? '');
    if (message.view) this.view = message.view;
    if (message.linked) this.#link(...message.linked);
    if (message.trouble) this.emit('trouble', ...message.trouble);
    if (message.answer) this.#answer(...message.answer);
    for (const record of message.records ?? []) {
      this.emit('record', { ...record, payload: Buffer.from(record.payload) }, taken);
    }
  }

  /** @param {string} state @param {string} reason */
  #setState(state, reason) {
    if (state === 'poweredOn') this.#backoff.reset();
    this.state = state;
    this.emit('state', { state, reason });
  }

  /** @param {string} device @param {boolean} on */
  #link(device, on) {
    if (on) this.linked.add(device);
    else this.linked.delete(device);
    this.emit('linked', device, on);
  }

  /** @param {number} id @param {string} result */
  #answer(id, result) {
    this.#writes.get(id)?.(result);
    this.#writes.delete(id);
  }

  /**
   * @param {import('node:child_process').ChildProcess} child
   * @returns {() => void} returns the credit of one record; sent in batches
   */
  #creditOf(child) {
    let credit = 0;
    return () => {
      if (credit++ > 0) return;
      setImmediate(() => {
        if (child === this.child) this.#send({ credit });
        credit = 0;
      });
    };
  }

  /**
   * @param {string} device
   * @param {string} target characteristic, or service/characteristic
   * @param {Buffer} value
   * @returns {Promise<string>} taken, refused, timeout or offline
   */
  write(device, target, value) {
    if (!this.linked.has(device)) return Promise.resolve('offline');
    const id = ++this.#lastWrite;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#answer(id, 'timeout'), WRITE_MS).unref();
      this.#writes.set(id, (result) => {
        clearTimeout(timer);
        resolve(result);
      });
      this.#send({ write: { id, device, path: target, value } });
    });
  }

  /** Disconnects the devices and ends the process. */
  async stop() {
    this.#stopping = true;
    clearTimeout(this.#timer);
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null || !child.pid) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    this.#send({ stop: true });
    await exited;
    clearTimeout(timer);
  }

  /** @param {object} message */
  #send(message) {
    // Without a callback, a dead process would cause an 'error' event.
    if (this.child?.connected) this.child.send(message, () => {});
  }

  /**
   * @param {import('node:child_process').ChildProcess} child
   * @param {string} reason '' for an orderly end
   */
  #onEnd(child, reason) {
    if (this.child !== child) return;
    this.child = undefined;
    for (const id of [...this.#writes.keys()]) this.#answer(id, 'timeout');
    for (const device of [...this.linked]) this.#link(device, false);
    if (this.#stopping) return;
    if (reason) this.#setState('died', reason);
    this.#timer = setTimeout(() => this.#run(), this.#backoff.next()).unref();
  }
}

/** @returns {ProcessView} */
const noView = () => ({
  connected: 0,
  seen: 0,
  malformed: 0,
  advertisementsDropped: 0,
  valuesDropped: 0,
  waiting: 0
});

/** @param {string} tail of stderr @returns {string} the error that was thrown */
const sentenceOf = (tail) => /^\w*Error.*$/m.exec(tail)?.[0] ?? '';

function startChild() {
  return fork(path.join(__dirname, 'ble-child.js'), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // The process handles untrusted packets, so it does not get the gateway's settings and passwords.
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(SEGANET|NODE_RED)_/.test(name))
    ),
    // Options of the gateway's own process, such as a debugger's port, must not apply to this one.
    execArgv: []
  });
}

exports.BleProcess = BleProcess;
