'use strict';
// Gateway as a service: the twenty criteria of tenants, with a real front, a real keeper and real gateways as tenants.

const { CpuLimit } = require('../harness/cpu-limit');
const { lackingEngine } = require('../harness/containers');
const { hardFileLimit } = require('../harness/proc');
const { haveTool } = require('../harness/tools');
const { needsNode } = require('../harness/lacking');
const { hasDirectory, testFiles, tests } = require('../tenants/commands');
const { ratios, reportText, warnings } = require('../tenants/report');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Case} Case */

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

/**
 * @typedef {object} PartCase
 * @property {string} key @property {string} label @property {number} seconds
 * @property {boolean} [isLong] measured in the first round only
 * @property {() => Promise<any>} run
 *
 * @typedef {object} Part
 * @property {boolean} [isExtra] only if it is chosen by --systems
 * @property {(plan: Plan) => string} [lacking]
 * @property {(plan: Plan) => PartCase[]} cases
 */

/** @param {Plan} plan @returns {string} */
const driverProblem = (plan) => {
  const driver = driverOf(plan);
  return driver === 'process'
    ? ''
    : lackingEngine(/** @type {import('../harness/containers').Engine} */ (driver));
};

/** @param {boolean} isLight @returns {Part} */
const scalePart = (isLight) => ({
  isExtra: true,
  lacking: (plan) => {
    const wanted = sizesOf(plan).devices + SPARE_FILES;
    if (hardFileLimit() < wanted)
      return `It needs ${wanted} open files: raise the hard limit with ulimit -Hn.`;
    return isLight && !haveTool('mosquitto') ? 'It needs mosquitto.' : '';
  },
  cases: (plan) => {
    const { defined, awake, devices, probes, seconds, settleMs, everyMs } = sizesOf(plan);
    const sizes = { defined, awake, devices, probes, seconds, settleMs, everyMs };
    return [
      {
        key: isLight ? 'scale-light' : 'scale',
        label: `${defined} tenants, ${awake} awake (${isLight ? 'brokers' : 'gateways'}), ${devices} devices`,
        seconds: 150,
        run: () => modules().scale({ ...sizes, isLight })
      }
    ];
  }
});

