'use strict';
// The report of the chapter overlay: the 25 criteria, and the paper's figures 5 to 8 as tables.

const { criteriaTable } = require('../report/criteria');
const { markdown, spread } = require('../report/report');
const { PACED_MBITS } = require('./rates');
const { MTU, systems } = require('./systems');
const { rateKey, set } = require('./criteria');

/** @typedef {import('../options/chapter').Outcome} Outcome @typedef {import('../report/criteria').Round} Round */

const MIB = 1 << 20;

/** @param {Round[]} rounds @returns {number[]} numbers of peers that were measured */
function peerCounts(rounds) {
  const keys = rounds.flatMap((round) => Object.keys(round)).filter((key) => key.includes(':'));
  return [...new Set(keys.map((key) => Number(key.split(':')[1])))].sort((a, b) => a - b);
}

/**
 * A table of systems and numbers of peers; medians over the rounds with the range.
 * @param {Round[]} rounds @param {string} title @param {(result: any) => number | undefined} value
 * @param {number} digits
 * @returns {string} '' = nothing was measured
 */
function table(rounds, title, value, digits) {
  const counts = peerCounts(rounds);
  const rows = systems.flatMap(({ name, title: label }) => {
    const cells = counts.map((peers) => {
      const results = rounds.map((round) => round[rateKey(name, peers)]).filter(Boolean);
      return spread(results.map(value), digits);
    });
    return cells.some((cell) => cell !== '–') ? [[label, ...cells]] : [];
  });
  return rows.length > 0 ? markdown([`${title}; peers:`, ...counts.map(String)], rows) : '';
}

/** @param {any} result @returns {number | undefined} s */
const cpuPerGbit = ({ tcp }) => (tcp.hubCores === undefined ? undefined : tcp.cores / (tcp.mbits / 1000));

/** @type {[string, [string, (result: any) => number | undefined, number][]][]} heading, tables */
const figures = [
  [
    '### Figure 5: throughput and round trip',
    [
      ['TCP, Mbit/s in all', ({ tcp }) => tcp.mbits, 0],
      ['UDP of 1,200 B, as much as it takes, Mbit/s received', ({ udp }) => udp.mbits, 0],
      [`UDP, ${PACED_MBITS} Mbit/s a peer: lost, %`, ({ paced }) => 100 * paced.lost, 2],
      ['RTT p50 idle, ms', ({ idle }) => idle.p50, 2],
      [`RTT p50 with ${PACED_MBITS} Mbit/s of TCP a peer, ms`, ({ pacedTcp }) => pacedTcp.rtt.p50, 2],
      [`RTT p99 with ${PACED_MBITS} Mbit/s of TCP a peer, ms`, ({ pacedTcp }) => pacedTcp.rtt.p99, 2],
      [`RTT p50 with ${PACED_MBITS} Mbit/s of UDP a peer, ms`, ({ paced }) => paced.rtt.p50, 2],
      [`RTT p99 with ${PACED_MBITS} Mbit/s of UDP a peer, ms`, ({ paced }) => paced.rtt.p99, 2],
      ['RTT p50 with saturating TCP, ms', ({ tcp }) => tcp.rtt.p50, 1],
      ['RTT p99 with saturating TCP, ms', ({ tcp }) => tcp.rtt.p99, 1],
      ['TCP retransmits', ({ tcp }) => tcp.retransmits, 0]
    ]
  ],
  [
    '### Figure 6: CPU and memory',
    [
      ['TCP: CPU of the hub’s program, cores', ({ tcp }) => tcp.hubCores, 2],
      ['TCP: CPU of all programs, s a Gbit', cpuPerGbit, 2],
      ['UDP: CPU of the hub’s program, cores', ({ udp }) => udp.hubCores, 2],
      [
        `TCP, ${PACED_MBITS} Mbit/s a peer: CPU of the hub’s program, cores`,
        ({ pacedTcp }) => pacedTcp.hubCores,
        2
      ],
      [
        `UDP, ${PACED_MBITS} Mbit/s a peer: CPU of the hub’s program, cores`,
        ({ paced }) => paced.hubCores,
        2
      ],
      ['TCP: memory of the hub’s program at most, MiB', ({ tcp }) => tcp.peak / MIB, 0],
      ['UDP: memory of the hub’s program at most, MiB', ({ udp }) => udp.peak / MIB, 0]
    ]
  ],
  [
    '### Figure 7: heap of the hub’s program',
    [
      ['TCP: allocated since the start, MiB', ({ tcp }) => tcp.allocatedBytes / MIB, 0],
      ['TCP: in use, MiB', ({ tcp }) => tcp.heapBytes / MIB, 0],
      ['TCP: released to the system, MiB', ({ tcp }) => tcp.releasedBytes / MIB, 0]
    ]
  ],
  [
    '### Figure 8: goroutines and threads of the hub’s program',
    [
      ['goroutines', ({ tcp }) => tcp.goroutines, 0],
      ['OS threads', ({ tcp }) => tcp.threads, 0]
    ]
  ]
];

