'use strict';
// When a deploy begins, and when the nodes are as they will be. Node-RED says the first by 'flows:stopping' and the second
// by 'flows:started', but the second does not come where the flows cannot start: what is left must go on then, too.

const { onRuntimeEvent } = require('../base/runtime-events');

/** Node-RED's own default for nodeCloseTimeout. */
const CLOSE_TIMEOUT_MS = 15000;
/** A deploy may take as long as its nodes may take to close, and this. */
const START_MS = 15000;

/**
 * @typedef {{ id?: string, payload?: { error?: string } }} RuntimeEvent
 *
 * @typedef {object} DeployContext
 * @property {import('node:events').EventEmitter} events RED.events
 * @property {number} [closeTimeoutMs] after so long Node-RED no longer waits for a node to close
 * @property {(sentence: string) => void} warn @property {(sentence: string) => void} error
 *
 * @typedef {object} DeploySteps
 * @property {() => void} begin a deploy begins
 * @property {() => Promise<unknown> | null} prepare its nodes are there; null: nothing has to end first
 * @property {() => void} apply and prepare is over
 */

class Deploys {
  /**
   * @param {DeployContext} context
   * @param {DeploySteps} steps
   */
  constructor({ events, closeTimeoutMs = CLOSE_TIMEOUT_MS, warn, error }, steps) {
    this.steps_ = steps;
    this.warn_ = warn;
    this.closeTimeoutMs = closeTimeoutMs;
    /** Counts beginnings and ends: what follows an earlier one is void. */
    this.turn_ = 0;
    this.isUnderWay_ = false;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer_ = undefined;
    this.unfollow_ = [
      onRuntimeEvent(events, 'flows:started', () => this.end_(), error),
      onRuntimeEvent(events, 'flows:stopping', () => this.begin_(), error),
      onRuntimeEvent(events, 'runtime-event', (event) => this.onRuntime_(event), error)
    ];
  }

  /** Nothing is called any more. */
  close() {
    for (const unfollow of this.unfollow_) unfollow();
    clearTimeout(this.timer_);
    this.turn_++;
  }

  begin_() {
    this.turn_++;
    this.isUnderWay_ = true;
    clearTimeout(this.timer_);
    const goOn = () => this.goOn_('A deploy started long ago and has not finished');
    this.timer_ = setTimeout(goOn, this.closeTimeoutMs + START_MS).unref();
    this.steps_.begin();
  }

  end_() {
    const turn = ++this.turn_;
    this.isUnderWay_ = false;
    clearTimeout(this.timer_);
    const prepared = this.steps_.prepare();
    if (!prepared) return this.steps_.apply();
    void prepared.then(() => {
      if (turn === this.turn_) this.steps_.apply();
    });
  }

  /** @param {RuntimeEvent} event of Node-RED */
  onRuntime_(event) {
    if (event?.id === 'runtime-state' && event.payload?.error) this.goOn_('The flows did not start');
  }

  /**
   * Some nodes are closed and no others are made.
   * @param {string} why the beginning of a sentence
   */
  goOn_(why) {
    if (!this.isUnderWay_) return;
    this.warn_(
      `${why} (see the log of Node-RED: node types may be missing). The nodes of this engine that still run continue; deploy again.`
    );
    this.end_();
  }
}

exports.Deploys = Deploys;
