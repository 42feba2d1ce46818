'use strict';
// Measures an idle system: CPU, wake-ups, and memory per silent connection.

const { adapters } = require('../systems');
const { loadOf } = require('../runs/load');
const { readMemory } = require('../harness/memory');
const { ratios } = require('../report/pairs');
const { readThreads, threadUse } = require('../harness/proc');
const { cells, markdown, median, ratioOf, resultsOf, titles } = require('../report/report');
const { SilentFleet } = require('../harness/silent');
const { Stage, sleep } = require('../runs/stage');

const SYSTEMS = ['seganet-adaptive', 'mosquitto-bridge', 'nodered'];
const COUNTS = [0, 1, 1000];
const LONG = 10000;
const AIM = 1000;
/** Time for garbage of the start to be collected, for tables to be allocated and for sessions to settle. */
const SETTLE_MS = 4000;
const QUICK_SETTLE_MS = 500;
const SECONDS = 15;
/** Open files beyond one per connection: the other files of a process. */
const SPARE_FILES = 512;

/**
 * @typedef {object} Idle
 * @property {number} devices @property {number} cores @property {number} wakesPerSecond of all threads
 * @property {import('../harness/memory').Memory} memory @property {number} losses connections that the system closed
 * @property {import('../harness/proc').ThreadUse[]} threads those that woke up
 */

/** @param {import('../options/chapter').Plan} plan @returns {string[]} */
function systemsOf(plan) {
  const known = adapters.filter(({ lacking }) => !lacking()).map(({ name }) => name);
  return (plan.systems.length > 0 ? plan.systems : SYSTEMS).filter((name) => known.includes(name));
}

/** @param {import('../options/chapter').Plan} plan @returns {number[]} numbers of devices, ascending */
function countsOf(plan) {
  if (plan.sizes.devices) return [0, 1, plan.sizes.devices];
  return plan.all && plan.openFiles >= LONG + SPARE_FILES ? [...COUNTS, LONG] : COUNTS;
}

/** @param {import('../options/chapter').Plan} plan */
const settleMs = (plan) => (plan.quick ? QUICK_SETTLE_MS : SETTLE_MS);

/** @param {import('../options/chapter').Plan} plan */
const secondsOf = (plan) => (plan.quick ? Math.min(SECONDS, plan.seconds) : SECONDS);

/**
 * @param {string} name of the system @param {import('../options/chapter').Plan} plan @param {AbortSignal} [signal]
 * @returns {Promise<{counts: Idle[]}>}
 */
async function run(name, plan, signal) {
  const counts = countsOf(plan);
  const devices = Math.max(...counts);
  const openFiles = Math.max(plan.openFiles, devices + SPARE_FILES);
  const stage = new Stage({ ...loadOf(plan, {}), devices, openFiles });
  /** @type {SilentFleet | undefined} */
  let fleet;
  try {
    await stage.open();
    const system = await stage.startSystem(name);
    const groups = system.children.map((child) => child.pid);
    fleet = new SilentFleet(system.port);
    const results = [];
    for (const count of counts) {
      if (signal?.aborted) break;
      await fleet.grow(count);
      await sleep(settleMs(plan));
      const [before, beforeMs] = [readThreads(groups), performance.now()];
      await sleep(secondsOf(plan) * 1000);
      const threads = threadUse(before, readThreads(groups), (performance.now() - beforeMs) / 1000);
      /** @param {'cores' | 'wakesPerSecond'} field */
      const sum = (field) => threads.reduce((all, thread) => all + thread[field], 0);
      results.push({
        devices: count,
        cores: sum('cores'),
        wakesPerSecond: sum('wakesPerSecond'),
        memory: readMemory(groups),
        losses: fleet.losses,
        threads: threads.filter(({ wakesPerSecond }) => wakesPerSecond > 0)
      });
    }
    return { counts: results };
  } finally {
    fleet?.close();
    await stage.close();
  }
}

/**
 * Returns the bytes of each connection beyond the first.
 * @param {Idle[]} counts @param {number} devices @param {keyof import('../harness/memory').Memory} kind
 * @returns {number}
 */
function bytesEach(counts, devices, kind) {
  const [one, many] = [1, devices].map((n) => counts.find((each) => each.devices === n));
  if (!one || !many || devices < 2) return NaN;
  return (many.memory[kind] - one.memory[kind]) / (devices - 1);
}

/** @param {any[]} results @param {number} devices @returns {Idle[]} of all rounds */
const idlesOf = (results, devices) =>
  results.flatMap(({ counts }) => counts.filter((/** @type {Idle} */ each) => each.devices === devices));

/** @type {import('../report/report').Columns} */
const useColumns = [
  ['% of a core', ({ cores }) => cores * 100, 3],
  ['wake-ups/s', ({ wakesPerSecond }) => wakesPerSecond, 1]
];

/** @type {import('../report/report').Columns} */
const columns = [
  ...useColumns,
  ['RSS MB', ({ memory }) => memory.rss / 1e6, 1],
  ['PSS MB', ({ memory }) => memory.pss / 1e6, 1]
];