/** @param {Round[]} rounds */
function goneText(rounds) {
  const results = rounds.flatMap(({ gone }) => gone ?? []);
  if (results.length === 0) return '';
  const row = (/** @type {string} */ title, /** @type {'before' | 'loaded' | 'after'} */ when) => [
    title,
    ...['memory', 'heapBytes', 'releasedBytes'].map((field) =>
      spread(
        results.map((result) => result[when][field] / MIB),
        0
      )
    ),
    ...['goroutines', 'threads'].map((field) =>
      spread(
        results.map((result) => result[when][field]),
        0
      )
    )
  ];
  const minutes = results[0].afterSeconds / 60;
  return markdown(
    [
      `the hub’s program, ${results[0].peers} peers`,
      'memory, MiB',
      'heap in use, MiB',
      'released, MiB',
      'goroutines',
      'threads'
    ],
    [
      row('before the load', 'before'),
      row('after the load', 'loaded'),
      row(`${minutes.toFixed(1)} min after the peers have ended`, 'after')
    ]
  );
}

/** @param {Outcome[]} outcomes @returns {string[]} */
function warnings(outcomes) {
  return outcomes.flatMap(({ key, round, result }) => {
    const faults = [];
    if (result?.udp?.duplicates > 0 || result?.paced?.duplicates > 0) faults.push('datagrams arrived twice');
    if (result?.paced?.outOfOrder > 0) faults.push(`${result.paced.outOfOrder} datagrams out of order`);
    if (result?.skipped > 0) faults.push(`${result.skipped} tests were skipped`);
    return faults.map((fault) => `${key}, round ${round + 1}: ${fault}.`);
  });
}

const intro = [
  'A hub and its peers, each in a network namespace, at a bridge: both ends, all programs and the load share the cores of one',
  'machine, so ratios count, and absolute figures do not. Each peer sends to the hub; several peers’ rates are added. MTU',
  `${MTU} for all, but where another is named. The load is bench/overlay/peers/load; RTT is ICMP from the first peer. CPU is that`,
  'of the overlay’s or VPN’s programs, at both ends. A case of the overlay begins when all paths are direct. Figures of heap and',
  'goroutines come from programs in Go that tell them. The paper has one number of none of its figures in its text, and',
  'compares with its own earlier version, of one thread: _one worker_ is GOMAXPROCS=1.',
  '_goal_ is tighter than the limit, and what _measured_ is compared with; _prototype_ is what a prototype had shown.'
].join('\n');

/** @param {Round[]} rounds @returns {string} Markdown */
function reportText(rounds) {
  const sections = figures.flatMap(([heading, tables]) => {
    const texts = tables.map(([title, value, digits]) => table(rounds, title, value, digits)).filter(Boolean);
    return texts.length > 0 ? [heading, ...texts] : [];
  });
  return [intro, criteriaTable(set, rounds), ...sections, goneText(rounds)].filter(Boolean).join('\n\n');
}

module.exports = { reportText, warnings };
