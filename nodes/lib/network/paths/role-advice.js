'use strict';
// Which paths should be backup by their quality. Pure: the clock is the caller's.

/** @typedef {import('./path-settings').Role} Role */
/** isUp: by its health; role: as the user set it. @typedef {{ name: string, role: Role, isUp: boolean, quality: import('./path-quality').Figures }} Judged */
/**
 * What is worse is bad; rttMs: Infinity = any will do. The times: for so long has a path to be bad before it becomes backup, and good before it
 * is active again.
 * @typedef {{ belowPercent: number, lossPercent: number, rttMs: number, backupAfterMs: number, activeAfterMs: number }} Limits
 */
/** why: '' = as it was set, and nothing was ever against it. @typedef {{ role: Role, why: string }} Advised */
/** since: from when on it should have the other role, null = it should not. @typedef {Advised & { since: number | null }} State */
/** @typedef {{ path: Judged, state: State, complaint: string, isGood: boolean }} Case */

const DEFAULTS = Object.freeze({ belowPercent: 40, lossPercent: 20, backupAfterS: 10, activeAfterS: 30 });

/** A path is good again when it is better than its limits by so much: points of link quality, and parts of loss and round trip. */
const MARGIN_POINTS = 10;
const LOSS_PART = 1 / 2;
const RTT_PART = 4 / 5;

/** What is not known is not held against it. @param {import('./path-quality').Figures} figures @param {Limits} limits @returns {string} '' = nothing */
function complaintOf({ linkPercent, signalDbm, lossPercent, rttMs }, limits) {
  if (linkPercent !== null && linkPercent < limits.belowPercent)
    return `link quality of ${linkPercent} % (${signalDbm} dBm) is below ${limits.belowPercent} %`;
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

/** Better is more. @param {Judged} path */
const score = ({ quality: { linkPercent, lossPercent } }) =>
  (linkPercent ?? 100) * (100 - (lossPercent ?? 0));

/**
 * A path that is bad is advised to be backup while another one is active, up and not bad: the low-quality link should carry nothing when
 * the gateway moves. It never makes the last active path backup, nor one active that was set to be backup.
 */
class Advice {
  /** @param {Limits} limits */
  constructor(limits) {
    this.limits_ = limits;
    this.margin_ = withMargin(limits);
    /** By name. @type {Map<string, State>} */
    this.states_ = new Map();
  }

  /** Several times in the shortest of its times. @param {Judged[]} paths all @param {number} now @returns {Map<string, Advised>} by name */
  evaluate(paths, now) {
    const cases = paths.map((path) => this.caseOf_(path));
    this.states_ = new Map(cases.map(({ path, state }) => [path.name, state]));
    const isCarrying = (/** @type {Case} */ { path, state }) => path.isUp && state.role === 'active';
    if (!cases.some(isCarrying)) this.bestActive_(cases);
    const healthy = cases.filter((of) => isCarrying(of) && of.complaint === '').length;
    for (const of of cases) if (of.path.role === 'active') this.decide_(of, healthy > 0, now);
    return new Map(cases.map(({ path, state: { role, why } }) => [path.name, { role, why }]));
  }

  /** @param {Judged} path @returns {Case} */
  caseOf_(path) {
    const old = this.states_.get(path.name);
    // Of 'auto' the role may be another after the interface was away.
    const isOther = !old || (path.role === 'backup' && old.role === 'active');
    const state = isOther ? { role: path.role, why: '', since: null } : old;
    const complaint = complaintOf(path.quality, this.limits_);
    return { path, state, complaint, isGood: complaintOf(path.quality, this.margin_) === '' };
  }

  /** Nobody waits for anything then. @param {Case[]} cases */
  bestActive_(cases) {
    const [best] = cases
      .filter(({ path }) => path.isUp && path.role === 'active')
      .sort((a, b) => score(b.path) - score(a.path));
    if (best) Object.assign(best.state, { role: 'active', why: 'no other active path is up', since: null });
  }

  /** @param {Case} of @param {boolean} isAnyHealthy an active path that carries, and is not bad @param {number} now */
  decide_({ path, state, complaint, isGood }, isAnyHealthy, now) {
    const { backupAfterMs, activeAfterMs } = this.limits_;
    const isActive = state.role === 'active';
    // One that is bad is not among the healthy: so another is. It may go down and up meanwhile, by what is bad of it.
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
