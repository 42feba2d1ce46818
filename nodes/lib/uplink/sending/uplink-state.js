'use strict';

const { dueMs, oldestMs } = require('./batch-ages');
const { refusalName } = require('../session/reason-codes');
const { allRefused } = require('./refused/problem-sentences');

/** @typedef {import('../session/reason-codes').Reason} Reason */
/** @typedef {import('../session/session').State} State */
/** @typedef {State | 'stalled'} Shown */

/**
 * The reported state of a session: for display, and for the engine, which uses it to decide when to write records to
 * disk. A connection on which nothing moves is not reported as connected.
 */
class Status {
  /** @param {import('./feeder').Feeder} feeder @param {() => void} onChange */
  constructor(feeder, onChange) {
    this.feeder = feeder;
    this.onChange = onChange;
    /** State of the session. @type {State} */
    this.state = 'connecting';
    /** @type {Reason | null} */
    this.why = null;
    this.isStalled = false;
    this.wasRefused = false;
    this.isStopping = false;
  }

  /** True if the broker accepts nothing that it is sent. */
  get isRefused() {
    return this.feeder.sender.resends.refusals.allRefused !== 0;
  }

  /** @param {State} state @param {Reason | null} why */
  set(state, why) {
    this.state = state;
    this.why = why;
    this.isStalled = this.#findStalled();
    this.reportToSource();
    this.onChange();
  }

  /**
   * Reports to the engine that the uplink is down, and nothing else from then on. Call it before leaving the engine.
   */
  stop() {
    this.isStopping = true;
    this.reportToSource();
  }

  /** The session is over. Sends no report. */
  end() {
    this.state = 'stopped';
    this.why = null;
  }

  /** Reports to the engine whether the uplink is up. */
  reportToSource() {
    const isUp = this.state === 'connected' && !this.isStalled && !this.isRefused && !this.isStopping;
    this.feeder.reportUp(isUp);
  }

  /** Call it several times a second. */
  check() {
    this.feeder.express.refresh();
    const isStalled = this.#findStalled();
    const { isRefused } = this;
    if (isStalled === this.isStalled && isRefused === this.wasRefused) return;
    this.isStalled = isStalled;
    this.wasRefused = isRefused;
    this.reportToSource();
    this.onChange();
  }

  #findStalled() {
    const { feeder } = this;
    return this.state === 'connected' && feeder.sender.liveness.isStalled(dueMs(feeder));
  }

  view() {
    const { feeder, why } = this;
    feeder.express.refresh();
    const { window, sender } = feeder;
    const shown = this.state === 'connected' ? this.#connection() : null;
    return {
      state: shown?.state ?? this.state,
      code: shown?.code ?? why?.code ?? '',
      reason: shown?.reason ?? why?.reason ?? '',
      rttMs: sender.liveness.rttMs,
      oldestMs: oldestMs(feeder),
      inflight: feeder.inflight,
      express: feeder.express.isActive,
      backlogInflight: window.backlog,
      quotaWait: sender.resends.waitMs,
      published: sender.published,
      acknowledged: sender.acknowledged,
      redelivered: sender.redelivered,
      unmatched: sender.unmatched,
      failed: sender.failed,
      deadLetters: sender.deadLetters,
      refusals: sender.resends.refusals.count
    };
  }

  /**
   * Returns the state of a connection that is up, or null when there is nothing to report.
   * @returns {{state: Shown, code: string, reason: string} | null}
   */
  #connection() {
    const { refusals, waitMs } = this.feeder.sender.resends;
    if (refusals.allRefused !== 0) {
      const code = `PUBACK_${refusals.allRefused}`;
      return { state: 'refused', code, reason: allRefused(refusalName(refusals.allRefused)) };
    }
    const state = this.isStalled ? 'stalled' : 'connected';
    if (waitMs > 0) {
      const when = `within ${Math.ceil(waitMs / 1000)} s`;
      const reason = `The broker refuses records for now (${refusalName(refusals.code)}); they are kept and sent again ${when}.`;
      return { state, code: `PUBACK_${refusals.code}`, reason };
    }
    if (!this.isStalled) return null;
    const age = Math.round(oldestMs(this.feeder) / 1000);
    const reason = `The connection is up, but the broker acknowledges nothing: the oldest record has waited for ${age} s. Check the broker and the network.`;
    return { state, code: 'STALLED', reason };
  }
}

exports.Status = Status;
