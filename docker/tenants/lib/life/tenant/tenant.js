'use strict';
// The life of one tenant:
//   absent → created → stopped → starting → running → pausing → paused → stopping → stopped,  and failed
// What changes the state runs in a queue, one after the other. What was true when a step was put into the queue may
// not be true when it runs, so each step looks again.

const { TenantError } = require('../../base/errors');
const { Crashes } = require('./crashes');
const { FULL_GRACE_MS, dataProblem } = require('./data-limit');
const { Leases } = require('./leases');
const { OneTimer } = require('./one-timer');
const { Sleeping } = require('./sleeping');
const { Status } = require('./status');
const { Waking } = require('./waking');
const { EndWatch } = require('./watch');

/** @typedef {import('../../../../../nodes/lib/tenants/file/schema').Spec} Spec */
/** @typedef {import('./tenant-tools').Tools} Tools */
/** @typedef {import('./waking').Wish} Wish */
/** @typedef {import('./waking').Woken} Woken */

class Tenant {
  #tools;
  /** @type {Promise<unknown>} */
  #tail = Promise.resolve();
  /** Ends in the sleep of an unused tenant, or in another start of one that always runs. */
  #timer;
  #watch;
  #waking;
  #sleeping;
  #crashes;
  #leases;
  #isClosed = false;

  /** @param {Spec} spec @param {Tools} tools */
  constructor(spec, tools) {
    this.#tools = tools;
    this.status = new Status(spec, tools);
    this.#timer = new OneTimer(tools.clock);
    this.#crashes = new Crashes(tools.clock);
    this.#leases = new Leases({
      name: spec.name,
      clock: tools.clock,
      lifeMs: tools.leaseMs,
      onEmpty: () => this.#sleeping.arm()
    });
    const serial = (/** @type {() => Promise<any>} */ step) => this.#serial(step);
    const shared = { status: this.status, tools, timer: this.#timer, serial };
    this.#watch = new EndWatch({
      ...shared,
      begun: () => this.#sleeping.arm(),
      fell: (reason) => this.#fall(reason)
    });
    this.#sleeping = new Sleeping({
      ...shared,
      watch: this.#watch,
      isUsed: () => this.#isClosed || this.#leases.size > 0 || this.#waking.isUnderWay
    });
    this.#waking = new Waking({
      ...shared,
      crashes: this.#crashes,
      watch: this.#watch,
      sleeping: this.#sleeping,
      failed: (reason) => this.#count(reason, 0)
    });
  }

  get leases() {
    return this.#leases.size;
  }

  get failures() {
    return this.#crashes.count;
  }

  /** A start was asked for and has not ended. */
  get isWaking() {
    return this.#waking.isUnderWay;
  }

  /** @returns {number} ms until it may start after failures */
  get retryMs() {
    return this.#crashes.waitMs;
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
      `${this.status.spec.name} was stopped meanwhile.`,
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
  async wake(wish) {
    this.#refuseClosed();
    return this.#waking.wake(wish);
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
      this.#waking.giveUp({ isLeft: false });
    }
    await this.#serial(async () => {
      this.#refuseLeased(isForced);
      this.#leases.drop();
      await this.#sleeping.sleep('asked', { mayPause: isPause });
    });
  }

  /**
   * Compares the state with what the driver sees: at the keeper's start, and when an engine is back. Does not wait
   * until a running tenant is ready.
   */
  async reconcile() {
    const { status } = this;
    const { driver, leaseMs } = this.#tools;
    const isRunning = await this.#serial(async () => {
      if (this.#isClosed) return false;
      const { state, reason } = await driver.inspect(status.spec);
      if (status.isUp) {
        if (state === 'running' || state === 'paused') this.#watch.begin(state);
        else this.#fall(reason || 'ended unseen');
        return state === 'paused' && this.#leases.size > 0;
      }
      if (state === 'running') this.#sleeping.hold(leaseMs);
      if (state === 'running') return true;
      if (state === 'paused') {
        status.host = await driver.address(status.spec);
        this.#watch.begin(state);
      } else if (status.state !== 'failed') status.set(state, reason);
      return false;
    });
    if (isRunning || status.spec.always) this.#wakeAlone(isRunning ? 'keeper' : 'always', isRunning);
  }

  /** Stops the tenant if its data exceed their limit. It stays stopped until it has less data and a person wakes it. */
  async checkData() {
    if (this.status.state !== 'running') return;
    const problem = await dataProblem(this.#tools.driver, this.status);
    if (!problem || this.#isClosed) return;
    this.#leases.drop();
    await this.#serial(async () => {
      await this.#sleeping.sleep(problem, { mostMs: FULL_GRACE_MS });
      this.giveUp(problem);
    });
  }

  /** From now on, it does not start by itself. @param {string} reason */
  giveUp(reason) {
    this.#crashes.giveUp();
    this.status.set('failed', reason);
    this.status.tell('failed', { reason, failures: this.#crashes.count });
  }

  /** Applies a changed entry of the tenants file: times at once, the rest at the next start. @param {Spec} spec */
  update(spec) {
    const { status } = this;
    status.spec = spec;
    this.#sleeping.mayPauseAgain();
    if (this.problem) return;
    this.#crashes.forget();
    if (status.state === 'failed') status.set('stopped', status.reason);
    this.#sleeping.arm();
    if (spec.always && status.state === 'stopped') this.#wakeAlone('always');
  }

  /**
   * Ends this object. It aborts a start that waits for its place, or for the tenant to be ready.
   * @param {{ isStopped: boolean }} options false: the tenant runs on
   */
  async close({ isStopped }) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.stop();
    this.#leases.drop();
    this.#waking.giveUp({ isLeft: !isStopped });
    await this.#serial(async () => {
      if (isStopped) await this.#sleeping.sleep('removed');
    }).finally(() => this.#watch.end());
  }

  /** @template T @param {() => Promise<T>} step @returns {Promise<T>} */
  #serial(step) {
    const run = this.#tail.then(step);
    this.#tail = run.catch(() => {});
    return run;
  }

  /** It ended by itself. @param {string} reason */
  #fall(reason) {
    const ranMs = this.#tools.clock.now() - this.#waking.readyAt;
    this.#watch.end();
    this.#timer.stop();
    // Their holders notice when they renew.
    this.#leases.drop();
    this.#count(reason, ranMs);
  }

  /** @param {string} reason of a failure @param {number} ranMs */
  #count(reason, ranMs) {
    this.#crashes.add(ranMs);
    const { isFinal, waitMs, count } = this.#crashes;
    const { status } = this;
    status.set(isFinal ? 'failed' : 'stopped', reason);
    status.tell(isFinal ? 'failed' : 'crashed', { reason: status.reason, failures: count });
    if (!status.spec.always || isFinal) return;
    this.#timer.start(waitMs, () => this.#wakeAlone('always'));
  }

  /** A wake without a waiting caller. @param {string} by @param {boolean} [isForced] */
  #wakeAlone(by, isForced = false) {
    if (!this.#isClosed) this.wake({ by, isForced }).catch(() => {});
  }

  #refuseClosed() {
    if (this.#isClosed) throw new TenantError('unknown', `There is no tenant '${this.status.spec.name}'.`);
  }

  /** @param {boolean} isForced */
  #refuseLeased(isForced) {
    if (isForced || this.#leases.size === 0) return;
    throw new TenantError('leased', `${this.status.spec.name} is in use (${this.#leases.size} leases).`);
  }
}

exports.Tenant = Tenant;
