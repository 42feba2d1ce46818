'use strict';
// The 25 criteria of the overlay: what each demands, and how the results of a round show it.

const { percentile } = require('../stats/latency');
const { proofCommand, proofs } = require('./proofs');

const MB = 1e6;
const MIB = 1 << 20;

/**
 * @typedef {Record<string, any>} Round results by the key of the case
 *
 * @typedef {object} Figure
 * @property {string} name with its unit
 * @property {string} [target] such as '≤ 20': the goal if there is one, else the limit
 * @property {(round: Round) => number | undefined} value undefined: not measured in this round
 * @property {number} [digits]
 *
 * @typedef {object} Criterion
 * @property {number} number @property {string} what
 * @property {string} limit @property {string} [goal] a tighter one
 * @property {string} prototype what a prototype showed, – = nothing
 * @property {string} part of the chapter that measures it, for --systems; tests = tests prove it
 * @property {Figure[]} figures
 */

/** @param {string} system @param {number} peers */
const rateKey = (system, peers) => `${system}:${peers}`;

/** @param {string} key @param {(result: any) => number | undefined} value @returns {Figure['value']} */
const of = (key, value) => (round) => round[key] && value(round[key]);

/**
 * @param {string} a key @param {string} b key
 * @param {(result: any) => number} value
 * @returns {Figure['value']} a ÷ b
 */
const quotient = (a, b, value) => (round) =>
  round[a] && round[b] ? value(round[a]) / value(round[b]) : undefined;

/** @param {any} result */
const tcpRate = ({ tcp }) => tcp.mbits;

/** @param {number} peers @param {string} target @param {string} other @param {string} name @returns {Figure} */
const against = (peers, target, other, name) => ({
  name: `${peers} peer${peers === 1 ? '' : 's'}, ÷ ${name}`,
  digits: 2,
  ...(target && { target }),
  value: quotient(rateKey('seganet', peers), rateKey(other, peers), tcpRate)
});

/** @param {any} result @returns {number} */
const cpuPerBit = ({ tcp }) => tcp.cores / tcp.mbits;

/** @param {number} peers @param {string} target @returns {Figure[]} */
const comparisons = (peers, target) => [
  against(peers, target, 'wireguard-go', 'wireguard-go'),
  {
    name: 'CPU a bit, ÷ wireguard-go',
    digits: 2,
    value: quotient(rateKey('seganet', peers), rateKey('wireguard-go', peers), cpuPerBit)
  },
  against(peers, '', 'bounded', 'the same with bounded queues'),
  against(peers, '', 'boringtun', 'boringtun'),
  against(peers, '', 'nebula', 'Nebula')
];

const PARTS = { tcp: 'TCP', udp: 'UDP' };
const WAYS = { To: 'to devices', From: 'from devices' };

/** @returns {Figure[]} */
const deviceFigures = () =>
  Object.entries(PARTS).flatMap(([protocol, title]) =>
    Object.entries(WAYS).flatMap(([way, where]) => {
      const found = (/** @type {any} */ result) => result[`${protocol}${way}`];
      return [
        {
          name: `${title} ${where}: answered`,
          target: '≥ 10',
          digits: 0,
          value: of('adapter', (result) => found(result).answered)
        },
        {
          name: `${title} ${where}: RTT p50, 10 ÷ 1`,
          target: '≤ 1.5',
          digits: 2,
          value: of('adapter', (result) => found(result).all / found(result).one)
        }
      ];
    })
  );

/**
 * @param {number} scene @param {string} word of its name @param {string} title @param {string} target
 * @param {'faults' | 'relays'} [key]
 * @returns {Figure}
 */
