'use strict';
// Sends the engine's messages from their nodes, in small portions so that Node-RED's event loop stays responsive.

const { guard } = require('../base/guard');
const { frameLength, frameStage, frameDeferral, frameMessage } = require('../base/frame');

const MAX_MESSAGES = 1000;
const MAX_MS = 4;

/**
 * @typedef {import('../base/frame').Origin} Origin
 *
 * @typedef {object} Outlet
 * @property {(msg: Record<string, unknown>) => void} send
 * @property {Origin | undefined} origin
 * @property {(msg: Record<string, unknown>, deferral: number) => void} [follow] called before send() if records wait
 *   until the flow has delivered the message
 */

class Pump {
  #report;
  #unclaimed;
  #take;
  #outletOf;
  #buffer;
  #at;
  #end;
  /** @type {NodeJS.Immediate | null} */
  #again;

  /**
   * @param {(into: Buffer) => number} take writes frames, returns the bytes written, 0 = none left, -(bytes needed) =
   *   `into` is too small
   * @param {(stage: number) => Outlet | undefined} outletOf
   * @param {number} bufferBytes initial size
   * @param {(error: Error) => void} report gets an error that a node's send() throws; later messages continue
   * @param {(deferral: number) => void} [unclaimed] gets the deferral of a message whose node is gone
   */
  constructor(take, outletOf, bufferBytes, report, unclaimed = () => {}) {
    this.#unclaimed = unclaimed;
    this.#report = report;
    this.#take = take;
    this.#outletOf = outletOf;
    this.#buffer = Buffer.allocUnsafe(bufferBytes);
    this.#at = 0;
    this.#end = 0;
    this.#again = null;
    /** True while nodes are being replaced: messages stay in the engine. */
    this.paused = false;
    /** Messages whose node is gone. */
    this.unclaimed = 0;
  }

  /** Sends the waiting messages. It continues in later turns if there are more. */
  run() {
    if (this.paused || this.#again) return;
    const until = performance.now() + MAX_MS;
    for (let count = 0; count < MAX_MESSAGES && performance.now() < until; count++) {
      if (this.#at >= this.#end) {
        this.#at = 0;
        this.#end = this.#takeGrowing();
        if (this.#end === 0) return;
      }
      this.#sendOne();
    }
    this.#again = setImmediate(() => {
      this.#again = null;
      this.run();
    });
  }

  /**
   * Takes all waiting messages out of the engine instead of sending them.
   * @returns {Buffer[]} frames, in their order; each is a copy
   */
  takeAll() {
    /** @type {Buffer[]} */
    const frames = [];
    for (;;) {
      for (; this.#at < this.#end; this.#at += frames[frames.length - 1].length) {
        const length = frameLength(this.#buffer, this.#at, this.#end);
        frames.push(Buffer.from(this.#buffer.subarray(this.#at, this.#at + length)));
      }
      this.#at = 0;
      this.#end = this.#takeGrowing();
      if (this.#end === 0) return frames;
    }
  }

  /**
   * Sends the message of a frame from its node.
   * @param {Buffer} bytes
   * @param {number} at
   */
  send(bytes, at) {
    const outlet = this.#outletOf(frameStage(bytes, at));
    const deferral = frameDeferral(bytes, at);
    if (!outlet) {
      this.unclaimed++;
      if (deferral) this.#unclaimed(deferral);
      return;
    }
    guard(() => {
      const msg = frameMessage(bytes, at, outlet.origin);
      if (deferral) outlet.follow?.(msg, deferral);
      outlet.send(msg);
    }, this.#report);
  }

  close() {
    if (this.#again) clearImmediate(this.#again);
    this.paused = true;
  }

  #takeGrowing() {
    const taken = this.#take(this.#buffer);
    if (taken >= 0) return taken;
    this.#buffer = Buffer.allocUnsafe(-taken);
    return this.#take(this.#buffer);
  }

  #sendOne() {
    const at = this.#at;
    this.#at = at + frameLength(this.#buffer, at, this.#end);
    this.send(this.#buffer, at);
  }
}

exports.Pump = Pump;
