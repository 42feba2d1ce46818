'use strict';
// Tracks the quality of each path and the resulting advice, and whether the advice is applied.

const { Advice } = require('./role-advice');
const { Quality } = require('./path-quality');
const { readCounters } = require('./byte-counters');
const { Wireless } = require('./wireless');

/** @typedef {import('./path-settings').Role} Role */
/** @typedef {{ path: import('./path-selection').Path, isUp: boolean }} Subject */
/**
 * actingRole: the role of its endpoint.
 * @typedef {object} QualityReport
 * @property {import('./path-quality').Figures} quality
 * @property {Role} actingRole
 * @property {Role} advice
 * @property {string} adviceWhy
 */
/**
 * Readings by interface.
 * @typedef {(names: string[], now: number) => Map<string, Omit<import('./path-quality').Seen, 'device'>>} Inspect
 */

/**
 * @typedef {object} QualitySettings
 * @property {import('./role-advice').Limits} limits
 * @property {number} everyMs
 * @property {boolean} acts the advice is applied
 * @property {Inspect} [inspect]
 */

/**
 * Reads the interfaces of this machine.
 * @param {string} [file] with the signals, in the format of /proc/net/wireless; '' = that of the kernel
 * @returns {Inspect}
 */
function inspector(file = '') {
  const wireless = new Wireless(file === '' ? {} : { file });
  return (names, now) => {
    const signals = wireless.read(names, now);
    const bytes = readCounters();
    return new Map(
      names.map((name) => [name, { dbm: signals.get(name) ?? null, bytes: bytes.get(name) ?? null }])
    );
  };
}

class QualityWatch {
  #advice;
  #aheadMs;
  #everyMs;
  #inspect;
  /** By name. @type {Map<string, InstanceType<typeof Quality>>} */
  #qualities;
  /** By name. @type {Map<string, import('./role-advice').Advised>} */
  #advised;

  /** @param {QualitySettings} settings */
  constructor({ limits, everyMs, acts, inspect = inspector() }) {
    this.acts = acts;
    this.#advice = new Advice(limits);
    this.#aheadMs = limits.aheadMs;
    this.#everyMs = everyMs;
    this.#inspect = inspect;
    this.#qualities = new Map();
    this.#advised = new Map();
  }

  /**
   * @param {string} name
   * @param {import('./path-quality').Probed} probed
   * @param {number} now
   */
  probed(name, probed, now) {
    this.#qualityOf(name).probed(probed, now);
  }

  /**
   * Updates the quality of all paths. Call it every second.
   * @param {Subject[]} subjects all paths
   * @param {number} now
   * @returns {{ name: string, role: Role, why: string }[]} paths whose advice has changed
   */
  evaluate(subjects, now) {
    const seen = this.#inspect(
      subjects.map(({ path }) => path.interface),
      now
    );
    for (const { path } of subjects) {
      const nothing = { dbm: null, bytes: null };
      this.#qualityOf(path.name).seen(
        { device: path.interface, ...(seen.get(path.interface) ?? nothing) },
        now
      );
    }
    for (const name of this.#qualities.keys()) {
      if (!subjects.some(({ path }) => path.name === name)) this.#qualities.delete(name);
    }
    const before = this.#advised;
    const rated = subjects.map(({ path: { name, role }, isUp }) => {
      const quality = this.#qualityOf(name);
      const expectedPercent = this.#aheadMs > 0 ? quality.expectedPercent(now, this.#aheadMs) : null;
      return { name, role, isUp, quality: quality.figures(now), expectedPercent };
    });
    this.#advised = this.#advice.evaluate(rated, now);
    return rated.flatMap(({ name, role }) => {
      const advised = /** @type {import('./role-advice').Advised} */ (this.#advised.get(name));
      return advised.role === (before.get(name)?.role ?? role) ? [] : [{ name, ...advised }];
    });
  }

  /**
   * Returns the role that a path's endpoint should have.
   * @param {import('./path-selection').Path} path
   * @returns {Role}
   */
  roleOf({ name, role }) {
    return this.acts ? (this.#advised.get(name)?.role ?? role) : role;
  }

  /** Restores the configured roles from now on. @returns {boolean} true if that changes a role */
  rest() {
    const isChange =
      this.acts && [...this.#advised.values()].some(({ role, why }) => role === 'backup' && why !== '');
    this.acts = false;
    return isChange;
  }

  /**
   * @param {import('./path-selection').Path} path
   * @param {number} now
   * @returns {QualityReport}
   */
  report(path, now) {
    const { role, why } = this.#advised.get(path.name) ?? { role: path.role, why: '' };
    const quality = this.#qualityOf(path.name).figures(now);
    return { quality, actingRole: this.roleOf(path), advice: role, adviceWhy: why };
  }

  /** @param {string} name */
  #qualityOf(name) {
    const quality = this.#qualities.get(name) ?? new Quality(this.#everyMs);
    this.#qualities.set(name, quality);
    return quality;
  }
}

module.exports = { QualityWatch, inspector };
