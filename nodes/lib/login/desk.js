'use strict';
// Answers those who want to be devices: each login of the engine goes to the checker of its listener.

/**
 * @typedef {import('../../../native/index.js').Login} Login
 * @typedef {string | null | undefined} Verdict the device id to let it in as; null: refused; undefined: nobody could tell, so it is
 *   not answered, and its connection ends by its time-out
 * @typedef {(login: Login) => Promise<Verdict>} Checker
 * @typedef {(login: Login, source: { protocol: string, nodeId: string }) => Promise<Verdict>} FlowChecker
 */

class LoginDesk {
  /**
   * @param {Pick<import('../../../native/index.js').Engine, 'takeLogins' | 'answerLogin'>} engine
   * @param {(fn: () => void) => () => void} onBell
   */
  constructor(engine, onBell) {
    this.engine_ = engine;
    this.onBell_ = onBell;
    /** @type {Map<number, Checker>} by stage */
    this.checkers_ = new Map();
    /** @type {(() => void) | null} */
    this.endBell_ = null;
    /** Of the login node, if the engine has one. @type {FlowChecker | null} */
    this.flow = null;
  }

  /** @param {number} stage that listens with login 'ask' @param {Checker} check must not throw */
  serve(stage, check) {
    this.checkers_.set(stage, check);
    this.endBell_ ??= this.onBell_(() => this.run_());
  }

  /** @param {number} stage */
  leave(stage) {
    this.checkers_.delete(stage);
    if (this.checkers_.size > 0) return;
    this.endBell_?.();
    this.endBell_ = null;
  }

  run_() {
    for (const login of this.engine_.takeLogins()) {
      const check = this.checkers_.get(login.stage);
      // A listener that is going away: its connections end with it.
      if (check) this.answer_(login, check);
    }
  }

  /** @param {Login} login @param {Checker} check */
  async answer_(login, check) {
    const verdict = await check(login).catch(() => null);
    // Nobody is told before the next turn whether the engine still runs.
    if (verdict !== undefined && this.checkers_.size > 0) this.engine_.answerLogin(login.id, verdict);
  }
}

exports.LoginDesk = LoginDesk;
