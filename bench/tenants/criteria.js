'use strict';
// The twenty criteria of tenants: what each demands, what the paper reports, and how a result of the chapter shows it.

const { percentile } = require('../stats/latency');
const { testCommand } = require('./commands');

/**
 * @typedef {object} Figure
 * @property {string} name with its unit
 * @property {string} [target] such as '≤ 20'
 * @property {(result: any) => number | undefined} [value] of a round
 * @property {(result: any) => number[]} [samples] in place of value: of a round, with `fraction`
 * @property {number} [fraction] of the samples that do not exceed the figure
 * @property {number} [digits]
 *
 * @typedef {object} Criterion
 * @property {number} number @property {string} what @property {string} limit
 * @property {string} paper what it reports, – = nothing
 * @property {string} part of the chapter that measures it; tests = tests prove it
 * @property {{ key: string, figures: Figure[] }[]} measured key: of the case
 */

const PRIMES = ['1', '2', '4'];
/** What a hostile tenant does beside its neighbor. */
const ATTACKS = ['loop', 'memory', 'fork', 'disk', 'output'];
const COPIES = ['memcpy', 'dumb', 'mcblock'];
const MB = 1e6;

/** @param {number[]} values */
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/**
 * @param {any} result of compare()
 * @param {(run: any) => number} value
 * @param {'native' | 'limited'} [other]
 * @returns {number} container ÷ the other
 */
function quotient(result, value, other = 'native') {
  const middle = (/** @type {any[]} */ runs) => /** @type {number} */ (percentile(runs.map(value), 0.5));
  return middle(result.container) / middle(result[other]);
}

/** @param {string} name @param {string} target @param {(run: any) => number} value @returns {Figure} */
const against = (name, target, value) => ({
  name: `${name}, container ÷ native`,
  target,
  digits: 2,
  value: (result) => quotient(result, value)
});

/**
 * The same with a native program that has the limits of the container: it shows what else the container costs.
 * @param {string} name @param {(run: any) => number} value @returns {Figure}
 */
const againstLimited = (name, value) => ({
  name: `${name}, container ÷ native with the same limits`,
  digits: 2,
  value: (result) => quotient(result, value, 'limited')
});

/**
 * @param {string} name @param {string} field @param {[number, string | undefined][]} wanted fractions and targets
 * @returns {Figure[]} ms
 */
const percentiles = (name, field, wanted) =>
  wanted.map(([fraction, target]) => ({
    name: `${name} p${fraction * 100}, ms`,
    target,
    fraction,
    digits: 0,
    samples: (result) => result[field]
  }));

/**
 * @param {'stored' | 'asked'} kind @param {string} name @param {number} things @param {string} [target] of p99
 * @returns {Figure[]}
 */
const answers = (kind, name, things, target) =>
  /** @type {const} */ (['p50', 'p99']).map((each) => ({
    name: `${name}: ${each}, ms`,
    digits: 2,
    ...(each === 'p99' && { target }),
    value: (result) => result[kind][things]?.[each]
  }));

/** @param {any} weight */
const privateMB = (weight) => weight.private / MB;

