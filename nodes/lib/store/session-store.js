'use strict';
// Keeps the MQTT sessions of one engine on disk, in the store thread: restores those of an earlier run, then writes
// what changes. All changes that wait are one commit. A change that cannot be written is tried again every second, and
// the SUBACK of its device waits that long.

const { Refusal, isDamage } = require('./log-reasons');
const { SessionFile, setSessionsAside } = require('./session-file');

/** @typedef {import('../../../native').SessionSource} SessionSource */

const PAGE_ROWS = 256;
/** Between two looks at whether the workers have offered their last sessions, ms. */
const POLL_MS = 2;
/** Results of SessionSource.restore(). */
const RESTORED = 0;
const DAMAGED = 2;
/** SessionSource.restoring() */
const MAY_RESTORE = 0;
const IS_RESTORED = 1;

class SessionStore {
  #directory;
  #problem;
  #restored;
  /** @type {SessionSource | null} */
  #source;
  /** @type {import('./session-file').SessionFile | null} */
  #file;
  #isDisabled;
  /** @type {NodeJS.Immediate | null} */
  #soon;
  /** No attempt before the next tick(). */
  #waits;

  /**
   * @param {object} context
   * @param {string} context.directory absolute
   * @param {(code: string, reason: string) => void} context.problem
   * @param {(sessions: number) => void} context.restored devices may connect
   */
  constructor({ directory, problem, restored }) {
    this.#directory = directory;
    this.#problem = problem;
    this.#restored = restored;
    this.#source = null;
    this.#file = null;
    this.#isDisabled = false;
    this.#soon = null;
    this.#waits = false;
  }

  /** @param {SessionSource} source */
  attach(source) {
    this.#source?.close();
    this.#source = source;
    this.ring();
  }

  /** Handles the doorbell. */
  ring() {
    this.#soon ??= setImmediate(() => {
      this.#soon = null;
      if (!this.#waits) this.#turn();
    });
  }

  /** True: it tries again at the next tick(). */
  get isWaiting() {
    return this.#waits;
  }

  /** Call it once a second. */
  tick() {
    this.#waits = false;
    this.ring();
  }

  /**
   * Writes the last changes, and closes the file.
   * @param {number} timeoutMs
   */
  async stop(timeoutMs) {
    const until = performance.now() + timeoutMs;
    const source = this.#source;
    while (source && source.waiting() > 0 && performance.now() < until) {
      this.#waits = false;
      this.#turn();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    try {
      if (source?.waiting() === 0 && source.restoring() === IS_RESTORED)
        this.#file?.write([], { isLast: true });
    } catch (error) {
      this.#failed(error);
    }
    if (this.#soon) clearImmediate(this.#soon);
    this.#waits = true;
    this.#file?.close();
    this.#file = null;
    source?.close();
    this.#source = null;
  }

  #turn() {
    const source = this.#source;
    if (!source || this.#isDisabled) return;
    try {
      this.#file ??= this.#open(source);
      for (let writes = source.take(); writes.length > 0; writes = source.take()) {
        this.#file.write(writes);
        source.committed();
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @param {SessionSource} source */
  #open(source) {
    const file = new SessionFile(this.#directory);
    try {
      const isExact = file.begin();
      const before = source.restoring();
      let sessions = 0;
      if (before === MAY_RESTORE) sessions = this.#restore(file, source, isExact);
      // Devices connected without them, and were informed that they have no session.
      else if (before !== IS_RESTORED) file.clear();
      source.restored();
      this.#restored(sessions);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /**
   * @param {import('./session-file').SessionFile} file
   * @param {SessionSource} source
   * @param {boolean} isExact
   * @returns {number} sessions
   */
  #restore(file, source, isExact) {
    let sessions = 0;
    /** @type {string[]} */
    const gone = [];
    /** @type {string[]} */
    const damaged = [];
    for (let page = file.page('', PAGE_ROWS); page.length > 0;) {
      const results = source.restore(page.map(bytes), isExact);
      page.forEach(({ device }, i) => {
        if (results[i] === RESTORED) sessions++;
        else (results[i] === DAMAGED ? damaged : gone).push(device);
      });
      page = file.page(page[page.length - 1].device, PAGE_ROWS);
    }
    if (gone.length + damaged.length > 0) file.drop(gone, damaged);
    if (damaged.length > 0) {
      const reason = `${damaged.length} sessions of devices on disk were damaged and were set aside. Their devices begin new sessions. Check for disk errors (dmesg).`;
      this.#problem('SESSION_DAMAGED', reason);
    }
    return sessions;
  }

  /** @param {any} error */
  #failed(error) {
    // The state of the connection is unknown.
    this.#file?.close();
    this.#file = null;
    this.#waits = true;
    const what = `The sessions of devices in ${this.#directory} cannot be written (${error?.message ?? error}).`;
    if (error instanceof Refusal) {
      this.#isDisabled = true;
      this.#source?.disable();
      this.#source?.restored();
      this.#restored(0);
      this.#problem('SESSIONS_REFUSED', `${error.message} Sessions are kept in memory only.`);
    } else if (isDamage(error)) {
      this.#problem('SESSIONS_DAMAGED', `${what} ${this.#setAside()}`);
    } else {
      this.#problem(
        'SESSIONS',
        `${what} Devices that subscribe wait for their SUBACK until this works again.`
      );
    }
  }

  /** @returns {string} a sentence about what became of the file */
  #setAside() {
    try {
      const name = setSessionsAside(this.#directory);
      return `The file was renamed to ${name}, and a new one is created. Devices begin new sessions after a restart that is not in order, unless their subscriptions change before.`;
    } catch (error) {
      return `The file could not be renamed (${error instanceof Error ? error.message : error}).`;
    }
  }
}

/**
 * Returns the row; one that is not a BLOB is damaged, and so is an empty one.
 * @param {{ row: unknown }} stored
 */
function bytes({ row }) {
  return row instanceof Uint8Array ? row : new Uint8Array(0);
}

exports.SessionStore = SessionStore;