/** @type {Record<string, Part>} */
const parts = {
  duty: {
    cases: (plan) => {
      const minutes = plan.quick ? 0.05 : (plan.minutes ?? 1);
      return [
        {
          key: 'duty',
          label: `13 bytes each 60 s for ${minutes} min`,
          seconds: minutes * 60 + 15 + sizesOf(plan).quietMs / 1000,
          isLong: true,
          run: () => modules().duty({ minutes, quietMs: sizesOf(plan).quietMs })
        }
      ];
    }
  },
  containers: {
    lacking: (plan) => lackingEngine(engineOf(plan)),
    cases: (plan) => {
      const { repeats, ms, mib, threads } = sizesOf(plan);
      const engine = engineOf(plan);
      return [
        {
          key: 'containers',
          label: `a container of ${engine} and none: processor, memory, disk, UDP`,
          seconds: 40,
          run: async () => ({
            engine,
            ...(await modules().runInside(engine, 'compare', { repeats, ms, mib, threads }))
          })
        }
      ];
    }
  },
  wake: {
    lacking: driverProblem,
    cases: (plan) => [
      {
        key: 'wake',
        label: 'records that wake a stopped tenant',
        seconds: 22,
        run: () => withDriver(plan, 'coldWakes', { samples: sizesOf(plan).wakes })
      }
    ]
  },
  half: {
    lacking: (plan) => driverProblem(plan) || limitProblem(),
    cases: (plan) => [
      {
        key: 'half',
        label: 'the same with half a core',
        seconds: 20,
        run: () => withDriver(plan, 'coldWakes', { samples: sizesOf(plan).halfWakes, cores: HALF })
      }
    ]
  },
  pages: {
    lacking: driverProblem,
    cases: (plan) =>
      [false, true].map((isPaused) => ({
        key: `pages-${isPaused ? 'paused' : 'stopped'}`,
        label: `pages of ${isPaused ? 'paused' : 'stopped'} tenants`,
        seconds: 18,
        run: () => withDriver(plan, 'heldPages', { samples: sizesOf(plan).pages, isPaused })
      }))
  },
  together: {
    lacking: driverProblem,
    cases: (plan) => [
      {
        key: 'together',
        label: `${sizesOf(plan).together} tenants woken at once`,
        seconds: 30,
        run: () => withDriver(plan, 'together', { tenants: sizesOf(plan).together })
      }
    ]
  },
  memory: {
    lacking: driverProblem,
    cases: (plan) => {
      const { more, settleMs } = sizesOf(plan);
      return [
        {
          key: 'memory',
          label: '2 tenants that run, 20 and more that sleep',
          seconds: 20,
          run: () => withDriver(plan, 'memory', { more, settleMs })
        }
      ];
    }
  },
  idle: {
    lacking: driverProblem,
    cases: (plan) => {
      const { rests: samples, busyMs } = sizesOf(plan);
      return [
        {
          key: 'idle',
          label: 'tenants that nobody uses, and tenants with work',
          seconds: 28,
          run: () => withDriver(plan, 'idleStops', { samples, busyMs })
        }
      ];
    }
  },
  backup: {
    cases: (plan) => [
      {
        key: 'backup',
        label: 'backup, restore and check, a changed byte',
        seconds: 10,
        run: () => modules().backup(sizesOf(plan).backups)
      }
    ]
  },
  directory: {
    lacking: () => (hasDirectory() ? '' : 'This version has no bench/questions/directory.js.'),
    cases: () => [
      {
        key: 'directory',
        label: 'the temperature of room 105',
        seconds: 20,
        run: () => modules().directory()
      }
    ]
  },
  series: {
    cases: (plan) => [
      {
        key: 'series',
        label: 'points of series',
        seconds: 40,
        isLong: true,
        run: () => modules().series(sizesOf(plan).points)
      }
    ]
  },
  tests: {
    isExtra: true,
    cases: () =>
      Object.keys(tests)
        .map(Number)
        .filter((number) => testFiles(number).length > 0)
        .map((number) => ({
          key: `test-${number}`,
          label: `tests of criterion ${number}`,
          seconds: 120,
          isLong: true,
          run: () => modules().runTests(number)
        }))
  },
  neighbors: {
    isExtra: true,
    lacking: (plan) => lackingEngine(engineOf(plan)),
    cases: (plan) => {
      const seconds = sizesOf(plan).attackS;
      const engine = engineOf(plan);
      return [
        {
          key: 'neighbors',
          label: `records beside each attack, in containers of ${engine}`,
          // Five attacks, each in turns with as long without it and rests; a busy tenant takes its time to end.
          seconds: 15 * seconds + 90,
          run: () => modules().runInside(engine, 'neighbors', { seconds, cpus: 1 })
        }
      ];
    }
  },
  scale: scalePart(false),
  light: scalePart(true)
};

/** @param {Plan} plan @returns {[string, Part][]} */
const chosen = (plan) =>
  Object.entries(parts).filter(([name, { isExtra }]) => {
    if (name === 'tests' && plan.tests) return true;
    return plan.systems.length === 0 ? !isExtra : plan.systems.includes(name);
  });

/** @param {Plan} plan @param {Part} part */
const problemOf = (plan, part) => needsNode('tenants') || (part.lacking?.(plan) ?? '');

/** @param {Plan} plan @returns {Case[]} */
const cases = (plan) =>
  chosen(plan)
    .filter(([, part]) => !problemOf(plan, part))
    .flatMap(([, part]) => part.cases(plan))
    .map(({ key, label, seconds, isLong, run }) => ({
      key,
      label,
      seconds,
      run: async ({ round }) => (isLong && round > 0 ? { isLeftOut: true } : run())
    }));

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'tenants',
  title: 'Gateway as a service',
  what: `The twenty criteria of tenants, with the Gateway-as-a-Service paper’s figures. --systems: ${Object.keys(parts).join(', ')}; tests, neighbors, scale and light only if they are named. Also --driver, --minutes, --tests.`,
  cases,
  lacking: (plan) =>
    chosen(plan)
      .map(([label, part]) => ({ label, why: problemOf(plan, part) }))
      .filter(({ why }) => why),
  report: (outcomes, plan) => ({
    heading: 'Gateway as a service',
    markdown: reportText(outcomes, plan),
    ratios: ratios(outcomes),
    plots: [],
    warnings: warnings(outcomes)
  })
};
