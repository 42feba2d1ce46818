'use strict';
// The second path as backup: its traffic while the first path is healthy, dead, and back.

const { fixed, markdown } = require('../../report/report');
const { deaths, deathLabel, measureDeath } = require('../deaths');
const { connectsInAll, gapOf, partFrom, sentBetween, worst } = require('../judge');

/** Allowed bytes per second of probes, handshakes and keep-alives on the wire: two sessions, a probe per second. */
const IDLE_BYTES = 4000;

/** @type {import('./index').Case['runs']} */
const runs = (options) =>
  deaths(options, [1]).map((death) => ({
    key: death.way,
    label: deathLabel(death),
    seconds: death.seconds,
    run: async ({ measure }) => ({ death, ...(await measureDeath(measure, death, 'p1,p2:backup')) })
  }));

/** Returns the traffic on the backup while the main path is healthy. @param {any} result */
function whileWell({ bytes, carried, marks, death }) {
  const dies = marks[0].ms;
  const sent = sentBetween(bytes, 2, death.warmup * 1000, dies);
  const last = carried.filter((/** @type {any} */ { ms }) => ms < dies).at(-1);
  return { wire: (sent.bytes * 1000) / sent.ms, payload: last?.carried.p2 };
}

/** Returns the backup's share of all bytes, from two seconds after the death until the return. @param {any} result */
function whileDead({ bytes, marks }) {
  const [from, to] = [marks[0].ms + 2000, marks[1].ms];
  const [main, backup] = [1, 2].map((i) => sentBetween(bytes, /** @type {1 | 2} */ (i), from, to).bytes);
  return backup / (main + backup);
}

/**
 * Returns the ms from the main path's return until it carries at least half of its rate, and the backup below 1 %.
 * @param {any} result
 */
function onMainAfter({ bytes, marks }) {
  const back = marks[1].ms;
  const found = bytes.find(
    (/** @type {any} */ { at }) =>
      at >= back && partFrom(bytes, 1, at) >= 0.5 && partFrom(bytes, 2, at) < 0.01
  );
  return found && found.at - back;
}

/** @type {import('./index').Case['table']} */
function table(outcomes) {
  const head = [
    'dies',
    'backup while the main path is healthy: payload B / on the wire B/s',
    'share of the backup while dead',
    'longest gap, class 1 / 3, ms',
    'seconds without arrivals',
    'lost',
    'CONNECTs of a session',
    'on the main path again after, ms',
    'stall of the harness, ms'
  ];
  const rows = outcomes.map(({ label, result }) => {
    const { wire, payload } = whileWell(result);
    const { gapMs, zeroSeconds, lost } = result;
    return [
      label,
      `${fixed(payload)} / ${fixed(wire)}`,
      `${fixed(100 * whileDead(result), 1)} %`,
      `${fixed(gapMs[1])} / ${fixed(gapMs[3])}`,
      zeroSeconds.length,
      lost,
      connectsInAll(result),
      fixed(onMainAfter(result)),
      fixed(result.stall.ms)
    ];
  });
  return markdown(head, rows);
}

/** @type {import('./index').Case['verdicts']} */
function verdicts(outcomes) {
  const results = outcomes.map(({ result }) => result);
  const gap = worst(results.map(gapOf));
  const payload = worst(results.map((each) => whileWell(each).payload));
  const wire = worst(results.map((each) => whileWell(each).wire));
  const part = Math.min(...results.map(whileDead));
  const lost = results.reduce((sum, each) => sum + each.lost, 0);
  const connects = worst(results.map(connectsInAll));
  return [
    {
      line: 'backup: payload on it while the main path is healthy',
      target: '0 B',
      measured: `${fixed(payload)} B; ${fixed(wire)} B/s on the wire (probes)`,
      met: payload === 0 && wire <= IDLE_BYTES
    },
    {
      line: 'backup: its share of the bytes while the main path is dead',
      target: 'all',
      measured: `${fixed(100 * part, 1)} %`,
      met: part >= 0.99
    },
    {
      line: 'backup: longest gap of a class',
      target: '≤ 1 s',
      measured: `${fixed(gap / 1000, 2)} s`,
      met: gap <= 1000
    },
    {
      line: 'backup: records lost, CONNECTs of each session',
      target: '0, 1',
      measured: `${lost}, ${connects}`,
      met: lost === 0 && connects === 1
    }
  ];
}

module.exports = {
  name: 'backup',
  title: 'The second path as backup; the first path is full, dies and returns',
  what: 'the second path as backup of the first, which dies in three ways and returns',
  runs,
  table,
  verdicts,
  brief: (/** @type {any} */ result) =>
    `longest gap ${fixed(gapOf(result))} ms, ${fixed(whileWell(result).payload)} B on the backup before, ${result.lost} lost`
};