/** @param {number} devices @returns {import('../report/report').Columns} of a whole run */
const growthColumns = (devices) => [
  ['RSS KB/conn.', ({ counts }) => bytesEach(counts, devices, 'rss') / 1024, 2],
  ['private KB/conn.', ({ counts }) => bytesEach(counts, devices, 'privateDirty') / 1024, 2]
];

/** @param {any[]} results @param {string} key @param {number} devices */
function threadRows(results, key, devices) {
  /** @type {import('../harness/proc').ThreadUse[]} */
  const all = idlesOf(results, devices).flatMap(({ threads }) => threads);
  return [...new Set(all.map(({ name }) => name))]
    .map((name) => {
      const own = all.filter((each) => each.name === name);
      return { name, own, cores: median(own.map(({ cores }) => cores)) };
    })
    .filter(({ cores }) => cores >= 0.00001)
    .sort((a, b) => b.cores - a.cores)
    .map(({ name, own }) => [key, name, ...cells(own, useColumns)]);
}

/** @param {any[]} results @param {string} key @param {number} devices */
const targets = (results, key, devices) => [
  ...ratioOf(
    `${key}, ${devices} silent devices: % of a core`,
    idlesOf(results, devices).map(({ cores }) => cores * 100),
    '≤ 1'
  ),
  ...ratioOf(
    `${key}: KB of resident memory per silent connection`,
    results.map(({ counts }) => bytesEach(counts, devices, 'rss') / 1024),
    '≤ 8'
  )
];

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'idle',
  title: 'Idle',
  what: 'CPU, wake-ups and memory with 0, 1 and 1,000 silent connected devices.',
  cases: (plan) =>
    systemsOf(plan).map((name) => ({
      key: name,
      label: `${name}, silent devices`,
      seconds: 8 + countsOf(plan).length * (secondsOf(plan) + settleMs(plan) / 1000),
      run: ({ signal }) => run(name, plan, signal)
    })),
  lacking: (plan) => {
    const wanted = plan.systems.length > 0 ? plan.systems : SYSTEMS;
    const missing = wanted.flatMap((name) => {
      const adapter = adapters.find((each) => each.name === name);
      const why = adapter ? adapter.lacking() : '';
      return why ? [{ label: name, why }] : [];
    });
    if (!plan.all || countsOf(plan).includes(LONG)) return missing;
    const why = `each process needs ${LONG + SPARE_FILES} open files: raise 'ulimit -Hn'`;
    return [...missing, { label: `${LONG} silent devices`, why }];
  },
  report: (outcomes) => {
    const keys = [...new Set(outcomes.map(({ key }) => key))].sort((a, b) => rank(a) - rank(b));
    const all = outcomes.flatMap(({ result }) => result ?? []);
    const counts = all[0]?.counts.map((/** @type {Idle} */ each) => each.devices) ?? [];
    const most = Math.max(1, ...counts);
    // The targets apply to 1,000 devices.
    const aimed = counts.includes(AIM) ? AIM : most;
    const head = ['system', 'devices', ...titles(columns), ...titles(growthColumns(most))];
    const rows = keys.flatMap((key) => {
      const results = resultsOf(outcomes, key);
      return counts.map((/** @type {number} */ devices) => [
        key,
        devices,
        ...cells(idlesOf(results, devices), columns),
        ...cells(results, growthColumns(devices))
      ]);
    });
    const threads = keys.flatMap((key) => threadRows(resultsOf(outcomes, key), key, most));
    const hasLosses = all.some((result) =>
      result.counts.some((/** @type {Idle} */ { losses }) => losses > 0)
    );
    const text = [
      markdown(head, rows),
      `The same by thread, ${most} devices:`,
      markdown(['system', 'thread', ...titles(useColumns)], threads),
      'Memory per connection is the growth from the first connection to the last, divided by their number, without the kernel memory of the socket. A wake-up is a voluntary context switch.'
    ];
    /** @type {{variant: string, round: number, cores: number}[]} */
    const cores = outcomes.flatMap(({ key, round, result }) => {
      const last = result?.counts.find((/** @type {Idle} */ each) => each.devices === aimed);
      return last ? [{ variant: key, round, cores: last.cores }] : [];
    });
    const beside = ratios(/** @type {any} */ (cores), keys[0], 'mosquitto-bridge', (each) => each.cores);
    return {
      heading: 'Idle',
      markdown: text.join('\n\n'),
      ratios: [
        ...keys
          .filter((key) => key.startsWith('seganet'))
          .flatMap((key) => targets(resultsOf(outcomes, key), key, aimed)),
        ...(keys[0] === 'mosquitto-bridge'
          ? []
          : ratioOf(`CPU with ${aimed} silent devices, ${keys[0]} / mosquitto-bridge`, beside))
      ],
      plots: [],
      warnings: hasLosses
        ? ['The system closed silent connections, so the memory per connection is too low.']
        : []
    };
  }
};

/** @param {string} key @returns {number} */
const rank = (key) => (SYSTEMS.includes(key) ? SYSTEMS.indexOf(key) : SYSTEMS.length);
