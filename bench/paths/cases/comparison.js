'use strict';
// The gateway and common alternatives, each with the same death of the first path.

const { markdown } = require('../../report/report');
const { connectsInAll } = require('../judge');
const { around, longest, seconds, SHORTEST_MS } = require('../pauses');

/**
 * @typedef {import('../run').PathsResult} Result @typedef {import('../run').PathsPlan} Plan
 * @typedef {import('../lab').Way} Way
 * @typedef {import('./index').Case} Case @typedef {import('./index').Outcome} Outcome
 * @typedef {import('./index').Context} Context
 *
 * @typedef {object} Contender
 * @property {string} name @property {string} title @property {string} what
 * @property {Partial<Plan>} plan
 * @property {boolean} [isOurs]
 * @property {Way[]} ways in which the path dies
 */

/**
 * One class, so that each system has one connection. Devices do not wait for acknowledgements, so the load is the same
 * for all.
 */
const traffic = [{ class: 3, devices: 25, perSecond: 50, payload: 200, inflight: 1000 }];
/** The broker's addresses on the two links, for systems that use two addresses. */
const alsoAt = ['198.18.1.2', '198.18.2.2'];
const SECONDS = 30;
const DEAD_AT = 5;
const BACK_AT = 20;

/** @type {Way[]} */
const ways = ['silent', 'gateway-link'];
/** @type {Partial<Plan>} */
const routes = { paths: '', watch: false, mptcp: false };

/** @type {Contender[]} */
const contenders = [
  {
    name: 'mptcp',
    title: 'SegaNet Gateway, MPTCP',
    what: 'paths p1,p2 with the watch; the broker speaks MPTCP',
    plan: { mptcp: true },
    isOurs: true,
    ways
  },
  {
    name: 'fail-over',
    title: 'SegaNet Gateway, plain TCP',
    what: 'paths p1,p2 with the watch; the broker does not speak MPTCP',
    plan: { mptcp: false },
    isOurs: true,
    ways
  },
  {
    name: 'mqttjs',
    title: 'mqtt.js 5 with default settings',
    what: 'one URL, keepalive 60 s, over the default route',
    plan: { ...routes, system: 'mqttjs' },
    ways: ['silent']
  },
  {
    name: 'mqttjs-tuned',
    title: 'mqtt.js 5, tuned',
    what: 'one URL, keepalive 5 s, over the default route',
    plan: { ...routes, system: 'mqttjs-tuned' },
    ways: ['silent']
  },
  {
    name: 'mqttjs-servers',
    title: 'mqtt.js 5, two URLs',
    what: 'the broker at an address on each path, keepalive 5 s',
    plan: { ...routes, system: 'mqttjs-servers' },
    ways
  },
  {
    name: 'bridge',
    title: 'mosquitto bridge, two addresses',
    what: 'the broker at an address on each path, keepalive 5 s; acknowledges devices at once, queues in memory',
    plan: { ...routes, system: 'bridge-addresses' },
    ways: ['silent']
  },
  {
    name: 'nodered',
    title: "Node-RED's MQTT nodes",
    what: 'a local mosquitto, mqtt in → mqtt out, keepalive 60 s, over the default route; the mosquitto acknowledges devices at once',
    plan: { ...routes, system: 'nodered' },
    ways: ['silent']
  }
];

/** @type {Record<string, string>} */
const wayNames = { silent: 'p1 silent', 'gateway-link': 'link of p1 down' };

/** @param {Contender} contender @param {Way} way */
const keyOf = ({ name }, way) => `${way}/${name}`;

/** @param {Contender} contender @param {Way} way @param {Context} context */
const race = ({ plan }, way, { measure }) =>
  measure({
    traffic,
    alsoAt,
    seconds: SECONDS,
    ...plan,
    events: [
      { at: DEAD_AT, what: wayNames[way], do: (lab) => lab.cut(way, 1) },
      { at: BACK_AT, what: 'p1 back', do: (lab) => lab.heal(way, 1) }
    ]
  });

