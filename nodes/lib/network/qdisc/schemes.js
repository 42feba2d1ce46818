'use strict';
// The schemes, best first, as the commands that set them up. Pure. For measurements, see docs/use/network.md.

const { BANDS, MAJOR, PRIOMAP } = require('./bands');
const { arpFilter, dscpFilters, priorityFilters } = require('./packet-filters');
const { formatRate } = require('./link-bitrate');

/** @typedef {import('./kernel-capabilities').Capabilities} Capabilities */
/** @typedef {import('./kernel-capabilities').Part} Part */
/** @typedef {{ tool: 'tc' | 'ip', args: string[], why: string }} Step */
/**
 * @typedef {object} DesiredState
 * @property {string} interface
 * @property {number} rate bits per second; 0 = not shaped
 * @property {number} share percent of the rate that each lower band is guaranteed
 * @property {number} mtu bytes
 * @property {string} object file of the eBPF object
 * @property {Capabilities} capabilities
 */

/** Length of a band: packets of this time, so that a full band delays no longer. */
const QUEUE_MS = 100;
const LEAST_PACKETS = 16;
const MOST_PACKETS = 1000;
/** Urgent packets are few and small, and a delayed burst is better than a lost one. */
const URGENT_PACKETS = 100;
const ETHERNET_BYTES = 14;

/**
 * @param {number} bytes
 * @param {number} rate bits per second
 * @returns {number} milliseconds of transmission
 */
const msOf = (bytes, rate) => (bytes * 8000) / rate;

/** @param {DesiredState} desired @returns {number} packets */
function packetsOf({ rate, mtu }) {
  const packets = Math.round(QUEUE_MS / msOf(mtu + ETHERNET_BYTES, rate));
  return Math.min(Math.max(packets, LEAST_PACKETS), MOST_PACKETS);
}

/**
 * Returns the bytes that may be sent at once: this many milliseconds, and at least this many packets.
 * @param {DesiredState} desired
 * @param {number} ms
 * @param {number} packets
 * @returns {string}
 */
const burst = ({ rate, mtu }, ms, packets) =>
  `${Math.max(Math.round((rate * ms) / 8000), packets * (mtu + 100))}b`;

/**
 * @param {DesiredState} desired
 * @param {string} why
 * @param {...string} args
 * @returns {Step}
 */
const qdisc = ({ interface: name }, why, ...args) => ({
  tool: 'tc',
  args: ['qdisc', 'add', 'dev', name, ...args],
  why
});

/**
 * @param {DesiredState} desired
 * @param {string} parent
 * @param {number} i of the band
 * @returns {Step}
 */
function leaf(desired, parent, i) {
  const { capabilities, mtu, rate } = desired;
  const handle = `${i + 1}0:`;
  if (i > 0 && capabilities.fq_codel === 'yes') {
    // Its default of 5 ms is less than one packet on a slow line [RFC 8290, 5.2.3].
    const target = rate > 0 ? Math.max(5, Math.ceil(1.5 * msOf(mtu + ETHERNET_BYTES, rate))) : 5;
    const why = `${BANDS[i].name}: connections share the band fairly, and its queue stays short`;
    return qdisc(desired, why, 'parent', parent, 'handle', handle, 'fq_codel', 'target', `${target}ms`);
  }
  const packets = rate > 0 ? packetsOf(desired) : MOST_PACKETS;
  const limit = i === 0 ? Math.max(URGENT_PACKETS, packets) : packets;
  const why = `${BANDS[i].name}: in order, at most ${limit} packets`;
  return qdisc(desired, why, 'parent', parent, 'handle', handle, 'pfifo', 'limit', String(limit));
}

