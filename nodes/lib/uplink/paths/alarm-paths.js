'use strict';

const { Paths } = require('./session-paths');

/** @typedef {import('./session-paths').Way} Way */

/**
 * The paths of one of the two sessions of alarms. Each session uses one path, with plain TCP: with MPTCP the kernel
 * could send both copies over the same path.
 */
class AlarmPaths extends Paths {
  /**
   * @param {Paths} shared the uplink's, with which it shares what sessions learn
   * @param {object} [second] of the second session; default: the first one, which may use any path
   * @param {() => string} second.avoids name of the path of the first session
   * @param {boolean} second.usesMetered
   */
  constructor(shared, second) {
    const { wanted, now, sources, hints } = shared;
    super(wanted, { now, ...sources, hints });
    this.failures = shared.failures;
    this.addresses = shared.addresses;
    this.changes = shared.changes;
    this.usesMptcp = false;
    this.second = second;
    // A connection that is bound to no path could use that of the first session.
    if (second) this.isAuto = false;
  }

  inOrder() {
    const { second } = this;
    const all = super.inOrder();
    if (!second) return all;
    const avoided = second.avoids();
    return all.filter(({ name, metered }) => name !== avoided && (second.usesMetered || !metered));
  }

  /**
   * The second session has no other path: it leaves a dead one for a new connection over the same one.
   * @param {Way[]} ways
   * @param {boolean} [isDesperate]
   */
  besides(ways, isDesperate) {
    const others = super.besides(ways, isDesperate);
    if (others.length > 0 || !this.second) return others;
    return this.inOrder().filter(({ name }) => ways.some((way) => way.name === name));
  }

  missing() {
    if (!this.second || this.inOrder().length > 0) return null;
    const isMetered = !this.second.usesMetered && super.inOrder().length > 1;
    const what = isMetered ? 'the second path is metered' : 'there is no second path to the broker';
    return { code: 'ONE_PATH', reason: `Alarms are sent over one path, because ${what}.`, refused: false };
  }
}

exports.AlarmPaths = AlarmPaths;