/** @type {Criterion[]} */
const criteria = [
  {
    number: 1,
    part: 'duty',
    limit: '≤ 2 % of a core',
    what: 'CPU of front, keeper and a tenant with store and page, at 13 bytes each 60 s',
    paper: '≤ 10 % of a Pi, for 62 min (6a)',
    measured: [
      {
        key: 'duty',
        figures: [
          {
            name: 'all together, % of a core',
            target: '≤ 2',
            digits: 2,
            value: ({ cores }) => cores && 100 * (cores.front + cores.keeper + cores.tenant)
          },
          { name: 'of it the tenant, %', value: ({ cores }) => cores && 100 * cores.tenant, digits: 2 }
        ]
      }
    ]
  },
  {
    number: 2,
    part: 'containers',
    limit: '≥ 0.97',
    what: 'CPU and memory benchmark in a container ÷ native, 1 to 4 at once',
    paper: '“negligible” (5a, 5b)',
    measured: [
      {
        key: 'containers',
        figures: [
          ...PRIMES.map((n) => against(`primes, ${n} at once`, '≥ 0.97', ({ primes }) => primes[n])),
          ...COPIES.map((name) => against(name, '≥ 0.97', ({ copies }) => copies[name])),
          ...PRIMES.map((n) => againstLimited(`primes, ${n} at once`, ({ primes }) => primes[n])),
          ...COPIES.map((name) => againstLimited(name, ({ copies }) => copies[name]))
        ]
      }
    ]
  },
  {
    number: 3,
    part: 'containers',
    limit: '≥ 0.95; no change in the layer',
    what: 'sequential write with fsync, volume ÷ native; changes in the image’s layer',
    paper: '0.50 (RPi2), 0.63 (RPi3), in the layer (5c)',
    measured: [
      {
        key: 'containers',
        figures: [
          against('sequential write', '≥ 0.95', ({ write }) => write),
          { name: 'changed files in the layer', target: '≤ 0', value: ({ changes }) => changes, digits: 0 }
        ]
      }
    ]
  },
  {
    number: 4,
    part: 'containers',
    limit: '≤ 1.3',
    what: 'CPU for 90 Mbit/s of UDP, container ÷ native',
    paper: '“slightly different” (5d, power)',
    measured: [
      {
        key: 'containers',
        figures: [
          against('CPU as a server', '≤ 1.3', ({ udp }) => udp.server),
          against('CPU as a client', '≤ 1.3', ({ udp }) => udp.client)
        ]
      }
    ]
  },
  {
    number: 5,
    part: 'wake',
    limit: 'p99 ≤ 20 ms',
    paper: '–',
    what: 'cold wake: PUBACK of the record that woke',
    measured: [
      { key: 'wake', figures: percentiles('PUBACK', 'puback', [[0.5, undefined], [0.99, '≤ 20']]) } // prettier-ignore
    ]
  },
  {
    number: 6,
    part: 'wake,half',
    paper: '–',
    limit: 'p50 ≤ 1.5 s, p99 ≤ 2.5 s; half a core: p99 ≤ 3.5 s',
    what: '… until the tenant has acknowledged it',
    measured: [
      { key: 'wake', figures: percentiles('acknowledged', 'acknowledged', [[0.5, '≤ 1500'], [0.99, '≤ 2500']]) }, // prettier-ignore
      { key: 'half', figures: percentiles('half a core: acknowledged', 'acknowledged', [[0.5, undefined], [0.99, '≤ 3500']]) } // prettier-ignore
    ]
  },
  {
    number: 7,
    part: 'pages',
    limit: 'p99 ≤ 2 s / ≤ 40 ms',
    paper: '–',
    what: 'first byte of a held connection: stopped / paused',
    measured: [
      { key: 'pages-stopped', figures: percentiles('stopped', 'firstByte', [[0.5, undefined], [0.99, '≤ 2000']]) }, // prettier-ignore
      { key: 'pages-paused', figures: percentiles('paused', 'firstByte', [[0.5, undefined], [0.99, '≤ 40']]) } // prettier-ignore
    ]
  },
  proven(8, 'records lost, doubled behind unbatch, out of order per device, with kill -9 of every part', '0'),
  {
    number: 9,
    part: 'together',
    limit: '≤ 15 s; ≤ 2 s',
    paper: '–',
    what: '20 tenants woken at once: all have their record; the one with class 1 has it',
    measured: [
      {
        key: 'together',
        figures: [
          {
            name: 'last record, s',
            target: '≤ 15',
            value: ({ arrived }) => Math.max(...arrived) / 1000,
            digits: 1
          },
          { name: 'record of class 1, s', target: '≤ 2', value: ({ urgent }) => urgent / 1000, digits: 1 }
        ]
      }
    ]
  },
  {
    number: 10,
    part: 'memory',
    limit: '≤ 95 MB / ≤ 0.5 MB / ≤ 450 MB',
    paper: 'web server most, orchestrator least (6b)',
    what: 'memory: running tenant / sleeping tenant in front and keeper / front, keeper, 20 sleeping and 2 running',
    measured: [
      {
        key: 'memory',
        figures: [
          {
            name: 'running, MB',
            target: '≤ 95',
            value: ({ running }) => mean(running.map(privateMB)),
            digits: 0
          },
          { name: 'sleeping, MB', target: '≤ 0.5', value: sleepingMB, digits: 3 },
          {
            name: 'all, PSS, MB',
            target: '≤ 450',
            digits: 0,
            value: ({ running, front, keeper }) =>
              [...running, front, keeper].reduce((sum, { pss }) => sum + pss, 0) / MB
          }
        ]
      }
    ]
  },
  {
    number: 11,
    part: 'idle',
    limit: 'within 1 s; 0',
    paper: '–',
    what: 'stop or pause after the idle time; rests of tenants with a lease, records or an open page; lost devices',
    measured: [
      {
        key: 'idle',
        figures: [
          ...percentiles('stop begins late by', 'stopLate', [[1, '≤ 1000']]),
          ...percentiles('pause begins late by', 'pauseLate', [[1, '≤ 1000']]),
          { name: 'rests with work', target: '≤ 0', value: ({ rests }) => rests.length, digits: 0 },
          { name: 'lost connections of devices', target: '≤ 0', value: ({ losses }) => losses, digits: 0 }
        ]
      }
    ]
  },
  proven(12, 'tenants woken by a port scan, half a TLS handshake, a wrong password', '0'),
  proven(
    13,
    'reachable from a tenant: other tenants, this machine’s ports, outside, files, the engine',
    'nothing',
    '“isolated”'
  ),
  besideAttacks(
    proven(
      14,
      'endless loop, memory eater, fork bomb, full disk, log flood in one tenant: the others',
      'p99 ≤ 2 × alone'
    )
  ),
  proven(15, 'crash loop: back-off, others untouched, records kept', 'always'),
  {
    number: 16,
    part: 'backup',
    limit: 'refused by name; equal',
    paper: 'images',
    what: 'backup while the tenant writes; restore and check; one byte changed',
    measured: [
      {
        key: 'backup',
        figures: [
          { name: 'save, ms', value: (all) => percentile(all[0].times.save, 0.5), digits: 0 },
          { name: 'restore and check, ms', value: (all) => percentile(all[0].times.check, 0.5), digits: 0 },
          {
            name: 'changed bytes that were not refused',
            target: '≤ 0',
            digits: 0,
            value: (all) =>
              all.reduce(
                (/** @type {number} */ sum, /** @type {any} */ { rounds, found }) => sum + rounds - found,
                0
              )
          }
        ]
      }
    ]
  },
  {
    number: 17,
    part: 'directory',
    limit: '≤ 10 / 50 ms',
    paper: 'works',
    what: 'a question such as “temperature of room 105” among 1,000 / 10,000 things',
    measured: [
      {
        key: 'directory',
        figures: [
          ...answers('stored', '1,000 things', 1000, '≤ 10'),
          ...answers('stored', '10,000 things', 10000, '≤ 50'),
          ...answers('asked', '10,000 things, a device asked', 10000)
        ]
      }
    ]
  },
  proven(18, 'WoT Discovery against the standard’s list', 'all'),
  {
    number: 19,
    part: 'series',
    limit: '≥ 200,000 / ≤ 20 / ≤ 5 ms',
    paper: 'Elasticsearch',
    what: 'series: points a second with fsync / bytes a point / one day of one series',
    measured: [
      {
        key: 'series',
        figures: [
          { name: 'points/s', target: '≥ 200000', value: ({ perSecond }) => perSecond, digits: 0 },
          { name: 'bytes a point', target: '≤ 20', value: ({ bytes }) => bytes, digits: 1 },
          { name: 'one day of one series, ms', target: '≤ 5', value: ({ dayMs }) => dayMs, digits: 2 }
        ]
      }
    ]
  },
  proven(20, 'the same suite for processes, Docker and Podman', 'green', 'Docker 1.11')
];