const silence = (scene, word, title, target, key = 'faults') => ({
  name: `${title}: longest pause, 0 = under 0.15 s`,
  target,
  digits: 2,
  value: of(key, (found) => {
    const name = Object.keys(found).find((each) => each.startsWith(`${scene} `) && each.includes(word));
    return name ? found[name].silence : undefined;
  })
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
      {
        name: 'TCP: RTT p50, 10 ÷ 1',
        target: '≤ 1.5',
        digits: 2,
        value: quotient(rateKey('seganet', 10), rateKey('seganet', 1), ({ pacedTcp }) => pacedTcp.rtt.p50)
      },
      {
        name: 'UDP of 1,200 B: RTT p50, 10 ÷ 1',
        target: '≤ 1.5',
        digits: 2,
        value: quotient(rateKey('seganet', 10), rateKey('seganet', 1), ({ paced }) => paced.rtt.p50)
      },
      {
        name: 'wireguard-go: the same by TCP',
        digits: 2,
        value: quotient(
          rateKey('wireguard-go', 10),
          rateKey('wireguard-go', 1),
          ({ pacedTcp }) => pacedTcp.rtt.p50
        )
      },
      {
        name: 'wireguard-go: by UDP',
        digits: 2,
        value: quotient(rateKey('wireguard-go', 10), rateKey('wireguard-go', 1), ({ paced }) => paced.rtt.p50)
      }
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
      {
        name: 'saturated, MiB at most',
        target: '≤ 128',
        digits: 0,
        value: of(rateKey('seganet', 10), ({ tcp }) => tcp.peak / MIB)
      },
      {
        name: 'after, MiB',
        target: '≤ 30',
        digits: 0,
        value: of('gone', ({ after }) => after.memory / MIB)
      },
      {
        name: 'goroutines more than before',
        target: '≤ 0',
        digits: 0,
        value: of('gone', ({ after, before }) => after.goroutines - before.goroutines)
      }
    ]
  },
  {
    number: 6,
    part: 'rates',
    limit: '≤ 1.5',
    prototype: '–',
    what: 'OS threads, 10 peers ÷ 1',
    figures: [
      {
        name: 'threads, 10 ÷ 1',
        target: '≤ 1.5',
        digits: 2,
        value: quotient(rateKey('seganet', 10), rateKey('seganet', 1), ({ tcp }) => tcp.threads)
      }
    ]
  },
  {
    number: 7,
    part: 'lab',
    limit: '15/15; 8/10 ≤ 1 s; relay ≤ 1 s; no UDP ≤ 2 s',
    prototype: 'met',
    what: 'every pair of NATs connects; direct where theory allows',
    figures: [
      { name: 'pairs connected', target: '≥ 15', value: of('matrix', (m) => m.connected), digits: 0 },
      { name: 'direct, of 10 with UDP', target: '≥ 8', value: of('matrix', (m) => m.direct), digits: 0 },
      {
        name: 'direct after, s at most',
        target: '≤ 1',
        value: of('matrix', (m) => m.directAfter),
        digits: 2
      },
      {
        name: 'first answer, s at most',
        target: '≤ 1',
        value: of('matrix', (m) => m.firstWithUdp),
        digits: 2
      },
      {
        name: 'the same without UDP',
        target: '≤ 2',
        digits: 2,
        value: of('matrix', (m) => m.firstWithoutUdp)
      }
    ]
  },
  {
    number: 8,
    part: 'lab',
    limit: '< 3 s',
    goal: '≤ 2 s',
    prototype: '1.1..1.9 s',
    what: 'dead direct path → relay',
    figures: [silence(8, '', 'dead path', '≤ 2')]
  },
  {
    number: 9,
    part: 'lab',
    limit: 'no pause > 0.3 s, none reordered',
    prototype: '0.18 s',
    what: 'back to the direct path',
    figures: [
      silence(9, '', 'back', '≤ 0.3'),
      {
        name: 'out of order',
        target: '≤ 0',
        digits: 0,
        value: of('faults', (found) => {
          const name = Object.keys(found).find((each) => each.startsWith('9 '));
          return name ? found[name].outOfOrder : undefined;
        })
      }
    ]
  },
  {
    number: 10,
    part: 'lab',
    limit: '< 1 s / < 3 s',
    goal: '≤ 0.3 s (host)',
    prototype: '0.26 / 0.62 s',
    what: 'new address of the host / of the NAT',
    figures: [silence(10, 'host', 'host', '≤ 0.3'), silence(10, 'outside', 'outside', '≤ 3')]
  },
  {
    number: 11,
    part: 'lab,chaos',
    limit: 'same connection, 0 lost',
    prototype: '–',
    what: 'an MQTT session lives through 8 to 10; seeded schedules of faults',
    figures: [
      { name: 'records lost', target: '≤ 0', value: of('mqtt', ({ lost }) => lost), digits: 0 },
      {
        name: 'connections',
        target: '≤ 1',
        digits: 0,
        value: of('mqtt', ({ connections }) => connections)
      },
      {
        name: 'schedules failed',
        target: '≤ 0',
        digits: 0,
        value: of('chaos', ({ schedules, passed }) => schedules - passed)
      },
      { name: 'schedules', value: of('chaos', ({ schedules }) => schedules), digits: 0 }
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
    figures: [
      silence(17, 'relayed', 'relayed peers', '≤ 3', 'relays'),
      silence(17, 'direct', 'direct peers', '≤ 0.3', 'relays')
    ]
  },
  {
    number: 18,
    part: 'lab',
    limit: 'answered, ≤ 1 s',
    prototype: '0.01 s',
    what: 'first packet to a sleeping peer',
    figures: [{ name: 'first answer, s', target: '≤ 1', value: of('wake', ({ first }) => first), digits: 2 }]
  },
  {
    number: 19,
    part: 'adapter',
    limit: 'all by name; RTT p50 10 ÷ 1 ≤ 1.5',
    prototype: '–',
    what: '10 ordinary devices behind one node, TCP, UDP, both ways',
    figures: deviceFigures()
  },
  {
    number: 20,
    part: 'rootless',
    limit: '≥ 300 Mbit/s',
    prototype: '448..565',
    what: 'TCP without privilege',
    figures: [{ name: 'Mbit/s', target: '≥ 300', value: of('rootless', ({ mbits }) => mbits), digits: 0 }]
  },
  {
    number: 21,
    part: 'relayed',
    limit: '≥ 200 Mbit/s on one core of the relay',
    prototype: '310..379',
    what: 'TCP by the relay',
    figures: [
      { name: 'Mbit/s', target: '≥ 200', value: of('relayed', ({ mbits }) => mbits), digits: 0 },
      { name: 'cores of the relay', value: of('relayed', ({ relayCores }) => relayCores), digits: 2 }
    ]
  },
  {
    number: 22,
    part: 'silent',
    limit: '≤ 0.5 % of a core, ≤ 30 MB; metered ≤ 1 MB a day and peer',
    what: '10 silent peers',
    prototype: '1 peer: 0.3 %, 14 MB',
    figures: [
      {
        name: 'hub, % of a core',
        target: '≤ 0.5',
        digits: 2,
        value: of('silent', ({ hubCores }) => 100 * hubCores)
      },
      { name: 'hub, MiB', target: '≤ 30', value: of('silent', ({ memory }) => memory / MIB), digits: 0 },
      { name: 'without the program’s file', value: of('silent', ({ own }) => own / MIB), digits: 0 },
      {
        name: 'metered: MB a day and peer',
        target: '≤ 1',
        digits: 2,
        value: of('metered', ({ tunnelPerDay }) => tunnelPerDay / MB)
      },
      {
        name: 'metered: MB a day on the link of a peer, with signaling and relay',
        digits: 2,
        value: of('metered', ({ linkPerDay }) => linkPerDay / MB)
      }
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

/**
 * @param {number} number @param {string} what @param {string} limit @param {string} [prototype]
 * @returns {Criterion}
 */
function proven(number, what, limit, prototype = '–') {
  const key = `test-${number}`;
  return {
    number,
    what,
    limit,
    prototype,
    part: 'tests',
    figures: [
      {
        name: 'tests failed or missing',
        target: '≤ 0',
        digits: 0,
        value: of(key, ({ failed, missing }) => failed + missing)
      },
      { name: 'passed', value: of(key, ({ passed }) => passed), digits: 0 },
      { name: 'skipped', value: of(key, ({ skipped }) => skipped), digits: 0 }
    ]
  };
}

/**
 * @param {Figure} figure @param {Round[]} rounds
 * @returns {{ median: number, low: number, high: number } | null} over the rounds that measured it
 */
function evaluate({ value }, rounds) {
  const values = rounds.map(value).filter((each) => each !== undefined && Number.isFinite(each));
  const known = /** @type {number[]} */ (values);
  if (known.length === 0) return null;
  const median = /** @type {number} */ (percentile(known, 0.5));
  return { median, low: Math.min(...known), high: Math.max(...known) };
}

/** @param {Criterion} criterion @returns {string} */
function commandOf({ number, part }) {
  if (part !== 'tests') return `seganet-bench --only overlay --systems ${part}`;
  return proofs[number] ? proofCommand(number) : 'no such test';
}

module.exports = { commandOf, criteria, evaluate, rateKey };
