'use strict';
// Does a record cost more CPU if several gateways share the load? Each has a tenth of a core.
//   node native/node/run.js bench/questions/gateways.js --help

const { CpuLimit } = require('../harness/cpu-limit');
const { readCpu } = require('../harness/proc');
const { readOptions, fail } = require('../options/options');
const { turned } = require('../report/pairs');
const { conditions, markdown, list, save, spread } = require('../report/report');
const { startGateways } = require('../runs/gateways');
const { Stage, sleep } = require('../runs/stage');

const intro = `Usage: node native/node/run.js bench/questions/gateways.js [options]

Runs 1, 2, 4 and 8 gateways with one cloud. Each has --devices devices of its own, so the load grows with their number,
and, after its start, a control group with a quota of --cpu cores (root). CPU a record is the time of all gateways divided
by the records that they acknowledged in the measured window. Ratios compare with one gateway in the same round.`;

/** The kernel's default. */
const PERIOD_MS = 100;
/** Of the generators' reports of acknowledged records. */
const PROGRESS_MS = 50;
/** From the start of the gateways to the load, for the compiler of JavaScript. */
const REST_MS = 1000;

/** @typedef {Awaited<ReturnType<typeof run>> & { round: number }} Run */

/** @param {import('../runs/measure').Profile} profile @param {number} count @param {number} cores of each */
async function run(profile, count, cores) {
  const { devices, seconds, warmup } = profile;
  const stage = new Stage({ ...profile, devices: devices * count });
  /** @type {import('../systems').System[]} */
  const gateways = [];
  /** @type {CpuLimit[]} */
  const limits = [];
  try {
    await stage.open();
    await startGateways(stage, count, {}, gateways);
    await sleep(REST_MS);
    for (const { children } of gateways) {
      const limit = CpuLimit.make(PERIOD_MS);
      limits.push(limit);
      limit.set(cores);
      limit.take(children[0].pid);
    }
    const loads = gateways.map(({ port }, index) =>
      stage.startLoad({ port, devices, 'first-device': index * devices, 'progress-ms': PROGRESS_MS })
    );
    await Promise.all(loads.map((load) => load.started()));
    const startMs = Math.max(...loads.map((load) => load.startMs));
    const look = () => ({
      acked: loads.reduce((sum, load) => sum + (load.progress().pop()?.acked ?? 0), 0),
      cpu: gateways.reduce((sum, { children }) => sum + readCpu(children[0].pid), 0),
      throttledMs: limits.reduce((sum, limit) => sum + limit.stat().throttledMs, 0)
    });
    await sleep(startMs + warmup * 1000 - Date.now());
    const [before, beforeMs] = [look(), Date.now()];
    await sleep(startMs + (seconds - 0.2) * 1000 - Date.now());
    const [after, afterMs] = [look(), Date.now()];
    const ends = await Promise.all(loads.map((load) => load.result()));
    for (const limit of limits) limit.set(0);
    await stage.settle(
      ends.reduce((sum, { acked }) => sum + acked, 0),
      profile.quietMs
    );
    for (const gateway of gateways) await gateway.stop();
    const { verdict } = await stage.finish();
    const ms = afterMs - beforeMs;
    return {
      count,
      perSecond: ((after.acked - before.acked) * 1000) / ms,
      cores: ((after.cpu - before.cpu) * 1000) / ms,
      throttled: (after.throttledMs - before.throttledMs) / (ms * count),
      pubackMs: Math.max(...ends.map(({ pubackUs }) => pubackUs.normal.p99)) / 1000,
      lost: verdict?.lost,
      late: ends.reduce((sum, { late }) => sum + late, 0)
    };
  } finally {
    for (const gateway of gateways) await gateway.close();
    await stage.close();
    for (const limit of limits) await limit.remove();
  }
}

/** @param {Run} run @returns {number} µs */
const cpuOf = ({ cores, perSecond }) => (cores * 1e6) / perSecond;

/** @type {[string, (run: Run) => number | undefined, number][]} */
const columns = [
  ['records/s', ({ perSecond }) => perSecond, 0],
  ['cores, all', ({ cores }) => cores, 3],
  ['CPU µs/record', cpuOf, 1],
  ['throttled % of the time', ({ throttled }) => throttled * 100, 1],
  ['PUBACK p99 ms, worst gateway', ({ pubackMs }) => pubackMs, 1],
  ['lost', ({ lost }) => lost, 0],
  ['late sends', ({ late }) => late, 0]
];

/** @param {Run[]} runs @param {number[]} counts */
function table(runs, counts) {
  const rows = counts.map((count) => {
    const some = runs.filter((each) => each.count === count);
    const ratio = some.map((each) => {
      const base = runs.find((other) => other.count === counts[0] && other.round === each.round);
      return base && cpuOf(each) / cpuOf(base);
    });
    return [count, ...columns.map(([, value, digits]) => spread(some.map(value), digits)), spread(ratio, 2)];
  });
  return markdown(
    ['gateways', ...columns.map(([title]) => title), `CPU a record ÷ ${counts[0]} gateway`],
    rows
  );
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { devices: '50', seconds: '8', warmup: '3', systems: '' },
    numbers: { cpu: ['0.1', 0.01, 1, 'cores of each gateway'] },
    texts: { counts: ['1,2,4,8', 'numbers of gateways, 1 to 16 each'] }
  });
  const counts = own.counts.split(',').map(Number);
  if (!counts.every((/** @type {number} */ each) => Number.isInteger(each) && each >= 1 && each <= 16))
    fail('--counts must be numbers from 1 to 16, such as 1,2,4');
  CpuLimit.probe();
  const facts = {
    ...conditions(profile, repeat),
    quota: `${own.cpu} of a core for each gateway, period ${PERIOD_MS} ms; devices and load are those of each gateway`
  };
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const count of turned(counts, round)) {
      const found = await run(profile, count, own.cpu);
      runs.push({ ...found, round });
      console.error(`round ${round + 1}/${repeat}, ${count} gateways: ${found.cores.toFixed(3)} cores`);
    }
  }
  console.log(`${list(facts)}\n\n${table(runs, counts)}`);
  save(out, { conditions: facts, profile, runs });
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
