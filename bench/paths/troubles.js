'use strict';
// Failures between a gateway and its broker, one run each, with the status texts that the node should show.

const { run } = require('../harness/netns');

/**
 * @typedef {import('./run').Event} Event
 * @typedef {import('./run').PathsResult} Result @typedef {import('./lab').PathsLab} PathsLab
 *
 * @typedef {object} Failure
 * @property {string} key @property {string} label
 * @property {number} seconds of load
 * @property {boolean} [mptcp] the broker speaks MPTCP; default true
 * @property {(lab: PathsLab) => void} [before] called before the gateway starts
 * @property {Event[]} events
 * @property {{at: number, text: string | RegExp}[]} expected text shown at second `at` of the load
 * @property {boolean} [sameSession] the MQTT session must survive
 */

/**
 * Two classes, so that there are two sessions. Devices do not wait for acknowledgements, so the load is always the
 * same.
 */
const traffic = [
  { class: 1, devices: 10, perSecond: 25, payload: 200, inflight: 1000 },
  { class: 3, devices: 15, perSecond: 25, payload: 200, inflight: 1000 }
];

const WELL = 'connected · 2 of 2 paths';
const ONE = 'connected · 1 of 2 paths';
const PLAIN = 'connected · fell back to TCP';
const AWAY = /^(stalled|disconnected|connecting)/;

/** @param {number} at @param {1 | 2} i @returns {Event} */
const silent = (at, i) => ({ at, what: `p${i} silent`, do: (lab) => lab.cut('silent', i) });
/** @param {number} at @param {1 | 2} i @returns {Event} */
const back = (at, i) => ({ at, what: `p${i} back`, do: (lab) => lab.heal('silent', i) });

/**
 * A firewall that has lost its connection table resets packets of unknown connections for 0.1 s.
 * @param {number} at
 * @returns {Event[]}
 */
const forgotten = (at) => [
  {
    at,
    what: 'reset',
    do: (lab, { cloud }) => {
      const rule = `tcp dport ${cloud?.tlsPort} tcp flags & syn == 0 reject with tcp reset;`;
      const [command, ...args] = lab.inCloud;
      const chain = `chain in { type filter hook input priority 0; ${rule} }`;
      run(command, [...args, 'nft', `table ip forgotten { ${chain}; }`]);
    }
  },
  {
    at: at + 0.1,
    what: 'reset ends',
    do: ({ inCloud: [command, ...args] }) => run(command, [...args, 'nft', 'delete table ip forgotten'])
  }
];

/** @param {{quick?: boolean}} options @returns {Failure[]} */
function troubles({ quick = false } = {}) {
  const outage = quick ? 20 : 60;
  return [
    {
      key: 'both-dead',
      label: `both paths silent for ${outage} s`,
      seconds: outage + 17,
      events: [silent(5, 1), silent(5, 2), back(5 + outage, 1), back(5 + outage, 2)],
      expected: [
        { at: 4.5, text: WELL },
        { at: 4 + outage, text: AWAY },
        { at: 16.5 + outage, text: WELL }
      ]
    },
    {
      key: 'address',
      label: "p1's address changes (DHCP)",
      seconds: 18,
      events: [{ at: 5, what: 'another address', do: (lab) => lab.readdress(1, '198.18.1.77') }],
      expected: [
        { at: 4.5, text: WELL },
        { at: 17.5, text: WELL }
      ],
      sameSession: true
    },
    {
      key: 'strip',
      label: 'a middlebox removes the option; p1 silent at 8 s, back at 20 s',
      seconds: 25,
      before: (lab) => lab.strip(),
      events: [silent(8, 1), back(20, 1)],
      expected: [
        { at: 4.5, text: PLAIN },
        { at: 19.5, text: PLAIN },
        { at: 24.5, text: PLAIN }
      ]
    },
    {
      key: 'drop-capable',
      label:
        'a middlebox drops SYNs with MP_CAPABLE; connections reset at 5 s; middlebox removed at 18 s, p1 silent from 20 to 26 s',
      seconds: 38,
      before: (lab) => lab.dropCapable(),
      events: [
        ...forgotten(5),
        { at: 18, what: 'middlebox removed', do: (lab) => lab.pass() },
        silent(20, 1),
        back(26, 1)
      ],
      expected: [
        { at: 4.5, text: PLAIN },
        { at: 17.5, text: PLAIN },
        { at: 25.5, text: ONE },
        { at: 37.5, text: WELL }
      ]
    },
    {
      key: 'no-mptcp',
      label: 'a broker without MPTCP; p1 silent at 5 s, back at 20 s',
      seconds: 25,
      mptcp: false,
      events: [silent(5, 1), back(20, 1)],
      expected: [
        { at: 4.5, text: PLAIN },
        { at: 19.5, text: PLAIN },
        { at: 24.5, text: PLAIN }
      ]
    }
  ];
}

/** @param {Failure} trouble @param {import('./cases').Context} context */
async function runTrouble({ seconds, mptcp = true, before, events }, { lab, measure }) {
  before?.(lab);
  return measure({ traffic, seconds, mptcp, events });
}

module.exports = { runTrouble, troubles };
