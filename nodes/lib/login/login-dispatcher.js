'use strict';
// Passes each login of the engine to the checker of its listener, and answers the engine.

/**
 * @typedef {import('../../../native/index.js').Login} Login
 * @typedef {string | null | undefined} Verdict the device id; null: refused; undefined: unknown, so the login is not
 *   answered and its connection times out
 * @typedef {(login: Login) => Promise<Verdict>} Checker
 * @typedef {{ protocol: string, nodeId: string }} Source
 * @typedef {(login: Login, source: Source) => Promise<Verdict>} FlowChecker
 */

const { onceATurn } = require('../base/timing/once-a-turn');

/** Most logins per turn, so that a flood of logins leaves Node-RED time for other work. */
const MAX_LOGINS = 64;
/** Logins that wait for the end of a deploy. */
const MAX_HELD = 1000;

class LoginDispatcher {
  #engine;
  #onBell;
  /** @type {Map<number, Checker>} by stage */
  #checkers;
  /** @type {(() => void) | null} */
  #endBell;
  /** Logins that wait for the end of a deploy; null = no deploy. @type {(() => void)[] | null} */
  #held;
  #run;

  /**
   * @param {Pick<import('../../../native/index.js').Engine, 'takeLogins' | 'answerLogin'>} engine
   * @param {(fn: () => void) => () => void} onBell
   */
  constructor(engine, onBell) {
    this.#engine = engine;
    this.#onBell = onBell;
    this.#checkers = new Map();
    this.#endBell = null;
    /** The login node's checker, if the engine has a login node. @type {FlowChecker | null} */
    this.flow = null;
    /** Called for each refused login. @type {(login: Pick<Login, 'stage' | 'address'>) => void} */
    this.onRefused = () => {};
    this.#held = null;
    this.#run = onceATurn(() => this.#takeSome());
  }

  /**
   * @param {number} stage that listens with login 'ask'
   * @param {Checker} check must not throw
   */
  serve(stage, check) {
    this.#checkers.set(stage, check);
    this.#endBell ??= this.#onBell(this.#run);
  }

  /** @param {number} stage */
  leave(stage) {
    this.#checkers.delete(stage);
    if (this.#checkers.size > 0) return;
    this.#endBell?.();
    this.#endBell = null;
  }

  /** Call it when a deploy begins. Until resume(), the login node and the nodes behind it may be missing. */
  hold() {
    this.#held ??= [];
  }

  resume() {
    const held = this.#held ?? [];
    this.#held = null;
    for (const go of held) go();
  }

  /**
   * Asks the login node. Without one the verdict is undefined: a refused device may give up, but a device without an
   * answer tries again.
   * @param {Login} login
   * @param {Source} source
   * @returns {Promise<Verdict>}
   */
  async ask(login, source) {
    const held = this.#held;
    if (held && held.length >= MAX_HELD) return undefined;
    if (held) await new Promise((resolve) => held.push(() => resolve(undefined)));
    return this.flow?.(login, source);
  }

  /** @returns {boolean} true if there may be more */
  #takeSome() {
    const logins = this.#checkers.size > 0 ? this.#engine.takeLogins(MAX_LOGINS) : [];
    for (const login of logins) {
      const check = this.#checkers.get(login.stage);
      // Without a checker, the listener is closing, and its connections end with it.
      if (check) void this.#answer(login, check);
    }
    return logins.length > 0;
  }

  /** @param {Login} login @param {Checker} check */
  async #answer(login, check) {
    const verdict = await check(login).catch(() => null);
    // The engine may have been closed in the meantime. There is no listener then.
    if (verdict === undefined || this.#checkers.size === 0) return;
    if (verdict === null) this.onRefused(login);
    try {
      this.#engine.answerLogin(login.id, verdict);
    } catch {
      // The engine did not accept the device id.
      this.#engine.answerLogin(login.id, null);
    }
  }
}

exports.LoginDispatcher = LoginDispatcher;
