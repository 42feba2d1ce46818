'use strict';

const { TenantError, isEngineAway, messageOf } = require('../../base/errors');
const { EARLY_MS } = require('./one-timer');
const { clearStart, startTenant } = require('./start');
const { LEAST_CLASS } = require('./starts');
const { whenReady } = require('./when-ready');

/** @typedef {import('./status').State} State */
/** @typedef {import('./tenant-tools').Tools} Tools */
/** @typedef {{ how: 'start' | 'unpause' | 'running', readyMs: number, host: string, port: number }} Woken */
/** @typedef {{ by: string, priority?: number, isForced?: boolean }} Wish isForced: also after failures */
/**
 * @typedef {object} Rising a start under way
 * @property {string} by
 * @property {number} priority
 * @property {AbortController} abort
 * @property {import('./starts').Turn | null} turn
 * @property {Promise<Woken> | null} promise
 * @property {boolean} isLeft true: it was aborted because the keeper ends, and the tenant runs on
 */
/**
 * @typedef {object} WakingParts
 * @property {import('./status').Status} status
 * @property {Tools} tools
 * @property {import('./one-timer').OneTimer} timer
 * @property {import('./crashes').Crashes} crashes
 * @property {import('./watch').EndWatch} watch
 * @property {import('./sleeping').Sleeping} sleeping
 * @property {(reason: string) => void} failed
 * @property {(step: () => Promise<Woken>) => Promise<Woken>} serial runs a step when those before it have ended
 */

/** Retry time for callers that wait while the keeper ends: the next keeper serves them. */
const LEFT_RETRY_MS = 1000;
/**
 * Time for which a program that was started keeps its place among the starts. A tenant that does not become ready must
 * not block other starts for the whole limit of a start.
 */
const PLACE_MS = 5000;

/** How a tenant wakes: any number of callers share one start. */
class Waking {
  #parts;
  /** @type {Rising | null} */
  #rising = null;
  /** Its entry at its start, which has its ports; null = unknown. @type {import('../../../../../nodes/lib/tenants/file/schema').Spec | null} */
  #started = null;
  /** When it was last ready. */
  readyAt = 0;

  /** @param {WakingParts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  get isUnderWay() {
    return this.#rising !== null;
  }

  /** Ends a start that is under way. @param {{ isLeft: boolean }} options isLeft: the tenant runs on */
  giveUp({ isLeft }) {
    if (!this.#rising) return;
    this.#rising.isLeft = isLeft;
    this.#rising.abort.abort();
  }

  /** @param {Wish} wish @returns {Promise<Woken>} */
  async wake({ by, priority = LEAST_CLASS, isForced = false }) {
    const { status, tools, timer, crashes, sleeping, serial } = this.#parts;
    const { name } = status.spec;
    if (status.state === 'running') {
      sleeping.arm();
      return this.#woken('running', 0);
    }
    if (tools.isHeld?.(name))
      throw new TenantError('busy', `${name} is being restored, updated or removed.`, 1000);
    if (this.#rising) {
      this.#rising.priority = Math.min(this.#rising.priority, priority);
      this.#rising.turn?.urge(priority);
      return /** @type {Promise<Woken>} */ (this.#rising.promise);
    }
    if (isForced && !tools.driver.problem) crashes.forget();
    const { isFinal, waitMs } = crashes;
    if (isFinal || waitMs > EARLY_MS) {
      throw new TenantError('failed', `${name} does not run: ${status.reason}`, waitMs);
    }
    /** @type {Rising} */
    const rising = { by, priority, abort: new AbortController(), turn: null, promise: null, isLeft: false };
    this.#rising = rising;
    timer.stop();
    status.tell('waking', { by, class: priority });
    rising.promise = serial(() => this.#rise(rising)).finally(() => {
      this.#rising = null;
      sleeping.arm();
    });
    return rising.promise;
  }

  /** @param {Rising} rising @returns {Promise<Woken>} */
  async #rise(rising) {
    const { status, tools, crashes, watch: watching, sleeping } = this.#parts;
    const { driver, clock } = tools;
    const { signal } = rising.abort;
    const began = clock.now();
    const before = status.state;
    if (before === 'running') return this.#woken('running', 0);
    // An engine that refused once, for example under load, gets another request after the next start.
    sleeping.mayPauseAgain();
    let release = () => {};
    try {
      if (signal.aborted) throw new Error('was stopped');
      status.set('starting');
      const how = await startTenant(status, rising, tools, () => crashes.giveUp());
      release = clock.timer(PLACE_MS, () => rising.turn?.end());
      // A changed port counts from the next start.
      if (how === 'start' || !this.#started) this.#started = status.spec;
      status.host = await driver.address(status.spec);
      const watch = watching.begin('starting');
      await whenReady({
        accepts: (over) => tools.accepts(this.#started ?? status.spec, status.host, how, over),
        ended: watch.promise,
        clock,
        limitMs: tools.readyMs,
        signal
      });
      if (watch.reason) throw new Error(watch.reason);
      const readyMs = Math.round(clock.now() - began);
      this.readyAt = clock.now();
      status.lastWake = { at: clock.wall(), by: rising.by, how, readyMs };
      status.set('running');
      status.tell('ready', { by: rising.by, class: rising.priority, ms: readyMs, how });
      return this.#woken(how, readyMs);
    } catch (error) {
      watching.end();
      if (rising.isLeft) throw new TenantError('busy', 'The keeper ends.', LEFT_RETRY_MS);
      throw await this.#notRisen(error, before, signal.aborted);
    } finally {
      release();
      rising.turn?.end();
    }
  }

  /** @param {Woken['how']} how @param {number} readyMs @returns {Woken} */
  #woken(how, readyMs) {
    const { host, spec } = this.#parts.status;
    return { how, readyMs, host, port: (this.#started ?? spec).port };
  }

  /**
   * Cleans up after a start that failed.
   * @param {unknown} error
   * @param {State} before state before the start
   * @param {boolean} isAborted
   * @returns {Promise<Error>} the error for the waiting callers
   */
  async #notRisen(error, before, isAborted) {
    const { status, tools, crashes, watch, failed } = this.#parts;
    if (isEngineAway(error)) {
      status.set(before === 'starting' ? 'stopped' : before, messageOf(error));
      if (before === 'paused') watch.begin('paused');
      tools.onEngineAway();
      return /** @type {Error} */ (error);
    }
    const reason = await clearStart(status.spec, tools, { error, isAborted });
    const { name } = status.spec;
    if (isAborted) {
      status.set('stopped');
      status.tell('stopped', { reason: 'asked' });
      return new TenantError('busy', `${name} was stopped meanwhile.`, 1000);
    }
    failed(reason);
    return new TenantError('failed', `${name} does not start: ${reason}`, crashes.waitMs);
  }
}

exports.Waking = Waking;
