'use strict';
// The overlay: its 25 criteria, and CYPHONIC's figures 5 to 8, beside wireguard-go, boringtun and Nebula.

const { allowedCores } = require('../harness/proc');
const { onePart, partsChapter, testsPart } = require('../options/parts');
const { criteriaRatios, roundsOf } = require('../report/criteria');
const { lackingGo } = require('../overlay/network/programs');
const { lackingNamespaces } = require('../overlay/network/star');
const { systems } = require('../overlay/systems');
const { adapter } = require('../overlay/adapter');
const { rateKey, set } = require('../overlay/criteria');
const {
  chaos,
  chaosMinutes,
  faults,
  hasCommand,
  lackingLab,
  matrix,
  mqtt,
  relays,
  wake
} = require('../overlay/lab');
const { proofs, prove } = require('../overlay/proofs');
const { rates } = require('../overlay/rates');
const { reportText, warnings } = require('../overlay/report');
const { gone, relayed, rootless, silent } = require('../overlay/scenes');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/parts').Part} Part */

const LEAST_PEERS = 1;
const MOST_PEERS = 10;
/** An idle peer is forgotten after 10 minutes. */
const GONE_MINUTES = 11;

/** Sizes of a round, and of a short check. */
const full = {
  seconds: 4,
  settleSeconds: 30,
  silentSeconds: 120,
  messages: 200,
  schedules: 100,
  afterSeconds: GONE_MINUTES * 60
};
const short = { seconds: 1, settleSeconds: 1, silentSeconds: 4, messages: 20, schedules: 1, afterSeconds: 5 };

/** @param {Plan} plan */
const sizesOf = (plan) => (plan.quick ? short : full);

/** @param {Plan} plan @param {boolean} isFew @returns {number[]} */
function peerCounts(plan, isFew) {
  const { devices } = plan.sizes;
  if (devices) return [Math.min(devices, MOST_PEERS)];
  if (isFew || plan.quick) return [LEAST_PEERS, MOST_PEERS];
  return plan.all ? Array.from({ length: MOST_PEERS }, (_, i) => i + 1) : [LEAST_PEERS, 4, MOST_PEERS];
}

/** @param {import('../overlay/systems').System} system @returns {Part} */
const ratePart = (system) => ({
  lacking: () => lackingGo() || lackingNamespaces() || (system.lacking?.() ?? ''),
  cases: (plan) => {
    const sizes = sizesOf(plan);
    return peerCounts(plan, system.isFew ?? false).map((peers) => ({
      key: rateKey(system.name, peers),
      label: `${system.title}, ${peers} peer${peers === 1 ? '' : 's'}`,
      seconds: 8 + 3 * sizes.seconds + peers / 2,
      run: () => rates(system, peers, sizes)
    }));
  }
});

const lackingHere = () => lackingGo() || lackingNamespaces();

/** @param {string} key @param {string} label @param {number} seconds @param {(plan: Plan) => Promise<any>} run */
const scene = (key, label, seconds, run) =>
  onePart(key, (plan) => ({ label, seconds, run: () => run(plan) }), { lacking: lackingHere });

/** @param {Plan} plan */
const silentSizes = (plan) => ({ ...sizesOf(plan), peers: MOST_PEERS });

/** @returns {string} the core of the relay: the last one */
const relayCore = () => String(allowedCores().at(-1));

const lackingGoLab = () => lackingGo() || lackingLab();

/** @type {Record<string, Part>} */
const parts = {
  ...Object.fromEntries(systems.map((system) => [system.name, ratePart(system)])),
  rootless: scene('rootless', 'without privilege', 12, (plan) => rootless(sizesOf(plan))),
  relayed: scene('relayed', 'by the relay, on one core', 12, (plan) =>
    relayed({ ...sizesOf(plan), cpus: relayCore() })
  ),
  adapter: scene('adapter', '10 ordinary devices behind one node', 15, (plan) => adapter(sizesOf(plan))),
  silent: {
    lacking: lackingHere,
    cases: (plan) =>
      [false, true].map((isMetered) => ({
        key: isMetered ? 'metered' : 'silent',
        label: `${MOST_PEERS} silent peers${isMetered ? ', metered' : ''}`,
        seconds: 15 + sizesOf(plan).settleSeconds + sizesOf(plan).silentSeconds,
        isLong: true,
        run: () => silent({ ...silentSizes(plan), isMetered })
      }))
  },
  lab: {
    lacking: lackingGoLab,
    cases: () =>
      [
        { key: 'matrix', label: 'pairs of NATs', seconds: 150, isLong: true, run: matrix },
        { key: 'faults', label: 'dead paths and new addresses', seconds: 50, run: faults },
        { key: 'relays', label: 'a relay dies', seconds: 40, run: relays },
        { key: 'mqtt', label: 'an MQTT session through faults', seconds: 60, run: mqtt },
        { key: 'wake', label: 'the first packet to a sleeping peer', seconds: 10, run: wake }
      ].filter(({ key }) => hasCommand(key === 'wake' ? 'sleep' : key))
  },
  chaos: onePart(
    'chaos',
    (plan) => {
      const sizes = { schedules: sizesOf(plan).schedules, minutes: plan.quick ? 0.3 : (plan.minutes ?? 1) };
      return {
        isLong: true,
        seconds: 60 * chaosMinutes(sizes),
        label: `${sizes.schedules} schedules of faults, ${sizes.minutes} min each`,
        run: () => chaos(sizes)
      };
    },
    {
      isExtra: true,
      lacking: () => lackingGoLab() || (hasCommand('chaos') ? '' : 'The lab of this version has no chaos.')
    }
  ),
  gone: onePart(
    'gone',
    (plan) => ({
      label: 'the hub after its peers have gone',
      isLong: true,
      seconds: 20 + sizesOf(plan).afterSeconds,
      run: () => gone(silentSizes(plan))
    }),
    { isExtra: true, lacking: lackingHere }
  ),
  tests: testsPart({
    numbers: () => Object.keys(proofs).map(Number),
    seconds: 30,
    run: prove,
    lacking: lackingGo
  })
};

/** Names for --systems that stand for several parts. @type {Record<string, string[]>} */
const groups = { rates: systems.map(({ name }) => name) };

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'overlay',
  title: 'Overlay',
  what: `The 25 criteria of the overlay, with figures 5 to 8 of the CYPHONIC paper (root). --systems: rates (${groups.rates.join(', ')}), ${Object.keys(
    parts
  )
    .filter((name) => !groups.rates.includes(name))
    .join(
      ', '
    )}; gone, chaos and tests only if they are named. Also --minutes (chaos), --tests. --devices: this number of peers, up to ${MOST_PEERS}.`,
  ...partsChapter(parts, { groups }),
  report: (outcomes) => {
    const rounds = roundsOf(outcomes);
    return {
      heading: 'Overlay',
      markdown: reportText(rounds),
      ratios: criteriaRatios(set.criteria, rounds),
      plots: [],
      warnings: warnings(outcomes)
    };
  }
};
