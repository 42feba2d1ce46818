'use strict';

const { isEngineAway, messageOf } = require('../../base/errors');
const { MAX_REASON } = require('./status');

/** Delay of another try to pause or stop when the engine did not answer. */
const RETRY_MS = 5000;

/** @typedef {import('./tenant-tools').Tools} Tools */
/**
 * @typedef {object} SleepingParts
 * @property {import('./status').Status} status
 * @property {Pick<Tools, 'driver' | 'clock' | 'graceMs' | 'onEngineAway'>} tools
 * @property {import('./one-timer').OneTimer} timer
 * @property {import('./watch').EndWatch} watch
 * @property {() => boolean} isUsed true: it must not sleep by itself
 * @property {(step: () => Promise<void>) => Promise<void>} serial runs a step when those before it have ended
 */

/** Lets a tenant sleep, at once or when it is unused: paused if that is possible and wanted, else stopped. */
class Sleeping {
  #parts;
  /** Until then it may have leases from an earlier keeper, which this one does not know. */
  #heldUntil = 0;
  /** The engine refused to pause it. */
  #cannotPause = false;

  /** @param {SleepingParts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Lets the next sleep try again to pause, after an engine that refused it. */
  mayPauseAgain() {
    this.#cannotPause = false;
  }

  /** The tenant does not sleep by itself for this time. @param {number} ms */
  hold(ms) {
    this.#heldUntil = this.#parts.tools.clock.now() + ms;
  }

  /** Restarts the time after which an unused tenant sleeps. @param {number} [leastMs] */
  arm(leastMs = 0) {
    const { status, timer, tools, isUsed } = this.#parts;
    const { always, idleMs, stopMs } = status.spec;
    if (!status.isUp) return;
    timer.stop();
    if (always || isUsed()) return;
    const held = this.#heldUntil - tools.clock.now();
    timer.start(Math.max(leastMs, held, status.state === 'running' ? idleMs : stopMs), () => this.#idle());
  }

  #idle() {
    const { status, timer, tools, isUsed, serial } = this.#parts;
    serial(async () => {
      if (timer.isDue && !isUsed()) await this.sleep('idle', { mayPause: status.spec.warm });
    }).catch((error) => {
      if (isEngineAway(error)) tools.onEngineAway();
      else status.reason = messageOf(error);
    });
  }

  /**
   * Pauses or stops the tenant, if it runs or is paused. REQUIRES: no other step is under way.
   * @param {string} why
   * @param {{ mayPause?: boolean, mostMs?: number }} [options] mostMs: for an orderly end
   */
  async sleep(why, { mayPause = false, mostMs = Infinity } = {}) {
    const { status, tools } = this.#parts;
    const canPause = mayPause && tools.driver.canPause && !this.#cannotPause;
    if (status.state === 'running' && canPause) await this.#pause(why);
    else if (status.isUp) await this.#stop(why, mostMs);
  }

  /** Pauses it, or stops it if the engine refuses: without the control group freezer, say. @param {string} why */
  async #pause(why) {
    const { status, tools } = this.#parts;
    const { driver } = tools;
    status.set('pausing');
    try {
      await driver.pause(status.spec);
    } catch (error) {
      status.set('running');
      this.arm(RETRY_MS);
      // The watch handles a tenant that has ended meanwhile.
      if (isEngineAway(error) || (await driver.inspect(status.spec)).state !== 'running') throw error;
      this.#cannotPause = true;
      await this.#stop(why, Infinity);
      status.reason = `cannot be paused: ${messageOf(error)}`.slice(0, MAX_REASON);
      return;
    }
    status.set('paused');
    status.tell('paused', {});
    this.arm();
  }

  /** @param {string} reason @param {number} mostMs */
  async #stop(reason, mostMs) {
    const { status, timer, tools, watch } = this.#parts;
    const before = status.state;
    timer.stop();
    status.set('stopping');
    watch.end();
    try {
      await tools.driver.stop(status.spec, Math.min(tools.graceMs, mostMs));
    } catch (error) {
      status.set(before);
      watch.begin(before);
      this.arm(RETRY_MS);
      throw error;
    }
    status.set('stopped');
    status.tell('stopped', { reason });
  }
}

exports.Sleeping = Sleeping;
