'use strict';
// Tells whether anything may have changed since the last look at an engine, its nodes and its threads. While a gateway
// waits for its devices, or hears from a few of them, reading all figures and composing all statuses each second would
// be most of its work.

const { QuietSeconds } = require('../../base/timing/quiet-seconds');

/** Figures that change while no record moves: pings, too, add to the bytes that the cloud acknowledged. */
const IGNORED = new Set(['energy', 'bytesAcked']);

/** @param {string} key @param {unknown} value */
const withoutIgnored = (key, value) => (IGNORED.has(key) ? undefined : value);

class Stillness {
  #quiet = new QuietSeconds();
  /** What other parts last reported. @type {unknown[]} */
  #reports = [];
  /** Changes when #reports does. */
  #version = 0;

  /**
   * Call it once a second.
   * @param {import('../host').EngineHost} host
   * @returns {import('../../base/timing/quiet-seconds').Duty} of this second
   */
  next(host) {
    return this.#quiet.next(
      () => this.#seen(host),
      () => isLight(host)
    );
  }

  /** @returns {number} number of the next seconds without work, which the next call of next() counts as past */
  skip() {
    return this.#quiet.skip();
  }

  /** The engine has something for JavaScript: the next seconds have their work. */
  stir() {
    this.#quiet.stir();
  }

  /** @param {import('../host').EngineHost} host @returns {string | number} NaN = something waits for a time */
  #seen(host) {
    const { uplinks, members, commands, deliveries, upkeep } = host;
    const isSteady = members.every((member) => member.isSteady);
    if (uplinks.tenants || !isSteady || !commands.isIdle || deliveries.size > 0 || upkeep.waitsToRelease)
      return NaN;
    const links = [...uplinks.links.keys()];
    const states = [host.log?.state, ...links.map(({ state }) => state)];
    this.#follow([host.plan, ...members, ...links, JSON.stringify(states, withoutIgnored)]);
    return `${this.#version} ${host.engine.fingerprint()}`;
  }

  /** @param {unknown[]} reports */
  #follow(reports) {
    const before = this.#reports;
    if (reports.length !== before.length || reports.some((report, i) => report !== before[i]))
      this.#version++;
    this.#reports = reports;
  }
}

/** @param {import('../host').EngineHost} host @returns {boolean} true if few records move, and nothing holds them up */
function isLight({ upkeep, uplinks, log }) {
  return upkeep.isLight && uplinks.allConnected && (!log || log.state.state === 'ready');
}

exports.Stillness = Stillness;
