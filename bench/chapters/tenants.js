'use strict';
// Gateway as a service: the twenty criteria of tenants, with a real front, a real keeper and real gateways as tenants.

const { CpuLimit } = require('../harness/cpu-limit');
const { lackingEngine } = require('../harness/containers');
const { hardFileLimit } = require('../harness/proc');
const { haveTool } = require('../harness/tools');
const { needsNode } = require('../harness/lacking');
const { onePart, partsChapter, testsPart } = require('../options/parts');
const { criteriaRatios, roundsOf } = require('../report/criteria');
const { testFiles, tests } = require('../tenants/commands');
const { set } = require('../tenants/criteria');
const { reportText, warnings } = require('../tenants/report');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/parts').Part} Part */

const HALF = 0.5;
/** Open files beside those of the devices. */
const SPARE_FILES = 8192;
const ENGINES = /** @type {const} */ (['docker', 'podman']);

/** Sizes of a round, and of a short check. */
const full = {
  wakes: 6,
  halfWakes: 2,
  pages: 4,
  together: 20,
  more: 200,
  settleMs: 4000,
  rests: 2,
  busyMs: 6000,
  quietMs: 45_000,
  backups: 1,
  points: 500_000,
  repeats: 2,
  ms: 500,
  mib: 256,
  threads: [1, 2, 4],
  defined: 1000,
  awake: 20,
  devices: 2000,
  probes: 5,
  seconds: 20,
  everyMs: 10_000,
  attackS: 10
};
const short = {
  wakes: 1,
  halfWakes: 1,
  pages: 1,
  together: 3,
  more: 20,
  settleMs: 500,
  rests: 1,
  busyMs: 1500,
  quietMs: 500,
  backups: 1,
  points: 20_000,
  repeats: 1,
  ms: 100,
  mib: 8,
  threads: [1, 2, 4],
  defined: 30,
  awake: 2,
  devices: 20,
  probes: 1,
  seconds: 2,
  everyMs: 1000,
  attackS: 1
};

/** @param {Plan} plan */
const sizesOf = (plan) => (plan.quick ? short : full);

// The modules with the keeper and the store of series need a newer Node.js than other chapters.
const modules = () => ({
  ...require('../tenants/commands'),
  ...require('../tenants/footprint'),
  ...require('../tenants/idle'),
  ...require('../tenants/pages'),
  ...require('../tenants/scale'),
  ...require('../tenants/wakes'),
  ...require('../tenants/containers/inside')
});

/** @param {Plan} plan */
const driverOf = ({ driver = 'process' }) => driver;

/** @param {Plan} plan @returns {import('../harness/containers').Engine} of the comparison with a container */
function engineOf(plan) {
  const driver = driverOf(plan);
  if (driver === 'docker' || driver === 'podman') return driver;
  return ENGINES.find((engine) => !lackingEngine(engine)) ?? 'docker';
}

/**
 * Runs a measurement with tenants of the chosen driver.
 * @param {Plan} plan @param {'coldWakes' | 'together' | 'heldPages' | 'memory' | 'idleStops'} name @param {any} options
 */
function withDriver(plan, name, options) {
  const driver = driverOf(plan);
  const { runInside, [name]: run } = modules();
  if (driver === 'process') return run(options);
  return runInside(/** @type {import('../harness/containers').Engine} */ (driver), name, options);
}

