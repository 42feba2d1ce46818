'use strict';
// The 25 criteria of the overlay: what each demands, and how the results of a round show it.

const { ofCase, testFigures } = require('../report/criteria');
const { proofCommand } = require('./proofs');

const MB = 1e6;
const MIB = 1 << 20;

/**
 * @typedef {import('../report/criteria').Round} Round
 * @typedef {import('../report/criteria').Figure} Figure
 *
 * @typedef {import('../report/criteria').Criterion & { goal?: string, prototype: string }} Criterion goal: a tighter
 *          limit, which is the target of the figures; prototype: what a prototype showed, – = nothing
 */

/** @param {string} system @param {number} peers */
const rateKey = (system, peers) => `${system}:${peers}`;

/**
 * @param {string} a key @param {string} b key
 * @param {(result: any) => number} value
 * @returns {Figure['value']} a ÷ b
 */
const quotient = (a, b, value) => (round) =>
  round[a] && round[b] ? value(round[a]) / value(round[b]) : undefined;

/** @param {string} system @param {(result: any) => number} value @returns {Figure['value']} 10 peers ÷ 1 */
const tenToOne = (system, value) => quotient(rateKey(system, 10), rateKey(system, 1), value);

/** @param {any} result */
const tcpRate = ({ tcp }) => tcp.mbits;
/** @param {any} result */
const cpuPerBit = ({ tcp }) => tcp.cores / tcp.mbits;
/** @param {any} result */
const rttOfTcp = ({ pacedTcp }) => pacedTcp.rtt.p50;
/** @param {any} result */
const rttOfUdp = ({ paced }) => paced.rtt.p50;
/** @param {any} result */
const threads = ({ tcp }) => tcp.threads;

/**
 * @param {number} peers @param {string | undefined} target @param {string} other @param {string} name
 * @returns {Figure}
 */
const against = (peers, target, other, name) => ({
  name: `${peers} peer${peers === 1 ? '' : 's'}, ÷ ${name}`,
  target,
  digits: 2,
  value: quotient(rateKey('seganet', peers), rateKey(other, peers), tcpRate)
});

/** @param {number} peers @param {string} target @returns {Figure[]} */
const comparisons = (peers, target) => [
  against(peers, target, 'wireguard-go', 'wireguard-go'),
  {
    name: 'CPU a bit, ÷ wireguard-go',
    digits: 2,
    value: quotient(rateKey('seganet', peers), rateKey('wireguard-go', peers), cpuPerBit)
  },
  against(peers, undefined, 'bounded', 'the same with bounded queues'),
  against(peers, undefined, 'boringtun', 'boringtun'),
  against(peers, undefined, 'nebula', 'Nebula')
];

const PARTS = { tcp: 'TCP', udp: 'UDP' };
const WAYS = { To: 'to devices', From: 'from devices' };

/** @type {Figure[]} */
const deviceFigures = Object.entries(PARTS).flatMap(([protocol, title]) =>
  Object.entries(WAYS).flatMap(([way, where]) => {
    const found = (/** @type {any} */ result) => result[`${protocol}${way}`];
    return [
      {
        name: `${title} ${where}: answered`,
        target: '≥ 10',
        digits: 0,
        value: (result) => found(result).answered
      },
      {
        name: `${title} ${where}: RTT p50, 10 ÷ 1`,
        target: '≤ 1.5',
        digits: 2,
        value: (result) => found(result).all / found(result).one
      }
    ];
  })
);

/** @param {any} found results of the scenes by name @param {number} scene @param {string} [word] of its name */
const sceneOf = (found, scene, word = '') => {
  const name = Object.keys(found).find((each) => each.startsWith(`${scene} `) && each.includes(word));
  return name === undefined ? undefined : found[name];
};

/**
 * @param {number} scene @param {string} word of its name @param {string} title @param {string} target
 * @returns {Figure}
 */
const silence = (scene, word, title, target) => ({
  name: `${title}: longest pause, 0 = under 0.15 s`,
  target,
  digits: 2,
  value: (found) => sceneOf(found, scene, word)?.silence
});

/**
 * @param {number} number @param {string} what @param {string} limit @param {string} [prototype]
 * @returns {Criterion}
 */
const proven = (number, what, limit, prototype = '–') => ({
  number,
  what,
  limit,
  prototype,
  part: 'tests',
  figures: testFigures(number, 'missing')
});