/** @param {DesiredState} desired @returns {Step[]} */
function htb(desired) {
  const { interface: name, rate, share, mtu } = desired;
  const ceil = formatRate(rate);
  const id = (/** @type {number} */ i) => `${MAJOR}:${BANDS[i].minor.toString(16)}`;
  const lower = BANDS.length - 1;
  const low = Math.floor((rate * share) / 100);
  const bursts = ['burst', burst(desired, 1, 1), 'cburst', burst(desired, 1, 1)];
  const classOf = (
    /** @type {string} */ parent,
    /** @type {string[]} */ args,
    /** @type {string} */ why
  ) => ({
    tool: /** @type {const} */ ('tc'),
    args: ['class', 'add', 'dev', name, 'parent', parent, 'classid', ...args, ...bursts],
    why
  });
  const ownShare = (/** @type {number} */ i) => formatRate(i === 0 ? rate - lower * low : low);
  return [
    {
      tool: 'ip',
      args: ['link', 'set', 'dev', name, 'gso_max_segs', '1'],
      why: 'htb counts a GSO packet of 64 kB as one packet: connections from now on send single packets'
    },
    qdisc(
      desired,
      'packets that no filter matches are normal',
      ...['root', 'handle', `${MAJOR}:`, 'htb', 'default', BANDS[1].minor.toString(16)]
    ),
    classOf(`${MAJOR}:`, [`${MAJOR}:1`, 'htb', 'rate', ceil, 'ceil', ceil], 'the line'),
    ...BANDS.map((band, i) =>
      classOf(
        `${MAJOR}:1`,
        [
          ...[id(i), 'htb', 'rate', ownShare(i), 'ceil', ceil, 'prio', String(i)],
          ...['quantum', String(mtu + ETHERNET_BYTES)]
        ],
        i === 0
          ? `${band.name}: goes first`
          : `${band.name}: ${share} % guaranteed, plus what the others leave`
      )
    ),
    ...BANDS.map((_, i) => leaf(desired, id(i), i)),
    ...dscpFilters(desired, `${MAJOR}:`, id, 10),
    ...(desired.capabilities.u32 === 'no' ? [] : [arpFilter(desired)]),
    ...priorityFilters(desired, `${MAJOR}:`, id)
  ];
}

/**
 * @param {DesiredState} desired
 * @param {string} where arguments for its position
 * @param {string} handle
 * @returns {Step[]}
 */
function prio(desired, where, handle) {
  const flow = (/** @type {number} */ i) => `${handle}${i + 1}`;
  const leaves = desired.rate > 0 || desired.capabilities.fq_codel === 'yes';
  return [
    qdisc(
      desired,
      'three bands by SO_PRIORITY, the first one first',
      ...where.split(' '),
      ...['handle', handle, 'prio', 'bands', String(BANDS.length), 'priomap', ...PRIOMAP.map(String)]
    ),
    // Handles 10: to 30: belong to the leaves.
    ...(leaves ? BANDS.map((_, i) => leaf(desired, flow(i), i)) : []),
    ...dscpFilters(desired, handle, flow, 10)
  ];
}

/** @param {DesiredState} desired @returns {Step} */
const tbf = (desired) =>
  qdisc(
    desired,
    'the line; splits GSO packets itself',
    ...['root', 'handle', `${MAJOR}:`, 'tbf', 'rate', formatRate(desired.rate)],
    ...['burst', burst(desired, 4, 2), 'latency', '50ms']
  );

/** @param {DesiredState} desired @returns {Step} */
const bandLength = (desired) => ({
  tool: 'ip',
  args: ['link', 'set', 'dev', desired.interface, 'txqueuelen', String(packetsOf(desired))],
  why: `packets in each band of the pfifo_fast created next: ${QUEUE_MS} ms of the line`
});

/**
 * @typedef {object} Scheme
 * @property {Part[]} needs
 * @property {Part[]} [oneOf]
 * @property {boolean} shapes
 * @property {(desired: DesiredState) => Step[]} steps
 */

/** @type {Record<string, Scheme>} best first */
const SCHEMES = {
  htb: { needs: ['htb'], oneOf: ['u32', 'meta', 'bpf'], shapes: true, steps: htb },
  'tbf-prio': {
    needs: ['tbf', 'prio'],
    shapes: true,
    steps: (desired) => [tbf(desired), ...prio(desired, `parent ${MAJOR}:1`, '2:')]
  },
  'tbf-pfifo_fast': {
    needs: ['tbf'],
    shapes: true,
    steps: (desired) => [
      bandLength(desired),
      tbf(desired),
      qdisc(
        desired,
        'three bands by SO_PRIORITY, the first one first',
        ...['parent', `${MAJOR}:1`, 'handle', '2:', 'pfifo_fast']
      )
    ]
  },
  prio: { needs: ['prio'], shapes: false, steps: (desired) => prio(desired, 'root', `${MAJOR}:`) },
  pfifo_fast: {
    needs: [],
    shapes: false,
    steps: (desired) => [
      qdisc(
        desired,
        'three bands by SO_PRIORITY, the first one first',
        ...['root', 'handle', `${MAJOR}:`, 'pfifo_fast']
      )
    ]
  }
};

module.exports = { SCHEMES };
