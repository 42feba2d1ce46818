'use strict';
// Failures other than the death of one path: the gateway must show the correct status and lose no record.

const { markdown } = require('../../report/report');
const { connectsInAll } = require('../judge');
const { pauseList, wentOnAfter, seconds } = require('../pauses');
const { textAt, texts } = require('../shown');
const { runTrouble, troubles } = require('../troubles');

/**
 * @typedef {import('../run').PathsResult} Result @typedef {import('../troubles').Failure} Failure
 * @typedef {import('./index').Case} Case @typedef {import('./index').Outcome} Outcome
 */

/**
 * Returns the time from the return of a path to the next arrival.
 * @param {Result} result
 * @returns {number} ms; NaN = no path returned
 */
function wentOn({ marks, pauses }) {
  const mark = marks.find(({ what }) => / back$/.test(what));
  return mark ? wentOnAfter(pauses, mark.ms) : NaN;
}

/** @param {Failure} trouble @param {Result} result @returns {string[]} deviations from the expectation */
function complaints({ expected, sameSession }, result) {
  const shown = expected.map(({ at, text }) => ({
    at,
    wanted: text,
    text: textAt(result.statuses, at * 1000)
  }));
  const wrong = shown.filter(({ wanted, text }) =>
    typeof wanted === 'string' ? text !== wanted : !wanted.test(text)
  );
  return [
    ...wrong.map(({ at, text }) => `it shows '${text}' at ${at} s`),
    ...(result.lost > 0 ? [`${result.lost} lost`] : []),
    ...(sameSession && connectsInAll(result) !== 1 ? [`${connectsInAll(result)} connects`] : []),
    ...(result.pauses.some(({ atEnd }) => atEnd) ? ['no arrivals at the end'] : [])
  ];
}

/** @type {[string, (trouble: Failure, result: Result) => string | number][]} */
const columns = [
  ['failure', ({ label }) => label],
  [
    'the node shows (from second)',
    (_, { statuses }) =>
      texts(statuses)
        .map(({ ms, text }) => `${text} (${seconds(ms, 1)})`)
        .join(' → ')
  ],
  ['gaps s (from second)', (_, { pauses }) => pauseList(pauses)],
  ['delivery after the return of a path s', (_, result) => seconds(wentOn(result))],
  ['connects of a session', (_, result) => connectsInAll(result)],
  ['records', (_, { sent }) => sent],
  ['lost', (_, { lost }) => lost],
  ['duplicates', (_, { duplicated }) => duplicated],
  ['out of order', (_, { outOfOrder }) => outOfOrder]
];

/** @param {Outcome[]} outcomes @param {{quick: boolean}} options @returns {[Failure, Result][]} */
const pairs = (outcomes, options) =>
  troubles(options).flatMap((trouble) =>
    outcomes
      .filter(({ key }) => key === trouble.key)
      .map(({ result }) => /** @type {[Failure, Result]} */ ([trouble, result]))
  );

/** @type {Case['runs']} */
const runs = (options) =>
  troubles(options).map((trouble) => ({
    key: trouble.key,
    label: trouble.label,
    seconds: trouble.seconds,
    run: (context) => runTrouble(trouble, context)
  }));

/** @type {Case['table']} */
const table = (outcomes, options) =>
  markdown(
    columns.map(([title]) => title),
    pairs(outcomes, options).map((pair) => columns.map(([, value]) => value(...pair)))
  );

/** @type {Case['verdicts']} */
const verdicts = (outcomes, options) =>
  pairs(outcomes, options).map(([trouble, result]) => {
    const wrong = complaints(trouble, result);
    return {
      line: trouble.label,
      target: `its status, 0 lost, ${trouble.sameSession ? 'the same session' : 'delivery continues'}`,
      measured: wrong.join('; ') || `as expected; gaps s (from second): ${pauseList(result.pauses)}`,
      met: wrong.length === 0
    };
  });

module.exports = {
  name: 'middle',
  title: 'Other failures: 50 records/s of 200 B in two sessions, two active paths with the watch',
  what: 'both paths dead, another address, middleboxes, a broker without MPTCP',
  runs,
  table,
  verdicts,
  brief: (/** @type {Result} */ { lost, pauses }) => `gaps ${pauseList(pauses)}; ${lost} lost`
};
