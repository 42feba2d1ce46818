'use strict';
// Devices whose difference must be derived. A limited number is derived at a time, so that a deploy, or many devices
// that connect at once, leave room for other requests. One that fails is tried again, because its device may send
// nothing for days.

const { Backoff } = require('../base/backoff');

const MOST_OPEN = 512;
const [RETRY_MIN_MS, RETRY_MAX_MS] = [1000, 5000];

class Owed {
  #derive;
  #open = 0;
  /** @type {Set<string>} */
  #waiting = new Set();
  /** The next one to be tried first. @type {Set<string>} */
  #failed = new Set();
  /** @type {NodeJS.Timeout | null} */
  #timer = null;
  #backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
  #isClosed = false;

  /** @param {(device: string) => Promise<boolean>} derive returns false if it must be repeated; must not reject */
  constructor(derive) {
    this.#derive = derive;
  }

  /** @param {string} device */
  add(device) {
    this.#failed.delete(device);
    this.#waiting.add(device);
    this.#pump();
  }

  /** Tries the device again later. @param {string} device */
  fail(device) {
    if (this.#isClosed) return;
    this.#failed.add(device);
    this.#arm();
  }

  #arm() {
    if (this.#isClosed || this.#failed.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#retry(), this.#backoff.next()).unref();
  }

  /** @param {string} device */
  delete(device) {
    this.#waiting.delete(device);
    this.#failed.delete(device);
  }

  close() {
    this.#isClosed = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#waiting.clear();
    this.#failed.clear();
  }

  #pump() {
    for (const device of this.#waiting) {
      if (this.#open >= MOST_OPEN) return;
      this.#waiting.delete(device);
      void this.#run(device);
    }
  }

  /** @param {string} device @returns {Promise<boolean>} */
  async #run(device) {
    this.#open++;
    const isDone = await this.#derive(device);
    this.#open--;
    // Added again meanwhile, it is derived anyway.
    if (!isDone && !this.#waiting.has(device)) this.fail(device);
    this.#pump();
    return isDone;
  }

  /** Tries one of those that failed, and all others if it succeeds. */
  async #retry() {
    this.#timer = null;
    const [first] = this.#failed;
    if (first === undefined) return;
    this.#failed.delete(first);
    // If it was added again meanwhile and then succeeds, it does not call fail(), and the others must not wait for it.
    if (!(await this.#run(first))) return this.#arm();
    this.#backoff.reset();
    const all = [...this.#failed];
    for (const device of all) this.add(device);
  }
}

exports.Owed = Owed;
