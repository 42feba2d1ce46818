'use strict';
// The life of one tenant:
//   absent → created → stopped → starting → running → pausing → paused → stopping → stopped,  and failed
// What changes the state runs in a queue, one after the other. What was true when a step was put into the queue may
// not be true when it runs, so each step looks again.

const { TenantError, isEngineAway, messageOf } = require('../base/errors');
const { Crashes } = require('./crashes');
const { FULL_GRACE_MS, dataProblem } = require('./data-limit');
const { Leases } = require('./leases');
const { EARLY_MS, OneTimer } = require('./one-timer');
const { whenReady } = require('./readiness');
const { clearStart, startTenant } = require('./start');
const { LEAST_CLASS } = require('./starts');
const { watchEnd } = require('./watch');

/** @typedef {'absent' | 'created' | 'stopped' | 'starting' | 'running' | 'pausing' | 'paused' | 'stopping' | 'failed'} State */
/** @typedef {import('../file/schema').Spec} Spec */
/** @typedef {{ how: 'start' | 'unpause' | 'running', readyMs: number, host: string, port: number }} Woken */
/** @typedef {{ by: string, priority?: number, isForced?: boolean }} Wish isForced: also after failures */
/** @typedef {import('./tenant-tools').Tools} Tools */
/**
 * @typedef {object} Rising a start under way
 * @property {string} by
 * @property {number} priority
 * @property {AbortController} abort
 * @property {import('./starts').Turn | null} turn
 * @property {Promise<Woken> | null} promise
 * @property {boolean} isLeft true: it was aborted because the keeper ends, and the tenant runs on
 */
/** @typedef {import('./watch').Watch} Watch */

/** Delay of another try to pause or stop when the engine did not answer. */
const RETRY_MS = 5000;
const MAX_REASON = 400;
/** For those who wait while the keeper ends: when to ask the next one. */
const LEFT_RETRY_MS = 1000;
/**
 * Time for which a program that was started keeps its place among the starts. One that does not become ready must not
 * keep the others from theirs for the whole limit of a start.
 */
const PLACE_MS = 5000;

class Tenant {
  #tools;
  #clock;
  /** @type {Promise<unknown>} */
  #tail = Promise.resolve();
  /** @type {Rising | null} */
  #rising = null;
  /** @type {Watch | null} */
  #watch = null;
  /** Ends in the sleep of an unused tenant, or in another start of one that always runs. */
  #timer;
  #readyAt = 0;
  /** Until then it may have leases of an earlier keeper, which this one does not know. */
  #heldUntil = 0;
  /** Its entry as it was started, which has its ports; null = unknown. @type {Spec | null} */
  #started = null;
  #isClosed = false;
  /** The engine refused to pause it. */
  #cannotPause = false;
  #crashes;
  #leases;

