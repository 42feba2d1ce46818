'use strict';

const { judge } = require('../../../bench/memory/goals');

/** @param {string} name @param {number} rss MB @param {number} pss MB @returns {any} */
const reading = (name, rss, pss) => ({ name, memory: { rss: rss * 1e6, pss: pss * 1e6 } });
/** @param {number} lost @param {object} [more] @returns {any} */
const figures = (lost, more) => ({ sent: 10, acked: 10, lost, latencyUs: {}, ...more });

test('compares each reading with an empty Node-RED', () => {
  const goals = judge({
    nodered: { readings: [reading('nodered', 120, 68)] },
    rest: { readings: [reading('rest', 130, 73.5)] },
    load: {
      readings: [reading('load: before', 130, 73), reading('load: under load', 146, 80)],
      figures: figures(0)
    }
  });
  expect(goals.map(({ value, isMet }) => [value, isMet])).toEqual([
    [130, false],
    [10, true],
    [5.5, false],
    [26, false],
    [0, true]
  ]);
});

test('counts lost records and ended processes', () => {
  const goals = judge({
    outage: { readings: [reading('outage: afterwards', 130, 73)], figures: figures(1) },
    small: { readings: [], figures: figures(0, { kills: 1 }) }
  });
  expect(goals.map(({ what, isMet }) => [what, isMet])).toEqual([
    ['outage: lost records', false],
    ['small: lost records', true],
    ['small: processes ended for lack of memory', false]
  ]);
});

test('has no goal for a case that was not measured', () => {
  const [rest, ...others] = judge({ rest: { readings: [reading('rest', 109, 73)] } });
  expect(rest).toMatchObject({ target: '≤ 110', value: 109, isMet: true });
  expect(others).toEqual([]);
  expect(judge({})).toEqual([]);
});
