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
  #steps;
  #warn;
  /** Counts the begins and ends of deploys. A callback of an earlier one is ignored. */
  #turn;
  #isUnderWay;
  #isPreparing;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #unfollow;

  /**
   * @param {DeployContext} context
   * @param {DeploySteps} steps
   */
  constructor({ events, closeTimeoutMs = CLOSE_TIMEOUT_MS, warn, error }, steps) {
    this.#steps = steps;
    this.#warn = warn;
    this.closeTimeoutMs = closeTimeoutMs;
    this.#turn = 0;
    this.#isUnderWay = false;
    this.#isPreparing = false;
    this.#timer = undefined;
    this.#unfollow = [
      onRuntimeEvent(events, 'flows:started', () => this.#end(), error),
      onRuntimeEvent(events, 'flows:stopping', () => this.#begin(), error),
      onRuntimeEvent(events, 'runtime-event', (event) => this.#onRuntime(event), error)
    ];
  }

  /** True from the begin of a deploy until its plan can be applied. */
  get isUnderWay() {
    return this.#isUnderWay || this.#isPreparing;
  }

  /** No step is called after this. */
  close() {
    for (const unfollow of this.#unfollow) unfollow();
    clearTimeout(this.#timer);
    this.#turn++;
  }

  #begin() {
    this.#turn++;
    this.#isUnderWay = true;
    clearTimeout(this.#timer);
    const goOn = () => this.#goOn('A deploy started long ago and has not finished');
    this.#timer = setTimeout(goOn, this.closeTimeoutMs + START_MS).unref();
    this.#steps.begin();
  }

  #end() {
    const turn = ++this.#turn;
    this.#isUnderWay = false;
    clearTimeout(this.#timer);
    const prepared = this.#steps.prepare();
    this.#isPreparing = prepared !== null;
    if (!prepared) return this.#steps.apply();
    void prepared.then(() => {
      if (turn !== this.#turn) return;
      this.#isPreparing = false;
      this.#steps.apply();
    });
  }

  /** @param {RuntimeEvent} event of Node-RED */
  #onRuntime(event) {
    if (event?.id === 'runtime-state' && event.payload?.error) this.#goOn('The flows did not start');
  }

  /**
   * Continues with the remaining nodes after a deploy that closed nodes and created none.
   * @param {string} why begins the warning
   */
  #goOn(why) {
    if (!this.#isUnderWay) return;
    this.#warn(
      `${why} (see the log of Node-RED: node types may be missing). The nodes of this engine that still run continue; deploy again.`
    );
    this.#end();
  }
}

exports.Deploys = Deploys;
