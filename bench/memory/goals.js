'use strict';
// The goals for the gateway's memory, and whether the outcomes of a command meet them.

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

/** @type {{ what: string, most: number, value: (outcomes: Outcomes) => number | undefined }[]} */
const GOALS = [
  { what: 'at rest, RSS beyond an empty Node-RED, MB', most: 10, value: beyondNodeRed('rest', 'rss') },
  { what: 'at rest, PSS beyond an empty Node-RED, MB', most: 5, value: beyondNodeRed('rest', 'pss') },
  {
    what: 'under load, RSS beyond an empty Node-RED, MB',
    most: 25,
    value: beyondNodeRed('load: under load', 'rss')
  },
  { what: 'load: lost records', most: 0, value: figure('load', 'lost') },
  {
    what: 'after an outage, RSS beyond an empty Node-RED, MB',
    most: 25,
    value: beyondNodeRed('outage: afterwards', 'rss')
  },
  { what: 'outage: lost records', most: 0, value: figure('outage', 'lost') },
  { what: 'small: lost records', most: 0, value: figure('small', 'lost') },
  { what: 'small: processes ended for lack of memory', most: 0, value: figure('small', 'kills') }
];

/**
 * @param {Outcomes} outcomes
 * @returns {{ what: string, most: number, value: number, isMet: boolean }[]} the goals of the cases that were measured
 */
function judge(outcomes) {
  return GOALS.flatMap(({ what, most, value }) => {
    const measured = value(outcomes);
    return measured === undefined ? [] : [{ what, most, value: measured, isMet: measured <= most }];
  });
}

module.exports = { judge };
