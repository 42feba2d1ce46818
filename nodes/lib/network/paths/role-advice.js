'use strict';
// Determines which paths should be backup because of their quality. Pure: the caller provides the clock.

/** @typedef {import('./path-settings').Role} Role */
/**
 * isUp: by its health; role: as configured by the user; expectedPercent: the link quality in `aheadMs`, null = unknown.
 * @typedef {{ name: string, role: Role, isUp: boolean, quality: import('./path-quality').Figures,
 *            expectedPercent?: number | null }} Subject
 */
/**
 * Worse values are bad; rttMs: Infinity = no limit. The times: how long a path must be bad before it becomes backup,
 * and good before it is active again. aheadMs: how far the trend of the signal is continued, 0 = it does not count.
 * @typedef {object} Limits
 * @property {number} belowPercent
 * @property {number} lossPercent
 * @property {number} rttMs
 * @property {number} backupAfterMs
 * @property {number} activeAfterMs
 * @property {number} aheadMs
 */
/** why: '' = the configured role, without any complaint so far. @typedef {{ role: Role, why: string }} Advised */
/**
 * since: when the reason for the other role began, null = there is none.
 * @typedef {Advised & { since: number | null }} State
 */
/** @typedef {{ path: Subject, state: State, complaint: string, isGood: boolean }} Case */

const DEFAULTS = Object.freeze({
  belowPercent: 40,
  lossPercent: 20,
  backupAfterS: 10,
  activeAfterS: 30,
  aheadS: 0
});

/**
 * A path is good again when it is better than its limits by these margins: points of link quality, and fractions of
 * loss and round trip.
 */
const MARGIN_POINTS = 10;
const LOSS_PART = 1 / 2;
const RTT_PART = 4 / 5;

/**
 * Returns what is wrong with a path. Unknown figures are ignored.
 * @param {import('./path-quality').Figures} figures
 * @param {Limits} limits
 * @param {number | null} [expectedPercent] as in Subject
 * @returns {string} '' = nothing
 */
function complaintOf({ linkPercent, signalDbm, lossPercent, rttMs }, limits, expectedPercent = null) {
  if (linkPercent !== null && linkPercent < limits.belowPercent)
    return `link quality of ${linkPercent} % (${signalDbm} dBm) is below ${limits.belowPercent} %`;
  if (linkPercent !== null && expectedPercent !== null && expectedPercent < limits.belowPercent)
    return `link quality of ${linkPercent} % (${signalDbm} dBm) falls, and will be below ${limits.belowPercent} % in ${limits.aheadMs / 1000} s`;
  if (lossPercent !== null && lossPercent > limits.lossPercent)
    return `${lossPercent} % of the probes had no answer, more than ${limits.lossPercent} %`;
  if (rttMs !== null && rttMs > limits.rttMs)
    return `round trip of ${rttMs} ms is longer than ${limits.rttMs} ms`;
  return '';
}

/** @param {Limits} limits @returns {Limits} */
const withMargin = (limits) => ({
  ...limits,
  belowPercent: Math.min(limits.belowPercent + MARGIN_POINTS, 100),
  lossPercent: limits.lossPercent * LOSS_PART,
  rttMs: limits.rttMs * RTT_PART
});

/** Returns a path's score; higher is better. @param {Subject} path */
const score = ({ quality: { linkPercent, lossPercent } }) =>
  (linkPercent ?? 100) * (100 - (lossPercent ?? 0));

/**
 * Advises that a bad path should be backup while another path is active, up and not bad: the low-quality link should
 * carry nothing when the gateway moves. It never makes the last active path backup, nor makes a path active that is
 * configured as backup.
 */
class Advice {
  #limits;
  #margin;
  /** By name. @type {Map<string, State>} */
  #states;

  /** @param {Limits} limits */
  constructor(limits) {
    this.#limits = limits;
    this.#margin = withMargin(limits);
    this.#states = new Map();
  }

  /**
   * Updates the advice. Call it several times within the shortest of its times.
   * @param {Subject[]} paths all
   * @param {number} now
   * @returns {Map<string, Advised>} by name
   */
  evaluate(paths, now) {
    const cases = paths.map((path) => this.#caseOf(path));
    this.#states = new Map(cases.map(({ path, state }) => [path.name, state]));
    const isCarrying = (/** @type {Case} */ { path, state }) => path.isUp && state.role === 'active';
    if (!cases.some(isCarrying)) this.#bestActive(cases);
    const healthy = cases.filter((each) => isCarrying(each) && each.complaint === '').length;
    for (const each of cases) if (each.path.role === 'active') this.#decide(each, healthy > 0, now);
    return new Map(cases.map(({ path, state: { role, why } }) => [path.name, { role, why }]));
  }

  /** @param {Subject} path @returns {Case} */
  #caseOf(path) {
    const old = this.#states.get(path.name);
    // With 'auto', the role may be different after the interface was missing.
    const isOther = !old || (path.role === 'backup' && old.role === 'active');
    const state = isOther ? { role: path.role, why: '', since: null } : old;
    const { quality, expectedPercent = null } = path;
    const complaint = complaintOf(quality, this.#limits, expectedPercent);
    return { path, state, complaint, isGood: complaintOf(quality, this.#margin, expectedPercent) === '' };
  }

  /** Makes the best path active at once. @param {Case[]} cases */
  #bestActive(cases) {
    const [best] = cases
      .filter(({ path }) => path.isUp && path.role === 'active')
      .sort((a, b) => score(b.path) - score(a.path));
    if (best) Object.assign(best.state, { role: 'active', why: 'no other active path is up', since: null });
  }

  /**
   * @param {Case} subject
   * @param {boolean} isAnyHealthy an active path is up, and is not bad
   * @param {number} now
   */
  #decide({ path, state, complaint, isGood }, isAnyHealthy, now) {
    const { backupAfterMs, activeAfterMs } = this.#limits;
    const isActive = state.role === 'active';
    // A bad path is not among the healthy ones, so another path is. The bad path may go down and up meanwhile.
    const isDue = isActive ? complaint !== '' && isAnyHealthy : path.isUp && (isGood || !isAnyHealthy);
    state.since = isDue ? (state.since ?? now) : null;
    if (state.since === null || now - state.since < (isActive || !isGood ? backupAfterMs : activeAfterMs))
      return;
    state.role = isActive ? 'backup' : 'active';
    state.since = null;
    if (isActive) state.why = complaint;
    else state.why = isGood ? `good for ${activeAfterMs / 1000} s` : 'no active path is better';
  }
}

module.exports = { Advice, complaintOf, DEFAULTS };
