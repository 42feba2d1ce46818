'use strict';
// The goals for the gateway's memory, and whether the outcomes of a command meet them.

const { evaluate, isMet } = require('../report/criteria');

/** @typedef {import('./cases').Outcome} Outcome @typedef {Record<string, Outcome>} Outcomes by name of the case */

const MB = 1e6;

/** @param {Outcomes} outcomes @param {string} name of a reading */
const memoryOf = (outcomes, name) =>
  Object.values(outcomes)
    .flatMap(({ readings }) => readings)
    .find((reading) => reading.name === name)?.memory;

/**
 * Returns how much more a reading has than an empty Node-RED.
 * @param {string} name @param {'rss' | 'pss'} field
 * @returns {(outcomes: Outcomes) => number | undefined} MB
 */
const beyondNodeRed = (name, field) => (outcomes) => {
  const [own, nodeRed] = [memoryOf(outcomes, name), memoryOf(outcomes, 'nodered')];
  return own && nodeRed && (own[field] - nodeRed[field]) / MB;
};

/**
 * @param {string} name of a case @param {'lost' | 'kills'} field
 * @returns {(outcomes: Outcomes) => number | undefined}
 */
const figure = (name, field) => (outcomes) => outcomes[name]?.figures?.[field];

/** @type {import('../report/criteria').Figure[]} */
const GOALS = [
  {
    name: 'at rest, RSS, MB',
    target: '≤ 110',
    value: (outcomes) => {
      const own = memoryOf(outcomes, 'rest');
      return own && own.rss / MB;
    }
  },
  { name: 'at rest, RSS beyond an empty Node-RED, MB', target: '≤ 10', value: beyondNodeRed('rest', 'rss') },
  { name: 'at rest, PSS beyond an empty Node-RED, MB', target: '≤ 5', value: beyondNodeRed('rest', 'pss') },
  {
    name: 'under load, RSS beyond an empty Node-RED, MB',
    target: '≤ 25',
    value: beyondNodeRed('load: under load', 'rss')
  },
  { name: 'load: lost records', target: '≤ 0', value: figure('load', 'lost') },
  {
    name: 'after an outage, RSS beyond an empty Node-RED, MB',
    target: '≤ 25',
    value: beyondNodeRed('outage: afterwards', 'rss')
  },
  { name: 'outage: lost records', target: '≤ 0', value: figure('outage', 'lost') },
  { name: 'small: lost records', target: '≤ 0', value: figure('small', 'lost') },
  { name: 'small: processes ended for lack of memory', target: '≤ 0', value: figure('small', 'kills') }
];

/** @param {Outcomes} outcomes @returns the goals of the cases that were measured */
const judge = (outcomes) =>
  GOALS.flatMap((goal) => {
    const found = evaluate(goal, [outcomes]);
    const { name: what, target } = goal;
    return found ? [{ what, target, value: found.median, isMet: isMet(target, found.median) }] : [];
  });

module.exports = { judge };