/** @type {Criterion[]} */
const criteria = [
  {
    number: 1,
    part: 'rates',
    limit: '≥ 0.8',
    goal: '≥ 1.1',
    prototype: '1.2',
    what: 'TCP direct ÷ wireguard-go as it comes, 1 peer',
    figures: comparisons(1, '≥ 1.1')
  },
  {
    number: 2,
    part: 'rates',
    limit: '≥ 0.9',
    goal: '≥ 1.1',
    prototype: '1.2 (engine alone)',
    what: 'the same, sum of 10 peers',
    figures: comparisons(10, '≥ 1.1')
  },
  {
    number: 3,
    part: 'rates',
    limit: '≤ 1.5',
    prototype: '0.8..1.1',
    what: 'RTT p50, 10 peers ÷ 1, 20 Mbit/s each (the paper’s claim)',
    figures: [
      { name: 'TCP: RTT p50, 10 ÷ 1', target: '≤ 1.5', digits: 2, value: tenToOne('seganet', rttOfTcp) },
      {
        name: 'UDP of 1,200 B: RTT p50, 10 ÷ 1',
        target: '≤ 1.5',
        digits: 2,
        value: tenToOne('seganet', rttOfUdp)
      },
      { name: 'wireguard-go: the same by TCP', digits: 2, value: tenToOne('wireguard-go', rttOfTcp) },
      { name: 'wireguard-go: by UDP', digits: 2, value: tenToOne('wireguard-go', rttOfUdp) }
    ]
  },
  {
    number: 4,
    part: 'rates',
    limit: '≥ 0.85 on 2 shared cores',
    prototype: '0.87..1.03',
    what: 'TCP, all workers ÷ one',
    figures: [1, 4, 10].map((peers) => against(peers, '≥ 0.85', 'seganet-1', 'one worker'))
  },
  {
    number: 5,
    part: 'rates,gone',
    limit: '≤ 128 MB; ≤ 30 MB',
    prototype: '103 MB; –',
    what: 'memory with 10 saturated peers; 10 min after they have gone, with the goroutines of before',
    figures: [
      ...ofCase(rateKey('seganet', 10), [
        { name: 'saturated, MiB at most', target: '≤ 128', digits: 0, value: ({ tcp }) => tcp.peak / MIB }
      ]),
      ...ofCase('gone', [
        { name: 'after, MiB', target: '≤ 30', digits: 0, value: ({ after }) => after.memory / MIB },
        {
          name: 'goroutines more than before',
          target: '≤ 0',
          digits: 0,
          value: ({ after, before }) => after.goroutines - before.goroutines
        }
      ])
    ]
  },
  {
    number: 6,
    part: 'rates',
    limit: '≤ 1.5',
    prototype: '–',
    what: 'OS threads, 10 peers ÷ 1',
    figures: [{ name: 'threads, 10 ÷ 1', target: '≤ 1.5', digits: 2, value: tenToOne('seganet', threads) }]
  },
  {
    number: 7,
    part: 'lab',
    limit: '15/15; 8/10 ≤ 1 s; relay ≤ 1 s; no UDP ≤ 2 s',
    prototype: 'met',
    what: 'every pair of NATs connects; direct where theory allows',
    figures: ofCase('matrix', [
      { name: 'pairs connected', target: '≥ 15', digits: 0, value: ({ connected }) => connected },
      { name: 'direct, of 10 with UDP', target: '≥ 8', digits: 0, value: ({ direct }) => direct },
      { name: 'direct after, s at most', target: '≤ 1', digits: 2, value: ({ directAfter }) => directAfter },
      {
        name: 'first answer, s at most',
        target: '≤ 1',
        digits: 2,
        value: ({ firstWithUdp }) => firstWithUdp
      },
      {
        name: 'the same without UDP',
        target: '≤ 2',
        digits: 2,
        value: ({ firstWithoutUdp }) => firstWithoutUdp
      }
    ])
  },
  {
    number: 8,
    part: 'lab',
    limit: '< 3 s',
    goal: '≤ 2 s',
    prototype: '1.1..1.9 s',
    what: 'dead direct path → relay',
    figures: ofCase('faults', [silence(8, '', 'dead path', '≤ 2')])
  },
  {
    number: 9,
    part: 'lab',
    limit: 'no pause > 0.3 s, none reordered',
    prototype: '0.18 s',
    what: 'back to the direct path',
    figures: ofCase('faults', [
      silence(9, '', 'back', '≤ 0.3'),
      { name: 'out of order', target: '≤ 0', digits: 0, value: (found) => sceneOf(found, 9)?.outOfOrder }
    ])
  },
  {
    number: 10,
    part: 'lab',
    limit: '< 1 s / < 3 s',
    goal: '≤ 0.3 s (host)',
    prototype: '0.26 / 0.62 s',
    what: 'new address of the host / of the NAT',
    figures: ofCase('faults', [
      silence(10, 'host', 'host', '≤ 0.3'),
      silence(10, 'outside', 'outside', '≤ 3')
    ])
  },
  {
    number: 11,
    part: 'lab,chaos',
    limit: 'same connection, 0 lost',
    prototype: '–',
    what: 'an MQTT session lives through 8 to 10; seeded schedules of faults',
    figures: [
      ...ofCase('mqtt', [
        { name: 'records lost', target: '≤ 0', digits: 0, value: ({ lost }) => lost },
        { name: 'connections', target: '≤ 1', digits: 0, value: ({ connections }) => connections }
      ]),
      ...ofCase('chaos', [
        {
          name: 'schedules failed',
          target: '≤ 0',
          digits: 0,
          value: ({ schedules, passed }) => schedules - passed
        },
        { name: 'schedules', digits: 0, value: ({ schedules }) => schedules }
      ])
    ]
  },
  proven(12, 'order: numbered datagrams, 2 workers, random delays', '0 reordered within a path', 'echoes: 0'),
  proven(13, 'replay: a packet again after 0 to 9,000 others; a flipped bit', '0 delivered twice'),
  proven(14, 'a revoked node is cut off', '≤ 1 s; certificate’s end without services'),
  proven(15, 'a node service that swaps keys or certificates', 'no session'),
  proven(16, 'services down: sessions go on, a restarted node comes back', 'both'),
  {
    number: 17,
    part: 'lab',
    limit: 'another ≤ 3 s; direct paths notice nothing',
    prototype: '–',
    what: 'a relay dies',
    figures: ofCase('relays', [
      silence(17, 'relayed', 'relayed peers', '≤ 3'),
      silence(17, 'direct', 'direct peers', '≤ 0.3')
    ])
  },
  {
    number: 18,
    part: 'lab',
    limit: 'answered, ≤ 1 s',
    prototype: '0.01 s',
    what: 'first packet to a sleeping peer',
    figures: ofCase('wake', [
      { name: 'first answer, s', target: '≤ 1', digits: 2, value: ({ first }) => first }
    ])
  },
  {
    number: 19,
    part: 'adapter',
    limit: 'all by name; RTT p50 10 ÷ 1 ≤ 1.5',
    prototype: '–',
    what: '10 ordinary devices behind one node, TCP, UDP, both ways',
    figures: ofCase('adapter', deviceFigures)
  },
  {
    number: 20,
    part: 'rootless',
    limit: '≥ 300 Mbit/s',
    prototype: '448..565',
    what: 'TCP without privilege',
    figures: ofCase('rootless', [{ name: 'Mbit/s', target: '≥ 300', digits: 0, value: ({ mbits }) => mbits }])
  },
  {
    number: 21,
    part: 'relayed',
    limit: '≥ 200 Mbit/s on one core of the relay',
    prototype: '310..379',
    what: 'TCP by the relay',
    figures: ofCase('relayed', [
      { name: 'Mbit/s', target: '≥ 200', digits: 0, value: ({ mbits }) => mbits },
      { name: 'cores of the relay', digits: 2, value: ({ relayCores }) => relayCores }
    ])
  },
  {
    number: 22,
    part: 'silent',
    limit: '≤ 0.5 % of a core, ≤ 30 MB; metered ≤ 1 MB a day and peer',
    what: '10 silent peers',
    prototype: '1 peer: 0.3 %, 14 MB',
    figures: [
      ...ofCase('silent', [
        { name: 'hub, % of a core', target: '≤ 0.5', digits: 2, value: ({ hubCores }) => 100 * hubCores },
        { name: 'hub, MiB', target: '≤ 30', digits: 0, value: ({ memory }) => memory / MIB },
        { name: 'without the program’s file', digits: 0, value: ({ own }) => own / MIB }
      ]),
      ...ofCase('metered', [
        {
          name: 'metered: MB a day and peer',
          target: '≤ 1',
          digits: 2,
          value: ({ tunnelPerDay }) => tunnelPerDay / MB
        },
        {
          name: 'metered: MB a day on the link of a peer, with signaling and relay',
          digits: 2,
          value: ({ linkPerDay }) => linkPerDay / MB
        }
      ])
    ]
  },
  proven(23, 'policy: port not offered, spoofed source, device of another group', 'refused, counted'),
  proven(24, 'hostile signaling, STUN, DNS, control socket', 'fuzzed; bounded'),
  {
    number: 25,
    part: 'rates',
    limit: 'runs with one command',
    prototype: '–',
    what: 'the paper’s figures 5 to 8: TCP, UDP, RTT, CPU, memory, goroutines, threads',
    figures: [
      {
        name: 'numbers of peers in the tables',
        digits: 0,
        value: (round) => Object.keys(round).filter((key) => key.startsWith('seganet:')).length || undefined
      }
    ]
  }
];

/** @type {import('../report/criteria').CriteriaSet<Criterion>} */
const set = {
  chapter: 'overlay',
  criteria,
  columns: [
    ['goal', ({ goal = '' }) => goal],
    ['prototype', ({ prototype }) => prototype]
  ],
  testCommand: proofCommand
};

module.exports = { rateKey, set };
