'use strict';
// Sends the engine's messages from their nodes, in small portions so that Node-RED's event loop stays responsive.

const { guard } = require('../base/guard');
const { frameLength, frameStage, frameMessage } = require('../base/frame');

const MAX_MESSAGES = 1000;
const MAX_MS = 4;

/**
 * @typedef {import('../base/frame').Origin} Origin
 * @typedef {{ send: (msg: Record<string, unknown>) => void, origin: Origin | undefined }} Outlet
 */

class Pump {
  /**
   * @param {(into: Buffer) => number} take writes frames, returns the bytes written, 0 = none left, -(bytes needed) =
   *   `into` is too small
   * @param {(stage: number) => Outlet | undefined} outletOf
   * @param {number} bufferBytes initial size
   * @param {(error: Error) => void} report gets an error that a node's send() throws; later messages continue
   */
  constructor(take, outletOf, bufferBytes, report) {
    this.report_ = report;
    this.take_ = take;
    this.outletOf_ = outletOf;
    this.buffer_ = Buffer.allocUnsafe(bufferBytes);
    this.at_ = 0;
    this.end_ = 0;
    /** @type {NodeJS.Immediate | null} */
    this.again_ = null;
    /** True while nodes are being replaced: messages stay in the engine. */
    this.paused = false;
    /** Messages whose node is gone. */
    this.unclaimed = 0;
  }

  /** Sends the waiting messages. It continues in later turns if there are more. */
  run() {
    if (this.paused || this.again_) return;
    const until = performance.now() + MAX_MS;
    for (let count = 0; count < MAX_MESSAGES && performance.now() < until; count++) {
      if (this.at_ >= this.end_) {
        this.at_ = 0;
        this.end_ = this.takeGrowing_();
        if (this.end_ === 0) return;
      }
      this.sendOne_();
    }
    this.again_ = setImmediate(() => {
      this.again_ = null;
      this.run();
    });
  }

  close() {
    if (this.again_) clearImmediate(this.again_);
    this.paused = true;
  }

  takeGrowing_() {
    const taken = this.take_(this.buffer_);
    if (taken >= 0) return taken;
    this.buffer_ = Buffer.allocUnsafe(-taken);
    return this.take_(this.buffer_);
  }

  sendOne_() {
    const at = this.at_;
    this.at_ = at + frameLength(this.buffer_, at, this.end_);
    const outlet = this.outletOf_(frameStage(this.buffer_, at));
    if (outlet) guard(() => outlet.send(frameMessage(this.buffer_, at, outlet.origin)), this.report_);
    else this.unclaimed++;
  }
}

exports.Pump = Pump;