/** Returns the runs in the order of the table. @param {Outcome[]} outcomes */
const roundsOf = (outcomes) =>
  ways.flatMap((way) =>
    contenders.flatMap((contender) =>
      outcomes.flatMap(({ key, result }) =>
        key === keyOf(contender, way) ? [{ way, contender, result: /** @type {Result} */ (result) }] : []
      )
    )
  );

/** @typedef {ReturnType<typeof roundsOf>[number]} Round */

/** @param {Round} round @returns {number} ms */
const gapOf = ({ result }) => longest(result.pauses).ms;

/** Returns the gap at the death, ignoring pauses with other causes. @param {Result} result */
function whenItDies({ pauses }) {
  const { ms, atEnd } = around(pauses, DEAD_AT * 1000);
  return ms === 0 ? `< ${seconds(SHORTEST_MS)}` : `${atEnd ? '≥ ' : ''}${seconds(ms)}`;
}

/** @type {[string, (round: Round) => string | number][]} */
const columns = [
  ['event', ({ way }) => wayNames[way]],
  ['system', ({ contender }) => contender.title],
  ['configuration', ({ contender }) => contender.what],
  ['gap at the death s', ({ result }) => whenItDies(result)],
  ['longest gap s', (round) => `${longest(round.result.pauses).atEnd ? '≥ ' : ''}${seconds(gapOf(round))}`],
  ['slowest record s', ({ result }) => seconds(result.classes[3].max ?? NaN)],
  ['records', ({ result }) => result.sent],
  ['acknowledged and lost', ({ result }) => result.lost],
  ['never arrived in all', ({ result }) => result.missing],
  ['duplicates', ({ result }) => result.duplicated],
  ['connects of a session', ({ result }) => connectsInAll(result)]
];

/** @param {Round[]} all @param {Way} way @returns {{line: string, target: string, measured: string, met: boolean}[]} */
function verdictsOf(all, way) {
  const here = all.filter((round) => round.way === way);
  const ours = here.filter(({ contender }) => contender.isOurs);
  const others = here.filter(({ contender }) => !contender.isOurs);
  if (ours.length === 0 || others.length === 0) return [];
  const best = Math.min(...others.map(gapOf));
  return ours.map((round) => {
    const { contender, result } = round;
    return {
      line: `${wayNames[way]}: ${contender.title} against the best alternative`,
      target: `gap < ${seconds(best)} s, 0 lost`,
      measured: `${seconds(gapOf(round))} s, ${result.missing} lost`,
      met: gapOf(round) < best && result.missing === 0
    };
  });
}

/** @type {Case['runs']} */
const runs = ({ quick }) =>
  ways.slice(0, quick ? 1 : ways.length).flatMap((way) =>
    contenders
      .filter((contender) => contender.ways.includes(way))
      .map((contender) => ({
        key: keyOf(contender, way),
        label: `${contender.title}, ${wayNames[way]}`,
        seconds: SECONDS,
        run: (context) => race(contender, way, context)
      }))
  );

/** @type {Case['table']} */
const table = (outcomes) =>
  markdown(
    columns.map(([title]) => title),
    roundsOf(outcomes).map((round) => columns.map(([, value]) => value(round)))
  );

/** @type {Case['verdicts']} */
const verdicts = (outcomes) => ways.flatMap((way) => verdictsOf(roundsOf(outcomes), way));

module.exports = {
  name: 'comparison',
  title: `Comparison: the first path dies at ${DEAD_AT} s and returns at ${BACK_AT} s of ${SECONDS} s; 50 records/s of 200 B from 25 devices, QoS 1, TLS 1.3`,
  what: 'the gateway, mqtt.js with one broker URL and with two, a mosquitto bridge, Node-RED: the same death',
  runs,
  table,
  verdicts,
  brief: (/** @type {Result} */ { pauses, missing }) =>
    `gap ${seconds(longest(pauses).ms)} s, ${missing} never arrived`
};