/** @returns {string} */
function limitProblem() {
  try {
    CpuLimit.probe();
    return '';
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/** @param {Plan} plan @returns {string} */
const driverProblem = (plan) => {
  const driver = driverOf(plan);
  return driver === 'process'
    ? ''
    : lackingEngine(/** @type {import('../harness/containers').Engine} */ (driver));
};

/** @param {boolean} isLight @returns {Part} */
const scalePart = (isLight) =>
  onePart(
    isLight ? 'scale-light' : 'scale',
    (plan) => {
      const { defined, awake, devices, probes, seconds, settleMs, everyMs } = sizesOf(plan);
      const sizes = { defined, awake, devices, probes, seconds, settleMs, everyMs };
      return {
        label: `${defined} tenants, ${awake} awake (${isLight ? 'brokers' : 'gateways'}), ${devices} devices`,
        seconds: 150,
        run: () => modules().scale({ ...sizes, isLight })
      };
    },
    {
      isExtra: true,
      lacking: (plan) => {
        const wanted = sizesOf(plan).devices + SPARE_FILES;
        if (hardFileLimit() < wanted)
          return `It needs ${wanted} open files: raise the hard limit with ulimit -Hn.`;
        return isLight && !haveTool('mosquitto') ? 'It needs mosquitto.' : '';
      }
    }
  );

const ofDriver = { lacking: driverProblem };
const ofEngine = { lacking: (/** @type {Plan} */ plan) => lackingEngine(engineOf(plan)) };

/** @type {Record<string, Part>} */
const parts = {
  duty: onePart('duty', (plan) => {
    const minutes = plan.quick ? 0.05 : (plan.minutes ?? 1);
    const { quietMs } = sizesOf(plan);
    return {
      label: `13 bytes each 60 s for ${minutes} min`,
      seconds: minutes * 60 + 15 + quietMs / 1000,
      isLong: true,
      run: () => modules().duty({ minutes, quietMs })
    };
  }),
  containers: onePart(
    'containers',
    (plan) => {
      const { repeats, ms, mib, threads } = sizesOf(plan);
      const engine = engineOf(plan);
      return {
        label: `a container of ${engine} and none: processor, memory, disk, UDP`,
        seconds: 40,
        run: async () => ({
          engine,
          ...(await modules().runInside(engine, 'compare', { repeats, ms, mib, threads }))
        })
      };
    },
    ofEngine
  ),
  wake: onePart(
    'wake',
    (plan) => ({
      label: 'records that wake a stopped tenant',
      seconds: 22,
      run: () => withDriver(plan, 'coldWakes', { samples: sizesOf(plan).wakes })
    }),
    ofDriver
  ),
  half: onePart(
    'half',
    (plan) => ({
      label: 'the same with half a core',
      seconds: 20,
      run: () => withDriver(plan, 'coldWakes', { samples: sizesOf(plan).halfWakes, cores: HALF })
    }),
    { lacking: (plan) => driverProblem(plan) || limitProblem() }
  ),
  pages: {
    ...ofDriver,
    cases: (plan) =>
      [false, true].map((isPaused) => ({
        key: `pages-${isPaused ? 'paused' : 'stopped'}`,
        label: `pages of ${isPaused ? 'paused' : 'stopped'} tenants`,
        seconds: 18,
        run: () => withDriver(plan, 'heldPages', { samples: sizesOf(plan).pages, isPaused })
      }))
  },
  together: onePart(
    'together',
    (plan) => ({
      label: `${sizesOf(plan).together} tenants woken at once`,
      seconds: 30,
      run: () => withDriver(plan, 'together', { tenants: sizesOf(plan).together })
    }),
    ofDriver
  ),
  memory: onePart(
    'memory',
    (plan) => {
      const { more, settleMs } = sizesOf(plan);
      return {
        label: '2 tenants that run, 20 and more that sleep',
        seconds: 20,
        run: () => withDriver(plan, 'memory', { more, settleMs })
      };
    },
    ofDriver
  ),
  idle: onePart(
    'idle',
    (plan) => {
      const { rests: samples, busyMs } = sizesOf(plan);
      return {
        label: 'tenants that nobody uses, and tenants with work',
        seconds: 28,
        run: () => withDriver(plan, 'idleStops', { samples, busyMs })
      };
    },
    ofDriver
  ),
  backup: onePart('backup', (plan) => ({
    label: 'backup, restore and check, a changed byte',
    seconds: 10,
    run: () => modules().backup(sizesOf(plan).backups)
  })),
  directory: onePart('directory', () => ({
    label: 'the temperature of room 105',
    seconds: 20,
    run: () => modules().directory()
  })),
  series: onePart('series', (plan) => ({
    label: 'points of series',
    seconds: 40,
    isLong: true,
    run: () => modules().series(sizesOf(plan).points)
  })),
  tests: testsPart({
    numbers: () =>
      Object.keys(tests)
        .map(Number)
        .filter((number) => testFiles(number).length > 0),
    seconds: 120,
    run: (number) => modules().runTests(number)
  }),
  neighbors: onePart(
    'neighbors',
    (plan) => {
      const seconds = sizesOf(plan).attackS;
      const engine = engineOf(plan);
      return {
        label: `records beside each attack, in containers of ${engine}`,
        // Five attacks, each in turns with as long without it and rests; a busy tenant takes its time to end.
        seconds: 15 * seconds + 90,
        run: () => modules().runInside(engine, 'neighbors', { seconds, cpus: 1 })
      };
    },
    { isExtra: true, ...ofEngine }
  ),
  scale: scalePart(false),
  light: scalePart(true)
};

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'tenants',
  title: 'Gateway as a service',
  what: `The twenty criteria of tenants, with the Gateway-as-a-Service paper’s figures. --systems: ${Object.keys(parts).join(', ')}; tests, neighbors, scale and light only if they are named. Also --driver, --minutes, --tests.`,
  ...partsChapter(parts, { lacking: () => needsNode('tenants') }),
  report: (outcomes, plan) => ({
    heading: 'Gateway as a service',
    markdown: reportText(outcomes, plan),
    ratios: criteriaRatios(set.criteria, roundsOf(outcomes)),
    plots: [],
    warnings: warnings(outcomes)
  })
};
