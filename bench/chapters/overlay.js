'use strict';
// The overlay: its 25 criteria, and CYPHONIC's figures 5 to 8, beside wireguard-go, boringtun and Nebula.

const { allowedCores } = require('../harness/proc');
const { lackingGo } = require('../overlay/network/programs');
const { lackingNamespaces } = require('../overlay/network/star');
const { systems } = require('../overlay/systems');
const { adapter } = require('../overlay/adapter');
const { rateKey } = require('../overlay/criteria');
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
const { ratios, reportText, roundsOf, warnings } = require('../overlay/report');
const { gone, relayed, rootless, silent } = require('../overlay/scenes');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Case} Case */

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

/**
 * @typedef {object} PartCase
 * @property {string} key @property {string} label @property {number} seconds
 * @property {boolean} [isLong] measured in the first round only
 * @property {() => Promise<any>} run
 *
 * @typedef {object} Part
 * @property {boolean} [isExtra] only if it is chosen by --systems
 * @property {() => string} lacking
 * @property {(plan: Plan) => PartCase[]} cases
 */

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

/**
 * @param {string} key @param {string} label @param {(plan: Plan) => number} seconds
 * @param {(plan: Plan) => Promise<any>} run
 * @param {{ isLong?: boolean, lacking?: () => string }} [how]
 * @returns {Part}
 */
const scene = (key, label, seconds, run, { isLong = false, lacking = lackingHere } = {}) => ({
  lacking,
  cases: (plan) => [{ key, label, seconds: seconds(plan), isLong, run: () => run(plan) }]
});

/** @param {Plan} plan */
const silentSizes = (plan) => ({ ...sizesOf(plan), peers: MOST_PEERS });

/** @returns {string} the core of the relay: the last one */
const relayCore = () => String(allowedCores().at(-1));

const lackingGoLab = () => lackingGo() || lackingLab();

/** @type {Record<string, Part>} */
const parts = {
  ...Object.fromEntries(systems.map((system) => [system.name, ratePart(system)])),
  rootless: scene(
    'rootless',
    'without privilege',
    () => 12,
    (plan) => rootless(sizesOf(plan))
  ),
  relayed: scene(
    'relayed',
    'by the relay, on one core',
    () => 12,
    (plan) => relayed({ ...sizesOf(plan), cpus: relayCore() })
  ),
  adapter: scene(
    'adapter',
    '10 ordinary devices behind one node',
    () => 15,
    (plan) => adapter(sizesOf(plan))
  ),
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
  chaos: {
    isExtra: true,
    lacking: () => lackingGoLab() || (hasCommand('chaos') ? '' : 'The lab of this version has no chaos.'),
    cases: (plan) => {
      const sizes = { schedules: sizesOf(plan).schedules, minutes: plan.quick ? 0.3 : (plan.minutes ?? 1) };
      return [
        {
          key: 'chaos',
          isLong: true,
          seconds: 60 * chaosMinutes(sizes),
          label: `${sizes.schedules} schedules of faults, ${sizes.minutes} min each`,
          run: () => chaos(sizes)
        }
      ];
    }
  },
  gone: {
    isExtra: true,
    lacking: lackingHere,
    cases: (plan) => [
      {
        key: 'gone',
        label: 'the hub after its peers have gone',
        isLong: true,
        seconds: 20 + sizesOf(plan).afterSeconds,
        run: () => gone(silentSizes(plan))
      }
    ]
  },
  tests: {
    isExtra: true,
    lacking: lackingGo,
    cases: () =>
      Object.keys(proofs)
        .map(Number)
        .map((number) => ({
          key: `test-${number}`,
          label: `tests of criterion ${number}`,
          seconds: 30,
          isLong: true,
          run: () => prove(number)
        }))
  }
};

/** Names for --systems that stand for several parts. @type {Record<string, string[]>} */
const groups = { rates: systems.map(({ name }) => name) };

/** @param {Plan} plan @returns {[string, Part][]} */
function chosen(plan) {
  const names = plan.systems.flatMap((name) => groups[name] ?? [name]);
  return Object.entries(parts).filter(([name, { isExtra }]) => {
    if (name === 'tests' && plan.tests) return true;
    return plan.systems.length === 0 ? !isExtra : names.includes(name);
  });
}

/** @param {Plan} plan @returns {Case[]} */
const cases = (plan) =>
  chosen(plan)
    .filter(([, part]) => !part.lacking())
    .flatMap(([, part]) => part.cases(plan))
    .map(({ key, label, seconds, isLong, run }) => ({
      key,
      label,
      seconds,
      run: async ({ round }) => (isLong && round > 0 ? { isLeftOut: true } : run())
    }));

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
  cases,
  lacking: (plan) =>
    chosen(plan)
      .map(([label, part]) => ({ label, why: part.lacking() }))
      .filter(({ why }) => why),
  report: (outcomes) => {
    const rounds = roundsOf(outcomes);
    return {
      heading: 'Overlay',
      markdown: reportText(rounds),
      ratios: ratios(rounds),
      plots: [],
      warnings: warnings(outcomes)
    };
  }
};
