'use strict';
// The schedule of a path's death, and the throughput meanwhile.

const { saturating, steady, DRAIN_S } = require('./loads');

/**
 * @typedef {{way: import('./lab').Way, cable: import('./lab').Cable, diesAt: number, backAt: number, seconds: number,
 *            warmup: number}} Death in seconds
 */

/** @type {Record<string, string>} */
const words = {
  'gateway-link': 'its link at the gateway goes down',
  'peer-link': 'its link at the other end goes down',
  silent: 'it falls silent'
};

/**
 * @param {{quick: boolean}} options @param {import('./lab').Cable[]} cables @returns {Death[]}
 */
function deaths({ quick }, cables) {
  if (quick) return [{ way: 'silent', cable: 1, diesAt: 2, backAt: 4, seconds: 7, warmup: 1 }];
  const ways = /** @type {import('./lab').Way[]} */ (Object.keys(words));
  const when = { diesAt: 5, backAt: 20, seconds: 30, warmup: 2 };
  return cables.flatMap((cable) => ways.map((way) => ({ way, cable, ...when })));
}

/** @param {Death} death */
const deathLabel = ({ way, cable }) => `p${cable}: ${words[way]}`;

/** @param {import('./cases').Context['measure']} measure @param {Death} death @param {string} paths */
function measureDeath(measure, { way, cable, diesAt, backAt, seconds, warmup }, paths) {
  return measure({
    paths,
    seconds,
    warmup,
    traffic: [steady(1), ...saturating()],
    drain: DRAIN_S,
    events: [
      { at: diesAt, what: `p${cable} ${way}`, do: (lab) => lab.cut(way, cable) },
      { at: backAt, what: `p${cable} back`, do: (lab) => lab.heal(way, cable) }
    ]
  });
}

/**
 * Returns the mean Mbit/s of payload over whole seconds.
 * @param {{goodput: number[]}} result @param {number} from @param {number} to seconds
 */
function rateBetween({ goodput }, from, to) {
  const some = goodput.slice(from, to);
  return some.reduce((sum, each) => sum + each, 0) / some.length;
}

module.exports = { deaths, deathLabel, measureDeath, rateBetween };
