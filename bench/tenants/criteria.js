'use strict';
// The twenty criteria of tenants: what each demands, what the paper reports, and how a result of the chapter shows it.

const { ofCase, testFigures } = require('../report/criteria');
const { percentile } = require('../stats/latency');
const { testCommand } = require('./commands');

/**
 * @typedef {import('../report/criteria').Figure} Figure
 * @typedef {import('../report/criteria').Criterion & { paper: string }} Criterion paper: what it reports, – = nothing
 */

const PRIMES = ['1', '2', '4'];
/** What a hostile tenant does beside its neighbor. */
const ATTACKS = ['loop', 'memory', 'fork', 'disk', 'output'];
const COPIES = ['memcpy', 'dumb', 'mcblock'];
const MB = 1e6;

/** @param {number[]} values */
const sum = (values) => values.reduce((a, b) => a + b, 0);

/**
 * @param {any} result of compare()
 * @param {(run: any) => number} value
 * @param {'native' | 'limited'} other
 * @returns {number} container ÷ the other
 */
function quotient(result, value, other) {
  const middle = (/** @type {any[]} */ runs) => /** @type {number} */ (percentile(runs.map(value), 0.5));
  return middle(result.container) / middle(result[other]);
}

/** @param {string} name @param {string} target @param {(run: any) => number} value @returns {Figure} */
const against = (name, target, value) => ({
  name: `${name}, container ÷ native`,
  target,
  digits: 2,
  value: (result) => quotient(result, value, 'native')
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
 * @param {string} key of the case @param {string} name @param {string} field
 * @param {[number, string?][]} wanted fractions and targets
 * @returns {Figure[]} ms
 */
const percentiles = (key, name, field, wanted) =>
  wanted.map(([fraction, target]) => ({
    key,
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

/** @param {any} result of memory() @returns {number} growth of front and keeper by a sleeping tenant */
function sleepingMB({ front, keeper, frontWithMore, keeperWithMore, more }) {
  const growth = frontWithMore.private + keeperWithMore.private - front.private - keeper.private;
  return Math.max(0, growth) / more / MB;
}

/** What bench/questions/tenant-neighbors.js measures. @type {Figure[]} */
const besideAttacks = ATTACKS.flatMap((attack) =>
  /** @type {const} */ ([
    ['puback', 'PUBACK'],
    ['arrived', 'in the tenant']
  ]).map(([time, words]) => ({
    key: 'neighbors',
    name: `${words}, p99 beside ${attack} ÷ alone`,
    target: '≤ 2',
    digits: 2,
    value: (/** @type {any[]} */ all) => {
      const { alone, beside } = all.find((each) => each.attack === attack) ?? {};
      return alone && beside[time].p99 / alone[time].p99;
    }
  }))
);

/** @param {number} number @param {string} what @param {string} limit @param {string} [paper] @returns {Criterion} */
const proven = (number, what, limit, paper = '–') => ({
  number,
  what,
  limit,
  paper,
  part: 'tests',
  // A test that did not run proves nothing.
  figures: testFigures(number, 'skipped')
});

/** @type {Criterion[]} */
const criteria = [
  {
    number: 1,
    part: 'duty',
    limit: '≤ 2 % of a core',
    what: 'CPU of front, keeper and a tenant with store and page, at 13 bytes each 60 s',
    paper: '≤ 10 % of a Pi, for 62 min (6a)',
    figures: ofCase('duty', [
      {
        name: 'all together, % of a core',
        target: '≤ 2',
        digits: 2,
        value: ({ cores }) => cores && 100 * (cores.front + cores.keeper + cores.tenant)
      },
      { name: 'of it the tenant, %', digits: 2, value: ({ cores }) => cores && 100 * cores.tenant }
    ])
  },
  {
    number: 2,
    part: 'containers',
    limit: '≥ 0.97',
    what: 'CPU and memory benchmark in a container ÷ native, 1 to 4 at once',
    paper: '“negligible” (5a, 5b)',
    figures: ofCase('containers', [
      ...PRIMES.map((n) => against(`primes, ${n} at once`, '≥ 0.97', ({ primes }) => primes[n])),
      ...COPIES.map((name) => against(name, '≥ 0.97', ({ copies }) => copies[name])),
      ...PRIMES.map((n) => againstLimited(`primes, ${n} at once`, ({ primes }) => primes[n])),
      ...COPIES.map((name) => againstLimited(name, ({ copies }) => copies[name]))
    ])
  },
  {
    number: 3,
    part: 'containers',
    limit: '≥ 0.95; no change in the layer',
    what: 'sequential write with fsync, volume ÷ native; changes in the image’s layer',
    paper: '0.50 (RPi2), 0.63 (RPi3), in the layer (5c)',
    figures: ofCase('containers', [
      against('sequential write', '≥ 0.95', ({ write }) => write),
      { name: 'changed files in the layer', target: '≤ 0', digits: 0, value: ({ changes }) => changes }
    ])
  },
  {
    number: 4,
    part: 'containers',
    limit: '≤ 1.3',
    what: 'CPU for 90 Mbit/s of UDP, container ÷ native',
    paper: '“slightly different” (5d, power)',
    figures: ofCase('containers', [
      against('CPU as a server', '≤ 1.3', ({ udp }) => udp.server),
      against('CPU as a client', '≤ 1.3', ({ udp }) => udp.client)
    ])
  },
  {
    number: 5,
    part: 'wake',
    limit: 'p99 ≤ 20 ms',
    what: 'cold wake: PUBACK of the record that woke',
    paper: '–',
    figures: percentiles('wake', 'PUBACK', 'puback', [[0.5], [0.99, '≤ 20']])
  },
  {
    number: 6,
    part: 'wake,half',
    limit: 'p50 ≤ 1.5 s, p99 ≤ 2.5 s; half a core: p99 ≤ 3.5 s',
    what: '… until the tenant has acknowledged it',
    paper: '–',
    figures: [
      ...percentiles('wake', 'acknowledged', 'acknowledged', [
        [0.5, '≤ 1500'],
        [0.99, '≤ 2500']
      ]),
      ...percentiles('half', 'half a core: acknowledged', 'acknowledged', [[0.5], [0.99, '≤ 3500']])
    ]
  },
  {
    number: 7,
    part: 'pages',
    limit: 'p99 ≤ 2 s / ≤ 40 ms',
    what: 'first byte of a held connection: stopped / paused',
    paper: '–',
    figures: [
      ...percentiles('pages-stopped', 'stopped', 'firstByte', [[0.5], [0.99, '≤ 2000']]),
      ...percentiles('pages-paused', 'paused', 'firstByte', [[0.5], [0.99, '≤ 40']])
    ]
  },
  proven(8, 'records lost, doubled behind unbatch, out of order per device, with kill -9 of every part', '0'),
  {
    number: 9,
    part: 'together',
    limit: '≤ 15 s; ≤ 2 s',
    what: '20 tenants woken at once: all have their record; the one with class 1 has it',
    paper: '–',
    figures: ofCase('together', [
      { name: 'last record, s', target: '≤ 15', value: ({ arrived }) => Math.max(...arrived) / 1000 },
      { name: 'record of class 1, s', target: '≤ 2', value: ({ urgent }) => urgent / 1000 }
    ])
  },
  {
    number: 10,
    part: 'memory',
    limit: '≤ 95 MB / ≤ 0.5 MB / ≤ 450 MB',
    what: 'memory: running tenant / sleeping tenant in front and keeper / front, keeper, 20 sleeping and 2 running',
    paper: 'web server most, orchestrator least (6b)',
    figures: ofCase('memory', [
      {
        name: 'running, MB',
        target: '≤ 95',
        digits: 0,
        value: ({ running }) =>
          sum(running.map((/** @type {any} */ each) => each.private)) / running.length / MB
      },
      { name: 'sleeping, MB', target: '≤ 0.5', digits: 3, value: sleepingMB },
      {
        name: 'all, PSS, MB',
        target: '≤ 450',
        digits: 0,
        value: ({ running, front, keeper }) => sum([...running, front, keeper].map(({ pss }) => pss)) / MB
      }
    ])
  },
  {
    number: 11,
    part: 'idle',
    limit: 'within 1 s; 0',
    what: 'stop or pause after the idle time; rests of tenants with a lease, records or an open page; lost devices',
    paper: '–',
    figures: [
      ...percentiles('idle', 'stop begins late by', 'stopLate', [[1, '≤ 1000']]),
      ...percentiles('idle', 'pause begins late by', 'pauseLate', [[1, '≤ 1000']]),
      ...ofCase('idle', [
        { name: 'rests with work', target: '≤ 0', digits: 0, value: ({ rests }) => rests.length },
        { name: 'lost connections of devices', target: '≤ 0', digits: 0, value: ({ losses }) => losses }
      ])
    ]
  },
  proven(12, 'tenants woken by a port scan, half a TLS handshake, a wrong password', '0'),
  proven(
    13,
    'reachable from a tenant: other tenants, this machine’s ports, outside, files, the engine',
    'nothing',
    '“isolated”'
  ),
  {
    number: 14,
    part: 'neighbors',
    limit: 'p99 ≤ 2 × alone',
    what: 'endless loop, memory eater, fork bomb, full disk, log flood in one tenant: the others',
    paper: '–',
    figures: [...besideAttacks, ...testFigures(14, 'skipped')]
  },
  proven(15, 'crash loop: back-off, others untouched, records kept', 'always'),
  {
    number: 16,
    part: 'backup',
    limit: 'refused by name; equal',
    what: 'backup while the tenant writes; restore and check; one byte changed',
    paper: 'images',
    figures: ofCase('backup', [
      { name: 'save, ms', digits: 0, value: ([first]) => percentile(first.times.save, 0.5) },
      { name: 'restore and check, ms', digits: 0, value: ([first]) => percentile(first.times.check, 0.5) },
      {
        name: 'changed bytes that were not refused',
        target: '≤ 0',
        digits: 0,
        value: (all) => sum(all.map((/** @type {any} */ { rounds, found }) => rounds - found))
      }
    ])
  },
  {
    number: 17,
    part: 'directory',
    limit: '≤ 10 / 50 ms',
    what: 'a question such as “temperature of room 105” among 1,000 / 10,000 things',
    paper: 'works',
    figures: ofCase('directory', [
      ...answers('stored', '1,000 things', 1000, '≤ 10'),
      ...answers('stored', '10,000 things', 10000, '≤ 50'),
      ...answers('asked', '10,000 things, a device asked', 10000)
    ])
  },
  proven(18, 'WoT Discovery against the standard’s list', 'all'),
  {
    number: 19,
    part: 'series',
    limit: '≥ 200,000 / ≤ 20 / ≤ 5 ms',
    what: 'series: points a second with fsync / bytes a point / one day of one series',
    paper: 'Elasticsearch',
    figures: ofCase('series', [
      { name: 'points/s', target: '≥ 200000', digits: 0, value: ({ perSecond }) => perSecond },
      { name: 'bytes a point', target: '≤ 20', value: ({ bytes }) => bytes },
      { name: 'one day of one series, ms', target: '≤ 5', digits: 2, value: ({ dayMs }) => dayMs }
    ])
  },
  proven(20, 'the same suite for processes, Docker and Podman', 'green', 'Docker 1.11')
];

/** @type {import('../report/criteria').CriteriaSet<Criterion>} */
const set = {
  chapter: 'tenants',
  criteria,
  columns: [['paper', ({ paper }) => paper]],
  testCommand
};

module.exports = { set };
