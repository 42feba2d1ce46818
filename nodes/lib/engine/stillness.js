'use strict';
// Tells whether anything may have changed since the last look at an engine, its nodes and its threads. While a gateway
// waits for its devices, reading all figures and composing all statuses each second would be most of its work.

const { QuietSeconds } = require('../base/quiet-seconds');

class Stillness {
  #quiet = new QuietSeconds();
  /** What other parts last reported; a new report is a new object. @type {unknown[]} */
  #reports = [];
  /** Changes when #reports does. */
  #version = 0;

  /**
   * Call it once a second.
   * @param {import('./host').EngineHost} host
   * @returns {boolean} true: nothing has changed for some seconds; false at least once in QuietSeconds.EVERY_S
   */
  isStill(host) {
    const { uplinks, members } = host;
    if (uplinks.tenants || !members.every(({ isSteady }) => isSteady)) {
      this.#quiet.stir();
      return false;
    }
    const links = [...uplinks.links.keys()];
    this.#follow([host.plan, host.log?.state, ...members, ...links, ...links.map(({ state }) => state)]);
    return this.#quiet.skips(`${this.#version} ${host.engine.fingerprint()}`);
  }

  /** @param {unknown[]} reports */
  #follow(reports) {
    const before = this.#reports;
    if (reports.length !== before.length || reports.some((report, i) => report !== before[i]))
      this.#version++;
    this.#reports = reports;
  }
}

exports.Stillness = Stillness;