  /** @param {Spec} spec @param {Tools} tools */
  constructor(spec, tools) {
    this.spec = spec;
    this.#tools = tools;
    this.#clock = tools.clock;
    this.#timer = new OneTimer(tools.clock);
    this.#crashes = new Crashes(tools.clock);
    this.#leases = new Leases({
      name: spec.name,
      clock: tools.clock,
      lifeMs: tools.leaseMs,
      onEmpty: () => this.#arm()
    });
    /** @type {State} */
    this.state = 'absent';
    this.since = tools.clock.wall();
    this.reason = '';
    this.host = '';
    /** @type {{ at: number, by: string, how: string, readyMs: number } | null} */
    this.lastWake = null;
    /** Of its volume at the last look, 0 = unknown. */
    this.dataBytes = 0;
  }

  get leases() {
    return this.#leases.size;
  }

  get failures() {
    return this.#crashes.count;
  }

  /** Why its driver cannot be used, '' = it can. */
  get problem() {
    return this.#tools.driver.problem ?? '';
  }

  /**
   * Keeps the tenant awake until the lease ends, and wakes it if necessary.
   * @param {{ by: string, priority: number, holder: string }} request
   * @param {AbortSignal} [signal] the one who asked is gone
   * @returns {Promise<Woken & { lease: string }>}
   */
  async lease({ by, priority, holder }, signal) {
    this.#refuseClosed();
    const woken = await this.#leases.take(holder, signal, () => {
      this.#timer.stop();
      return this.wake({ by, priority, isForced: by === 'operator' });
    });
    if (woken) return woken;
    throw new TenantError(
      'busy',
      `${this.spec.name} was stopped meanwhile.`,
      Math.max(1000, this.#crashes.waitMs)
    );
  }

  /** @param {string} lease @returns {boolean} false: it has ended, ask for another one */
  renew(lease) {
    return this.#leases.renew(lease);
  }

  /** @param {string} lease @returns {boolean} false: it has ended already */
  release(lease) {
    return this.#leases.end(lease);
  }

  /** Any number of callers share one start. @param {Wish} wish @returns {Promise<Woken>} */
  async wake({ by, priority = LEAST_CLASS, isForced = false }) {
    this.#refuseClosed();
    if (this.state === 'running') {
      this.#arm();
      return this.#woken('running', 0);
    }
    if (this.#tools.isHeld?.(this.spec.name)) {
      throw new TenantError('busy', `${this.spec.name} is being restored.`, 1000);
    }
    if (this.#rising) {
      this.#rising.priority = Math.min(this.#rising.priority, priority);
      this.#rising.turn?.urge(priority);
      return /** @type {Promise<Woken>} */ (this.#rising.promise);
    }
    if (isForced && !this.problem) this.#crashes.forget();
    const { isFinal, waitMs } = this.#crashes;
    if (isFinal || waitMs > EARLY_MS) {
      throw new TenantError('failed', `${this.spec.name} does not run: ${this.reason}`, waitMs);
    }
    /** @type {Rising} */
    const rising = { by, priority, abort: new AbortController(), turn: null, promise: null, isLeft: false };
    this.#rising = rising;
    this.#timer.stop();
    this.#tell('waking', { by, class: priority });
    rising.promise = this.#serial(() => this.#rise(rising)).finally(() => {
      this.#rising = null;
      this.#arm();
    });
    return rising.promise;
  }

  /**
   * Stops or pauses the tenant. Resolves when it sleeps.
   * @param {{ isForced?: boolean, isPause?: boolean }} [options] isForced: although it is in use
   */
  async sleep({ isForced = false, isPause = false } = {}) {
    this.#refuseClosed();
    this.#refuseLeased(isForced);
    if (isForced) {
      this.#leases.drop();
      this.#rising?.abort.abort();
    }
    await this.#serial(async () => {
      this.#refuseLeased(isForced);
      this.#leases.drop();
      if (isPause && this.state === 'running' && this.#canPause) await this.#pause('asked');
      else if (this.state === 'running' || this.state === 'paused') await this.#stop('asked');
    });
  }

  /**
   * Compares the state with what the driver sees: at the keeper's start, and when an engine is back. Does not wait
   * until a running tenant is ready.
   */
  async reconcile() {
    const isRunning = await this.#serial(async () => {
      if (this.#isClosed) return false;
      const { state, reason } = await this.#tools.driver.inspect(this.spec);
      if (this.state === 'running' || this.state === 'paused') {
        if (state === 'running' || state === 'paused') this.#follow(state);
        else this.#fall(reason || 'ended unseen');
        return state === 'paused' && this.#leases.size > 0;
      }
      if (state === 'running') this.#heldUntil = this.#clock.now() + this.#tools.leaseMs;
      if (state === 'running') return true;
      if (state === 'paused') {
        this.host = await this.#tools.driver.address(this.spec);
        this.#follow(state);
      } else if (this.state !== 'failed') this.#set(state, reason);
      return false;
    });
    if (isRunning || this.spec.always) this.#wakeAlone(isRunning ? 'keeper' : 'always', isRunning);
  }

  /** Stops the tenant if its data exceed their limit: until a person wakes it, and its data are fewer. */
  async checkData() {
    if (this.state !== 'running') return;
    const problem = await dataProblem(this.#tools.driver, this);
    if (!problem || this.#isClosed) return;
    this.#leases.drop();
    await this.#serial(async () => {
      if (this.state === 'running' || this.state === 'paused') await this.#stop(problem, FULL_GRACE_MS);
      this.giveUp(problem);
    });
  }

  /** It does not start by itself from now on. @param {string} reason */
  giveUp(reason) {
    this.#crashes.giveUp();
    this.#set('failed', reason);
    this.#tell('failed', { reason, failures: this.#crashes.count });
  }

  /** Applies a changed entry of the tenants file: times at once, the rest at the next start. @param {Spec} spec */
  update(spec) {
    this.spec = spec;
    this.#cannotPause = false;
    if (this.problem) return;
    this.#crashes.forget();
    if (this.state === 'failed') this.#set('stopped', this.reason);
    this.#arm();
    if (spec.always && this.state === 'stopped') this.#wakeAlone('always');
  }

  /**
   * Ends this object. A start that waits for its place, or for the tenant to be ready, is given up.
   * @param {{ isStopped: boolean }} options false: the tenant runs on
   */
  async close({ isStopped }) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.stop();
    this.#leases.drop();
    if (this.#rising) {
      this.#rising.isLeft = !isStopped;
      this.#rising.abort.abort();
    }
    await this.#serial(async () => {
      if (isStopped && (this.state === 'running' || this.state === 'paused')) await this.#stop('removed');
    }).finally(() => this.#unwatch());
  }

  /** @template T @param {() => Promise<T>} step @returns {Promise<T>} */
  #serial(step) {
    const run = this.#tail.then(step);
    this.#tail = run.catch(() => {});
    return run;
  }

  /** @param {Rising} rising @returns {Promise<Woken>} */
  async #rise(rising) {
    const { driver, clock } = this.#tools;
    const { signal } = rising.abort;
    const began = clock.now();
    const before = this.state;
    if (before === 'running') return this.#woken('running', 0);
    // An engine that refused once, say under load, is asked again after the next start.
    this.#cannotPause = false;
    let release = () => {};
    try {
      if (signal.aborted) throw new Error('was stopped');
      this.#set('starting');
      const how = await startTenant(this, rising, this.#tools, () => this.#crashes.giveUp());
      release = clock.timer(PLACE_MS, () => rising.turn?.end());
      // A changed port counts from the next start.
      if (how === 'start' || !this.#started) this.#started = this.spec;
      this.host = await driver.address(this.spec);
      const watch = this.#follow('starting');
      await whenReady({
        accepts: (over) => this.#tools.accepts(this.#started ?? this.spec, this.host, how, over),
        ended: watch.promise,
        clock,
        limitMs: this.#tools.readyMs,
        signal
      });
      if (watch.reason) throw new Error(watch.reason);
      const readyMs = Math.round(clock.now() - began);
      this.#readyAt = clock.now();
      this.lastWake = { at: clock.wall(), by: rising.by, how, readyMs };
      this.#set('running');
      this.#tell('ready', { by: rising.by, class: rising.priority, ms: readyMs, how });
      return this.#woken(how, readyMs);
    } catch (error) {
      this.#unwatch();
      if (rising.isLeft) throw new TenantError('busy', 'The keeper ends.', LEFT_RETRY_MS);
      throw await this.#notRisen(error, before, signal.aborted);
    } finally {
      release();
      rising.turn?.end();
    }
  }

  /** @param {Woken['how']} how @param {number} readyMs @returns {Woken} */
  #woken = (how, readyMs) => ({ how, readyMs, host: this.host, port: (this.#started ?? this.spec).port });

  /**
   * Cleans up after a start that failed.
   * @param {unknown} error
   * @param {State} before state before the start
   * @param {boolean} isAborted
   * @returns {Promise<Error>} the error for those who wait
   */
  async #notRisen(error, before, isAborted) {
    if (isEngineAway(error)) {
      this.#set(before === 'starting' ? 'stopped' : before, messageOf(error));
      if (before === 'paused') this.#follow('paused');
      this.#tools.onEngineAway();
      return /** @type {Error} */ (error);
    }
    const reason = await clearStart(this.spec, this.#tools, { error, isAborted });
    if (isAborted) {
      this.#set('stopped');
      this.#tell('stopped', { reason: 'asked' });
      return new TenantError('busy', `${this.spec.name} was stopped meanwhile.`, 1000);
    }
    this.#count(reason, 0);
    return new TenantError('failed', `${this.spec.name} does not start: ${reason}`, this.#crashes.waitMs);
  }

  /** Watches for the tenant's end. @param {State} state @returns {Watch} */
  #follow(state) {
    this.#unwatch();
    const isWatched = () => this.#watch === watch && (this.state === 'running' || this.state === 'paused');
    const fall = (/** @type {string} */ reason) => isWatched() && this.#fall(reason);
    const { driver, onEngineAway } = this.#tools;
    const watch = watchEnd(driver, this.spec, {
      // A start notices by itself. A pause that is under way ends first.
      ended: (reason) =>
        void (this.state === 'pausing' ? this.#serial(async () => fall(reason)) : fall(reason)),
      away: onEngineAway,
      refused: (error) => {
        this.reason = messageOf(error);
        this.#clock.timer(RETRY_MS, () => isWatched() && this.#follow(this.state));
      }
    });
    this.#watch = watch;
    if (state !== this.state) this.#set(state);
    this.#arm();
    return watch;
  }

  #unwatch() {
    this.#watch?.abort.abort();
    this.#watch = null;
  }

  /** It ended by itself. @param {string} reason */
  #fall(reason) {
    const ranMs = this.#clock.now() - this.#readyAt;
    this.#unwatch();
    this.#timer.stop();
    // Their holders learn it when they renew.
    this.#leases.drop();
    this.#count(reason, ranMs);
  }

  /** @param {string} reason of a failure @param {number} ranMs */
  #count(reason, ranMs) {
    this.#crashes.add(ranMs);
    const { isFinal, waitMs, count } = this.#crashes;
    this.#set(isFinal ? 'failed' : 'stopped', reason);
    this.#tell(isFinal ? 'failed' : 'crashed', { reason: this.reason, failures: count });
    if (!this.spec.always || isFinal) return;
    this.#timer.start(waitMs, () => this.#wakeAlone('always'));
  }

  /** A wake that nobody waits for. @param {string} by @param {boolean} [isForced] */
  #wakeAlone(by, isForced = false) {
    if (!this.#isClosed) this.wake({ by, isForced }).catch(() => {});
  }

  get #canPause() {
    return this.#tools.driver.canPause && !this.#cannotPause;
  }

  /** Pauses it, or stops it if the engine refuses: without the control group freezer, say. @param {string} why */
  async #pause(why) {
    const { driver } = this.#tools;
    this.#set('pausing');
    try {
      await driver.pause(this.spec);
    } catch (error) {
      this.#set('running');
      this.#arm(RETRY_MS);
      // One that has ended meanwhile is its watch's matter.
      if (isEngineAway(error) || (await driver.inspect(this.spec)).state !== 'running') throw error;
      this.#cannotPause = true;
      await this.#stop(why);
      this.reason = `cannot be paused: ${messageOf(error)}`.slice(0, MAX_REASON);
      return;
    }
    this.#set('paused');
    this.#tell('paused', {});
    this.#arm();
  }

  /** @param {string} reason @param {number} [mostMs] for an orderly end */
  async #stop(reason, mostMs = Infinity) {
    const before = this.state;
    this.#timer.stop();
    this.#set('stopping');
    this.#unwatch();
    try {
      await this.#tools.driver.stop(this.spec, Math.min(this.#tools.graceMs, mostMs));
    } catch (error) {
      this.#set(before);
      this.#follow(before);
      this.#arm(RETRY_MS);
      throw error;
    }
    this.#set('stopped');
    this.#tell('stopped', { reason });
  }

  /** Starts the time after which an unused tenant sleeps, again. @param {number} [leastMs] */
  #arm(leastMs = 0) {
    const { always, idleMs, stopMs } = this.spec;
    if (this.state !== 'running' && this.state !== 'paused') return;
    this.#timer.stop();
    if (always || this.#isClosed || this.#leases.size > 0 || this.#rising) return;
    const now = this.#clock.now();
    const ms = Math.max(leastMs, this.#heldUntil - now, this.state === 'running' ? idleMs : stopMs);
    this.#timer.start(ms, () => this.#idle());
  }

  #idle() {
    this.#serial(async () => {
      if (!this.#timer.isDue || this.#leases.size > 0 || this.#rising) return;
      const canPause = this.spec.warm && this.#canPause;
      if (this.state === 'running' && canPause) await this.#pause('idle');
      else if (this.state === 'running' || this.state === 'paused') await this.#stop('idle');
    }).catch((error) => {
      if (isEngineAway(error)) this.#tools.onEngineAway();
      else this.reason = messageOf(error);
    });
  }

  /** @param {State} state @param {string} [reason] */
  #set(state, reason = '') {
    if (state !== this.state) this.since = this.#clock.wall();
    this.state = state;
    this.reason = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
  }

  /** @param {string} event @param {object} more */
  #tell(event, more) {
    this.#tools.tell({ at: this.#clock.wall(), tenant: this.spec.name, event, ...more });
  }

  #refuseClosed() {
    if (this.#isClosed) throw new TenantError('unknown', `There is no tenant '${this.spec.name}'.`);
  }

  /** @param {boolean} isForced */
  #refuseLeased(isForced) {
    if (isForced || this.#leases.size === 0) return;
    throw new TenantError('leased', `${this.spec.name} is in use (${this.#leases.size} leases).`);
  }
}

exports.Tenant = Tenant;
