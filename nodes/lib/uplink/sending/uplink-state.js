'use strict';

const { dueMs, oldestMs } = require('./batch-ages');
const { refusalName } = require('../session/reason-codes');
const { allRefused } = require('./problem-sentences');

/** @typedef {import('../session/reason-codes').Reason} Reason */
/** @typedef {import('../session/session').State} State */
/** @typedef {State | 'stalled'} Shown */

/**
 * What is told about a session: to people, and to the engine, which decides by it when records are written to disk. A
 * connection on which nothing moves is not called connected.
 */
class Status {
  /** @param {import('./feeder').Feeder} feeder @param {() => void} onChange */
  constructor(feeder, onChange) {
    this.feeder = feeder;
    this.onChange = onChange;
    /** Of the session. @type {State} */
    this.state = 'connecting';
    /** @type {Reason | null} */
    this.why = null;
    this.isStalled = false;
    this.wasRefused = false;
    this.isStopping = false;
  }

  /** The broker takes nothing of what it is sent. */
  get isRefused() {
    return this.feeder.sender.refusals.allRefused !== 0;
  }

  /** @param {State} state @param {Reason | null} why */
  set(state, why) {
    this.state = state;
    this.why = why;
    this.isStalled = this.#findStalled();
    this.tellSource();
    this.onChange();
  }

  /** The engine is about to be left: it hears that the uplink is down, and nothing else. */
  stop() {
    this.isStopping = true;
    this.tellSource();
  }

  /** The session is over; nobody is told yet. */
  end() {
    this.state = 'stopped';
    this.why = null;
  }

  /** The engine hears whether the cloud answers. */
  tellSource() {
    const isUp = this.state === 'connected' && !this.isStalled && !this.isRefused && !this.isStopping;
    this.feeder.tell(isUp);
  }

  /** Call it several times a second. */
  check() {
    this.feeder.express.look();
    const isStalled = this.#findStalled();
    const { isRefused } = this;
    if (isStalled === this.isStalled && isRefused === this.wasRefused) return;
    this.isStalled = isStalled;
    this.wasRefused = isRefused;
    this.tellSource();
    this.onChange();
  }

  #findStalled() {
    const { feeder } = this;
    return this.state === 'connected' && feeder.sender.pulse.isStalled(dueMs(feeder));
  }

  view() {
    const { feeder, why } = this;
    feeder.express.look();
    const { window, sender } = feeder;
    const shown = this.state === 'connected' ? this.#connection() : null;
    return {
      state: shown?.state ?? this.state,
      code: shown?.code ?? why?.code ?? '',
      reason: shown?.reason ?? why?.reason ?? '',
      rttMs: sender.pulse.rttMs,
      oldestMs: oldestMs(feeder),
      inflight: feeder.inflight,
      express: feeder.express.isAboard,
      backlogInflight: window.backlog,
      quotaWait: sender.quotaWait,
      published: sender.published,
      acknowledged: sender.acknowledged,
      redelivered: sender.redelivered,
      unmatched: sender.unmatched,
      failed: sender.failed,
      deadLetters: sender.deadLetters,
      refusals: sender.refusals.count
    };
  }

  /** What there is to say about a connection that is up. @returns {{state: Shown, code: string, reason: string} | null} */
  #connection() {
    const { quotaWait, refusals } = this.feeder.sender;
    if (refusals.allRefused !== 0) {
      const code = `PUBACK_${refusals.allRefused}`;
      return { state: 'refused', code, reason: allRefused(refusalName(refusals.allRefused)) };
    }
    const state = this.isStalled ? 'stalled' : 'connected';
    if (quotaWait > 0) {
      const when = `within ${Math.ceil(quotaWait / 1000)} s`;
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
