'use strict';
// When jobs (the backup of a tenant, a snapshot) are due. Looks once a minute at the clock of the wall, so a clock that
// jumps, a machine that slept, and the change to summer time need nothing special.

const crypto = require('node:crypto');

const LOOK_MS = 60_000;
/** After a failure the job is tried again after these times, then at its next time. */
const RETRIES_MS = [15 * 60_000, 60 * 60_000];
/** How far back a missed time counts. */
const DAYS_BACK = 2;

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {string[]} at local times of the day, HH:MM
 * @property {number} jitterMs
 * @property {() => number} last ms since 1970 when it last succeeded, 0 = never
 * @property {() => Promise<boolean>} run resolves to false if it failed
 */

/** @param {string} name @param {number} jitterMs @returns {number} ms, always the same for a name */
function jitterOf(name, jitterMs) {
  return Math.floor((crypto.createHash('sha256').update(name).digest().readUInt32BE() / 2 ** 32) * jitterMs);
}

/**
 * Returns the latest time at which a job was due.
 * @param {{ name: string, at: string[], jitterMs: number }} job
 * @param {number} now ms since 1970
 * @returns {number} ms since 1970; 0 = never
 */
function dueAt({ name, at, jitterMs }, now) {
  const jitter = jitterOf(name, jitterMs);
  const today = new Date(now);
  const times = at.flatMap((text) => {
    const [hours, minutes] = text.split(':').map(Number);
    return Array.from({ length: DAYS_BACK + 1 }, (_, back) => {
      const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - back, hours, minutes);
      return day.getTime() + jitter;
    });
  });
  return Math.max(0, ...times.filter((time) => time <= now));
}

class Timetable {
  #jobs;
  #now;
  #every;
  #report;
  /** @type {(() => void) | null} */
  #cancel = null;
  /** Failures of a job since its due time. @type {Map<string, { due: number, count: number, at: number }>} */
  #failures = new Map();
  /** @type {Promise<void> | null} */
  #running = null;
  #isClosed = false;

  /**
   * @param {object} parts
   * @param {() => Job[]} parts.jobs asked at each look; jobs run one after the other
   * @param {() => number} [parts.now] ms since 1970
   * @param {(ms: number, call: () => void) => () => void} [parts.every] calls again and again; returns the cancellation
   * @param {(sentence: string) => void} [parts.report]
   */
  constructor({ jobs, now = Date.now, every = systemEvery, report = () => {} }) {
    this.#jobs = jobs;
    this.#now = now;
    this.#every = every;
    this.#report = report;
  }

  start() {
    this.#cancel = this.#every(LOOK_MS, () => void this.look());
  }

  /** Resolves when the running job has ended; no other one begins. */
  async close() {
    this.#isClosed = true;
    this.#cancel?.();
    await this.#running;
  }

  /** Runs what is due. @returns {Promise<void>} */
  look() {
    this.#running ??= this.#runDue().finally(() => (this.#running = null));
    return this.#running;
  }

  async #runDue() {
    /** @type {Job[]} */
    let jobs = [];
    try {
      jobs = this.#jobs();
    } catch (error) {
      this.#report(`The timetable of backups cannot be read: ${/** @type {Error} */ (error).message}`);
    }
    for (const job of jobs) {
      if (this.#isClosed) return;
      const due = dueAt(job, this.#now());
      if (due === 0 || job.last() >= due || !this.#mayTry(job.name, due)) continue;
      const isDone = await job.run().catch(() => false);
      if (isDone) this.#failures.delete(job.name);
      else {
        const before = this.#failures.get(job.name);
        const count = before?.due === due ? before.count + 1 : 1;
        this.#failures.set(job.name, { due, count, at: this.#now() });
      }
    }
  }

  /** @param {string} name @param {number} due */
  #mayTry(name, due) {
    const failed = this.#failures.get(name);
    if (failed?.due !== due) return true;
    const wait = RETRIES_MS[failed.count - 1];
    const passed = this.#now() - failed.at;
    // A clock that was set back does not stop it.
    return wait !== undefined && (passed >= wait || passed < 0);
  }
}

/** @param {number} ms @param {() => void} call */
function systemEvery(ms, call) {
  const timer = setInterval(call, ms);
  return () => clearInterval(timer);
}

exports.Timetable = Timetable;
exports.dueAt = dueAt;
exports.jitterOf = jitterOf;
