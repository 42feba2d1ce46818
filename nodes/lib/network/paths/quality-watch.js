'use strict';
// What is known of the quality of each path, what is advised by it, and whether that is done.

const { Advice } = require('./role-advice');
const { Quality } = require('./path-quality');
const { readCounters } = require('./byte-counters');
const { Wireless } = require('./wireless');

/** @typedef {import('./path-settings').Role} Role */
/** @typedef {{ path: import('./path-selection').Path, isUp: boolean }} Subject */
/** actingRole: what its endpoint has. @typedef {{ quality: import('./path-quality').Figures, actingRole: Role, advice: Role, adviceWhy: string }} Told */
/** By interface. @typedef {(names: string[], now: number) => Map<string, Omit<import('./path-quality').Seen, 'device'>>} Look */

/** @returns {Look} at this machine */
function looker() {
  const wireless = new Wireless();
  return (names, now) => {
    const signals = wireless.read(names, now);
    const bytes = readCounters();
    return new Map(
      names.map((name) => [name, { dbm: signals.get(name) ?? null, bytes: bytes.get(name) ?? null }])
    );
  };
}

class QualityWatch {
  /** @param {{ limits: import('./role-advice').Limits, everyMs: number, acts: boolean, look?: Look }} settings acts: what is advised is done */
  constructor({ limits, everyMs, acts, look = looker() }) {
    this.acts = acts;
    this.advice_ = new Advice(limits);
    this.everyMs_ = everyMs;
    this.look_ = look;
    /** By name. @type {Map<string, InstanceType<typeof Quality>>} */
    this.qualities_ = new Map();
    /** By name. @type {Map<string, import('./role-advice').Advised>} */
    this.advised_ = new Map();
  }

  /** @param {string} name @param {import('./path-quality').Probed} probed @param {number} now */
  probed(name, probed, now) {
    this.of_(name).probed(probed, now);
  }

  /** Each second. @param {Subject[]} subjects all paths @param {number} now @returns {{ name: string, role: Role, why: string }[]} of whom something else is advised now */
  evaluate(subjects, now) {
    const seen = this.look_(
      subjects.map(({ path }) => path.interface),
      now
    );
    for (const { path } of subjects) {
      const nothing = { dbm: null, bytes: null };
      this.of_(path.name).seen({ device: path.interface, ...(seen.get(path.interface) ?? nothing) }, now);
    }
    for (const name of this.qualities_.keys()) {
      if (!subjects.some(({ path }) => path.name === name)) this.qualities_.delete(name);
    }
    const before = this.advised_;
    const judged = subjects.map(({ path: { name, role }, isUp }) => {
      return { name, role, isUp, quality: this.of_(name).figures(now) };
    });
    this.advised_ = this.advice_.evaluate(judged, now);
    return judged.flatMap(({ name, role }) => {
      const advised = /** @type {import('./role-advice').Advised} */ (this.advised_.get(name));
      return advised.role === (before.get(name)?.role ?? role) ? [] : [{ name, ...advised }];
    });
  }

  /** What its endpoint is to be. @param {import('./path-selection').Path} path @returns {Role} */
  roleOf({ name, role }) {
    return this.acts ? (this.advised_.get(name)?.role ?? role) : role;
  }

  /** From now on all are as they were set. @returns {boolean} whether that is a change */
  rest() {
    const isChange =
      this.acts && [...this.advised_.values()].some(({ role, why }) => role === 'backup' && why !== '');
    this.acts = false;
    return isChange;
  }

  /** @param {import('./path-selection').Path} path @param {number} now @returns {Told} */
  told(path, now) {
    const { role, why } = this.advised_.get(path.name) ?? { role: path.role, why: '' };
    const quality = this.of_(path.name).figures(now);
    return { quality, actingRole: this.roleOf(path), advice: role, adviceWhy: why };
  }

  /** @param {string} name */
  of_(name) {
    const quality = this.qualities_.get(name) ?? new Quality(this.everyMs_);
    this.qualities_.set(name, quality);
    return quality;
  }
}

module.exports = { QualityWatch };
