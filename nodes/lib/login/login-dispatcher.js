'use strict';
// Answers those who want to be devices: each login of the engine goes to the checker of its listener.

/**
 * @typedef {import('../../../native/index.js').Login} Login
 * @typedef {string | null | undefined} Verdict the device id to let it in as; null: refused; undefined: nobody could tell, so it is
 *   not answered, and its connection ends by its time-out
 * @typedef {(login: Login) => Promise<Verdict>} Checker
 * @typedef {{ protocol: string, nodeId: string }} Source
 * @typedef {(login: Login, source: Source) => Promise<Verdict>} FlowChecker
 */

const { onceATurn } = require('../base/once-a-turn');

/** Of one turn: a flood of logins leaves time for everything else of Node-RED. */
const MAX_LOGINS = 64;
/** Logins that wait for the end of a deploy. */
const MAX_HELD = 1000;

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
    /** While a deploy remakes the flow: who waits for its end. @type {(() => void)[] | null} */
    this.held_ = null;
    this.run_ = onceATurn(() => this.takeSome_());
  }

  /** @param {number} stage that listens with login 'ask' @param {Checker} check must not throw */
  serve(stage, check) {
    this.checkers_.set(stage, check);
    this.endBell_ ??= this.onBell_(this.run_);
  }

  /** @param {number} stage */
  leave(stage) {
    this.checkers_.delete(stage);
    if (this.checkers_.size > 0) return;
    this.endBell_?.();
    this.endBell_ = null;
  }

  /** A deploy begins: until resume() the login node, and the nodes behind it, may be missing. */
  hold() {
    this.held_ ??= [];
  }

  resume() {
    const held = this.held_ ?? [];
    this.held_ = null;
    for (const go of held) go();
  }

  /**
   * Asks the login node. Without one nobody can tell: a device that is refused may give up, one that is not answered tries again.
   * @param {Login} login @param {Source} source @returns {Promise<Verdict>}
   */
  async ask(login, source) {
    const { held_: held } = this;
    if (held && held.length >= MAX_HELD) return undefined;
    if (held) await new Promise((resolve) => held.push(() => resolve(undefined)));
    return this.flow?.(login, source);
  }

  /** @returns {boolean} there may be more */
  takeSome_() {
    const logins = this.checkers_.size > 0 ? this.engine_.takeLogins(MAX_LOGINS) : [];
    for (const login of logins) {
      const check = this.checkers_.get(login.stage);
      // A listener that is going away: its connections end with it.
      if (check) void this.answer_(login, check);
    }
    return logins.length > 0;
  }

  /** @param {Login} login @param {Checker} check */
  async answer_(login, check) {
    const verdict = await check(login).catch(() => null);
    // The engine may have been closed meanwhile; then no listener is left.
    if (verdict === undefined || this.checkers_.size === 0) return;
    try {
      this.engine_.answerLogin(login.id, verdict);
    } catch {
      // What the engine does not take for a device id is none.
      this.engine_.answerLogin(login.id, null);
    }
  }
}

exports.LoginDesk = LoginDesk;
