'use strict';
// Detects when a deploy begins and when its nodes are complete. Node-RED emits 'flows:stopping' and then
// 'flows:started'. The second event is missing if the flows cannot start. The remaining nodes must continue in that
// case too.

const { onRuntimeEvent } = require('../base/runtime-events');

/** Node-RED's own default for nodeCloseTimeout. */
const CLOSE_TIMEOUT_MS = 15000;
/** Time allowed for a deploy, in addition to the time its nodes may take to close. */
const START_MS = 15000;

/**
 * @typedef {{ id?: string, payload?: { error?: string } }} RuntimeEvent
 *
 * @typedef {object} DeployContext
 * @property {import('node:events').EventEmitter} events RED.events
 * @property {number} [closeTimeoutMs] longest time that Node-RED waits for a node to close
 * @property {(sentence: string) => void} warn
 * @property {(sentence: string) => void} error
 *
 * @typedef {object} DeploySteps
 * @property {() => void} begin called when a deploy begins
 * @property {() => Promise<unknown> | null} prepare called when its nodes exist; null: nothing to wait for
 * @property {() => void} apply called after `prepare` resolved
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
    /** Counts the begins and ends of deploys. A callback of an earlier one is ignored. */
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

  /** No step is called after this. */
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
   * Continues with the remaining nodes after a deploy that closed nodes and created none.
   * @param {string} why begins the warning
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