/** @param {number} number @param {string} what @param {string} limit @param {string} [paper] @returns {Criterion} */
function proven(number, what, limit, paper = '–') {
  const figures = [
    // A test that did not run proves nothing.
    {
      name: 'tests failed or skipped',
      target: '≤ 0',
      digits: 0,
      value: (/** @type {any} */ { failed, skipped }) => failed + skipped
    },
    { name: 'passed', value: (/** @type {any} */ { passed }) => passed, digits: 0 },
    { name: 'skipped', value: (/** @type {any} */ { skipped }) => skipped, digits: 0 }
  ];
  return { number, what, limit, paper, part: 'tests', measured: [{ key: `test-${number}`, figures }] };
}

/** Adds what bench/questions/tenant-neighbors.js measures. @param {Criterion} criterion @returns {Criterion} */
function besideAttacks(criterion) {
  const times = /** @type {const} */ ([
    ['puback', 'PUBACK'],
    ['arrived', 'in the tenant']
  ]);
  const figures = ATTACKS.flatMap((attack) =>
    times.map(([time, words]) => ({
      name: `${words}, p99 beside ${attack} ÷ alone`,
      target: '≤ 2',
      digits: 2,
      value: (/** @type {any[]} */ all) => {
        const { alone, beside } = all.find((each) => each.attack === attack) ?? {};
        return alone && beside[time].p99 / alone[time].p99;
      }
    }))
  );
  return {
    ...criterion,
    part: 'neighbors',
    measured: [{ key: 'neighbors', figures }, ...criterion.measured]
  };
}

/** @param {any} result of memory() @returns {number} growth of front and keeper by a sleeping tenant */
function sleepingMB({ front, keeper, frontWithMore, keeperWithMore, more }) {
  const growth = frontWithMore.private + keeperWithMore.private - front.private - keeper.private;
  return Math.max(0, growth) / more / MB;
}

/**
 * @param {Figure} figure @param {any[]} results of the rounds
 * @returns {{ value: number, low: number, high: number, count: number } | null} over all rounds, and the range of the
 *   rounds; count: of the samples, 0 = one value a round
 */
function evaluate({ value, samples, fraction = 0.5 }, results) {
  const known = (/** @type {(number | undefined)[]} */ values) =>
    /** @type {number[]} */ (values.filter((each) => each !== undefined && Number.isFinite(each)));
  if (samples) {
    const each = known(results.map((result) => percentile(samples(result), fraction)));
    const all = results.flatMap(samples);
    const found = percentile(all, fraction);
    if (found === undefined) return null;
    return { value: found, low: Math.min(...each), high: Math.max(...each), count: all.length };
  }
  const values = known(results.map((result) => value?.(result)));
  if (values.length === 0) return null;
  const middle = /** @type {number} */ (percentile(values, 0.5));
  return { value: middle, low: Math.min(...values), high: Math.max(...values), count: 0 };
}

/** @param {Criterion} criterion @returns {string} */
function commandOf({ number, part }) {
  if (part !== 'tests') return `seganet-bench --only tenants --systems ${part}`;
  return testCommand(number) || 'no such test in this version';
}

module.exports = { criteria, evaluate, commandOf };
