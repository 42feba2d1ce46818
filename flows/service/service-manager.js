'use strict';
// Notifies a service manager such as systemd: ready, status, watchdog, stopping (sd_notify(3)).

const { stalledWorker } = require('./progress');

/** Notifications within one watchdog time, so that a single late one does not matter. */
const PER_WATCHDOG = 3;
/** Between two notifications without a watchdog, ms. */
const STATUS_MS = 10_000;
/** Shorter watchdog times are not kept: the workers prove their progress four times a second. */
const LEAST_WATCHDOG_MS = 3000;

/** @typedef {{ socket: string, watchdogMs: number }} Manager watchdogMs 0 = no watchdog */

/**
 * Takes the service manager's variables out of the environment, so that no child of the gateway speaks for it.
 * @param {NodeJS.ProcessEnv} env
 * @param {number} [pid]
 * @returns {Manager | null} null = the process does not run under a service manager
 */
function takeManager(env, pid = process.pid) {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: time = '', WATCHDOG_PID: watched = '' } = env;
  delete env.NOTIFY_SOCKET;
  delete env.WATCHDOG_USEC;
  delete env.WATCHDOG_PID;
  if (socket === '') return null;
  const isOurs = watched === '' || Number(watched) === pid;
  const watchdogMs = /^\d+$/.test(time) && isOurs ? Math.floor(Number(time) / 1000) : 0;
  return { socket, watchdogMs };
}

class ServiceManager {
  #socket;
  #watchdogMs;
  #send;
  #report;
  #source;
  #isReady;
  #isStopping;
  #status;
  /** The latest reports, so that none is repeated. */
  #complained;
  #failure;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {Manager} manager
   * @param {object} parts
   * @param {(address: string, message: string) => void} parts.send native notify()
   * @param {(sentence: string) => void} parts.report
   * @param {() => { engines: import('./progress').Reading[], status: string }} parts.read
   */
  constructor({ socket, watchdogMs }, { send, report, read }) {
    this.#socket = socket;
    this.#watchdogMs = watchdogMs;
    this.#send = send;
    this.#report = report;
    this.#source = read;
    this.#isReady = false;
    this.#isStopping = false;
    this.#status = '';
    this.#complained = '';
    this.#failure = '';
    if (watchdogMs > 0 && watchdogMs < LEAST_WATCHDOG_MS) {
      report(
        `WatchdogSec is shorter than ${LEAST_WATCHDOG_MS / 1000} s, which may end a gateway that works.`
      );
    }
  }

  /** Starts the notifications. */
  start() {
    const every = this.#watchdogMs > 0 ? Math.floor(this.#watchdogMs / PER_WATCHDOG) : STATUS_MS;
    this.#timer = setInterval(() => this.tick(), Math.max(every, 100)).unref();
  }

  /** Call it once, when devices can be served. */
  ready() {
    if (this.#isReady || this.#isStopping) return;
    this.#isReady = true;
    const { status } = this.#source();
    this.#status = status;
    this.#notify(`READY=1\nSTATUS=${oneLine(status)}`);
  }

  /** Call it when the gateway begins to end. */
  stopping() {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#notify('STOPPING=1\nSTATUS=stopping: delivering held records');
  }

  /**
   * Proves that the gateway works. This runs on Node-RED's thread, so a blocked thread sends nothing; nor does a
   * gateway with a worker that stands still.
   */
  tick() {
    const { engines, status } = this.#source();
    const stalled = stalledWorker(engines);
    const lines = [];
    if (stalled === '') lines.push('WATCHDOG=1');
    else if (stalled !== this.#complained) this.#report(stalled);
    this.#complained = stalled;
    const shown = stalled || status;
    if (this.#isReady && !this.#isStopping && shown !== this.#status) {
      this.#status = shown;
      lines.push(`STATUS=${oneLine(shown)}`);
    }
    if (this.#watchdogMs === 0 && lines[0] === 'WATCHDOG=1') lines.shift();
    if (lines.length > 0) this.#notify(lines.join('\n'));
  }

  close() {
    clearInterval(this.#timer);
  }

  /** @param {string} message */
  #notify(message) {
    try {
      this.#send(this.#socket, message);
    } catch (error) {
      const { code, message: reason } = /** @type {NodeJS.ErrnoException} */ (error);
      const sentence = `The service manager cannot be notified: ${code ?? reason}.`;
      if (sentence !== this.#failure) this.#report(sentence);
      this.#failure = sentence;
    }
  }
}

/** @param {string} text */
const oneLine = (text) => text.replace(/\s+/g, ' ').slice(0, 500);

exports.ServiceManager = ServiceManager;
exports.takeManager = takeManager;
