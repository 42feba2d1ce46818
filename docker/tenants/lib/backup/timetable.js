'use strict';
// When jobs (the backup of a tenant, a snapshot) are due. Looks once a minute at the clock of the wall, so a clock that
// jumps, a machine that slept, and the change to summer time need nothing special.

const crypto = require('node:crypto');

const LOOK_MS = 60_000;
/** After a failure the job is tried again after these times, then at its next time. */
const RETRIES_MS = [15 * 60_000, 60 * 60_000];
/** How far back a missed time counts. */
const DAYS_BACK = 2;
/** After a longer time without a look, the jobs that were due meanwhile were missed. */
const GAP_MS = 5 * 60_000;
/**
 * Pause after a missed job, also in multiples of the time that it took: the missed jobs of many tenants must not occupy
 * a machine that has just started.
 */
const PAUSE_MS = 10_000;
const PAUSE_FACTOR = 3;
const MAX_PAUSE_MS = 10 * 60_000;

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {string[]} at local times of the day, HH:MM
 * @property {number} jitterMs
 * @property {() => number} last ms since 1970 when it last succeeded, 0 = never; throws if that cannot be read
 * @property {() => Promise<boolean>} run resolves to false if it failed
 * @property {() => number} [noted] as `last`, from another place, for the time while `last` throws
 * @property {(reason: string) => void} [skipped] called once for each due time at which `last` throws and `noted` is
 *   earlier
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
  #pause;
  #report;
  /** @type {(() => void) | null} */
  #cancel = null;
  /** Failures of a job since its due time. @type {Map<string, { due: number, count: number, at: number }>} */
  #failures = new Map();
  /** Due time of a job that was reported as skipped. @type {Map<string, number>} */
  #skipped = new Map();
  /** @type {Promise<void> | null} */
  #running = null;
  #lookedAt = -Infinity;
  /** Jobs that were due before this time were missed. */
  #missedBefore = 0;
  /** When the next missed job may run. */
  #missedFrom = 0;
  /** Ends a pause. */
  #closing = new AbortController();

  /**
   * @param {object} parts
   * @param {() => Job[]} parts.jobs asked before each job; jobs run one after the other
   * @param {() => number} [parts.now] ms since 1970
   * @param {(ms: number, call: () => void) => () => void} [parts.every] calls again and again; returns the cancellation
   * @param {(ms: number, signal: AbortSignal) => Promise<void>} [parts.pause] resolves early when the signal aborts
   * @param {(sentence: string) => void} [parts.report]
   */
  constructor({ jobs, now = Date.now, every = systemEvery, pause = systemPause, report = () => {} }) {
    this.#jobs = jobs;
    this.#now = now;
    this.#every = every;
    this.#pause = pause;
    this.#report = report;
  }

  start() {
    this.#cancel = this.#every(LOOK_MS, () => {
      this.look().catch(({ message }) => this.#report(`The timetable of backups failed: ${message}`));
    });
  }

  /** Resolves when the running job has ended; no other one begins. */
  async close() {
    this.#cancel?.();
    this.#closing.abort();
    await this.#running;
  }

  /** Runs what is due. @returns {Promise<void>} */
  look() {
    this.#running ??= this.#runDue().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Runs each job that is due once: those whose time has just come at once, missed ones with pauses between them. */
  async #runDue() {
    const { signal } = this.#closing;
    /** @type {Set<string>} */
    const tried = new Set();
    while (!signal.aborted) {
      const now = this.#now();
      if (!(now - this.#lookedAt < GAP_MS)) this.#missedBefore = now - LOOK_MS;
      this.#lookedAt = now;
      const next = this.#due(now).find(({ job }) => !tried.has(job.name));
      if (!next) return;
      const waitMs = next.isMissed ? this.#missedFrom - now : 0;
      // A clock that was set back does not stop it.
      if (waitMs > 0 && waitMs <= MAX_PAUSE_MS) {
        // Others may become due meanwhile.
        await this.#pause(Math.min(waitMs, LOOK_MS), signal);
        continue;
      }
      tried.add(next.job.name);
      await this.#run(next.job, next.due);
      if (!next.isMissed) continue;
      const pauseMs = Math.max(PAUSE_MS, PAUSE_FACTOR * (this.#now() - now));
      this.#missedFrom = this.#now() + Math.min(pauseMs, MAX_PAUSE_MS);
    }
  }

  /**
   * Returns what is due now: first the jobs whose time has just come, then missed ones, the newest first.
   * @param {number} now ms since 1970
   * @returns {{ job: Job, due: number, isMissed: boolean }[]}
   */
  #due(now) {
    /** @type {Job[]} */
    let jobs = [];
    try {
      jobs = this.#jobs();
    } catch (error) {
      this.#report(`The timetable of backups cannot be read: ${/** @type {Error} */ (error).message}`);
    }
    const found = jobs
      .map((job) => ({ job, due: dueAt(job, now) }))
      .filter(({ job, due }) => due > 0 && this.#last(job, due) < due && this.#mayTry(job.name, due))
      .map((each) => ({ ...each, isMissed: each.due < this.#missedBefore }));
    const missed = found.filter(({ isMissed }) => isMissed).sort((a, b) => b.due - a.due);
    return [...found.filter(({ isMissed }) => !isMissed), ...missed];
  }

  /**
   * Returns the job's `last()`. If that throws, the job is skipped: it would fail, because it reads the same folder to
   * remove older files. Each look tries again, but only the first one for a due time reports it.
   * @param {Job} job
   * @param {number} due
   * @returns {number} Infinity = skipped
   */
  #last(job, due) {
    try {
      return job.last();
    } catch (error) {
      const noted = job.noted?.() ?? 0;
      if (noted >= due) return noted;
      const { message } = /** @type {Error} */ (error);
      if (this.#skipped.get(job.name) !== due) {
        this.#skipped.set(job.name, due);
        this.#report(`Not done: ${job.name}: ${message}`);
        job.skipped?.(message);
      }
      return Infinity;
    }
  }

  /** @param {Job} job @param {number} due */
  async #run(job, due) {
    const isDone = await job.run().catch(() => false);
    if (isDone) return void this.#failures.delete(job.name);
    const before = this.#failures.get(job.name);
    const count = before?.due === due ? before.count + 1 : 1;
    this.#failures.set(job.name, { due, count, at: this.#now() });
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

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
function systemPause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

exports.Timetable = Timetable;
exports.dueAt = dueAt;
exports.jitterOf = jitterOf;
