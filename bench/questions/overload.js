'use strict';
// Offers more load than the gateway's share of a processor, or its link, can handle. Reports on alarms, other records
// and recovery.
//   node bench/questions/overload.js --help

const { readOptions, fail } = require('../options/options');
const { measureCapacity, runLoad, LOW } = require('../runs/overload-run');
const { isInside, runInside } = require('../harness/netns');
const { bitsPerSecond } = require('../harness/qdisc');
const { SlowCpu } = require('../harness/slow-cpu');
const { SlowLink } = require('../harness/slow-link');
const { conditions, markdown, list, save, fixed } = require('../report/report');

const intro = `Usage: node bench/questions/overload.js [options]                                    (needs root)

The gateway gets a part of one core (a control group's quota, without generators, cloud and sink), or, with --link,
all of its cores and a slow link to the cloud (two network namespaces, tbf and pfifo_fast).
First it measures the capacity: the records per second that arrive while devices offer far more. Then, for each of
--loads, devices offer half of the capacity for --before s, that percentage of it for --seconds s, and half again for
--after s. Alarms (class 1) come from separate devices at a small constant rate.
Latency counts from the time at which a device intended to send, and in the phase in which it intended to. A record
that is never sent has none: with --surge leave, the extra devices disconnect at the end of the overload with their
unsent records ('never sent'); with --surge keep they send them late, and the load falls only afterwards.
Recovered: the first second from which the p99 of live class 3 stays within twice that of a second before the
overload (or --bound-ms).
--devices are those of class 3; --rate, --alarm-every and --datatype have no effect.`;

/** @typedef {import('../runs/overload-run').OverloadRun & {round: number, capacity: number}} Run */

/** @param {import('../report/overload-summary').Latency} latency */
const three = ({ p50, p99, max }) => `${fixed(p50, 1)} / ${fixed(p99, 1)} / ${fixed(max, 1)}`;
/** @param {Run} run @param {string} name */
const sum = ({ sent }, name) => sent.reduce((all, each) => all + each[name], 0);
/** @param {Run} run @param {'held' | 'stored' | 'rssMB'} name */
const most = ({ watched }, name) => Math.max(0, ...watched.map((sample) => sample[name] ?? 0));

/** @type {[string, (run: Run) => string | number][]} */
const columns = [
  ['load %', ({ load }) => fixed(load * 100)],
  ['class 1 before: p50 / p99 / max ms', ({ summary }) => three(summary.before.class1)],
  ['class 1 overloaded', ({ summary }) => three(summary.overload.class1)],
  ['class 1 after', ({ summary }) => three(summary.after.class1)],
  ['class 3 before', ({ summary }) => three(summary.before.class3)],
  ['class 3 overloaded', ({ summary }) => three(summary.overload.class3)],
  ['class 3 after', ({ summary }) => three(summary.after.class3)],
  ['recovered after s', ({ summary }) => fixed(summary.recoveryS)],
  ['bound ms', ({ summary }) => fixed(summary.boundMs)],
  ['waiting at the fall (least time to send them, s)', owedAtFall]
];

/** @type {[string, (run: Run) => string | number][]} */
const counts = [
  ['load %', ({ load }) => fixed(load * 100)],
  ['offered', (run) => sum(run, 'sent') + sum(run, 'unsent')],
  ['acknowledged', (run) => sum(run, 'acked')],
  ['delivered', ({ arrived }) => arrived.unique],
  ['lost', ({ verdict }) => verdict?.lost ?? '–'],
  ['dup', ({ arrived }) => arrived.duplicates],
  [
    'dropped',
    ({ drops }) =>
      Object.entries(drops)
        .map((pair) => pair.join(' '))
        .join(', ') || 0
  ],
  ['late sends', (run) => sum(run, 'late')],
  ['never sent', (run) => sum(run, 'unsent')],
  ['max records in memory', (run) => most(run, 'held')],
  ['max on disk', (run) => most(run, 'stored')],
  ['delivered as backlog', ({ arrived }) => arrived.historical],
  ['devices not read s', ({ watched }) => watched.filter(({ slowed }) => slowed).length],
  ['RSS MB', (run) => most(run, 'rssMB')],
  ['cores used', ({ cores }) => fixed(cores, 3)],
  ['clean exit', ({ cleanEnd }) => (cleanEnd ? 'yes' : 'NO')]
];

/**
 * Returns the records waiting at devices and gateway, and the seconds they take with half of the capacity free.
 * @param {Run} run
 */
function owedAtFall({ owed, capacity }) {
  return `${owed} (${fixed(owed / (capacity * (1 - LOW)), 1)})`;
}

/**
 * @param {import('../runs/overload-run').Shortage} shortage
 * @returns {[string, (run: Run) => string]}
 */
const feltColumn = (shortage) => [
  shortage.title,
  ({ short, times }) => fixed(shortage.felt(short, times.fallMs - times.surgeMs))
];

/** @param {Run[]} runs @param {[string, (run: Run) => string | number][]} shown */
const tableOf = (runs, shown) =>
  markdown(
    shown.map(([title]) => title),
    runs.map((run) => shown.map(([, value]) => value(run)))
  );

function read() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '100', repeat: '1', warmup: '3' },
    numbers: {
      cpu: ['0.25', 0.05, 64, 'cores for the gateway'],
      'period-ms': ['10', 1, 1000, 'period of the quota'],
      'alarm-devices': ['20', 1, 10000, 'devices of class 1'],
      'alarm-rate': ['20', 0.1, 10000, 'msg/s of these devices together'],
      before: ['8', 1, 600, 'seconds of half load before'],
      after: ['20', 3, 3600, 'seconds of half load afterwards'],
      flood: ['40000', 100, 1000000, 'msg/s that devices offer while the capacity is measured'],
      'capacity-seconds': ['8', 5, 600, 'length of the capacity measurement'],
      'bound-ms': ['50', 0, 60000, 'p99 of class 3 that always counts as recovered']
    },
    texts: {
      link: ['', 'rate of a slow link, such as 2mbit, instead of a slow processor'],
      loads: ['120,300', 'percent of the capacity, comma-separated, each above 50'],
      surge: [
        'leave',
        'leave | keep: what the extra devices do with records that they could not send in time'
      ]
    }
  });
  const loads = own.loads.split(',').map(Number);
  if (!loads.every((/** @type {number} */ load) => load > 50 && load <= 10000)) {
    fail(`--loads must be percentages above 50, not '${own.loads}'`);
  }
  own.rate = own.link ? bitsPerSecond(own.link) : 0;
  if (own.link && !(own.rate >= 64000 && own.rate <= 1e9)) {
    fail(`--link must be from 64kbit to 1gbit, not '${own.link}'`);
  }
  if (!['leave', 'keep'].includes(own.surge)) fail(`--surge must be leave or keep, not '${own.surge}'`);
  if (profile.warmup >= own.before) fail('--warmup must be shorter than --before');
  /** @type {import('../runs/overload-run').Plan} */
  const plan = {
    devices: profile.devices,
    alarmDevices: own['alarm-devices'],
    alarmRate: own['alarm-rate'],
    before: own.before,
    seconds: profile.seconds,
    after: own.after,
    leave: own.surge === 'leave',
    boundMs: own['bound-ms']
  };
  return { profile: { ...profile, statistics: true, drain: 300 }, repeat, out, own, loads, plan };
}

/** @param {ReturnType<typeof read>} options @param {import('../runs/overload-run').Shortage} shortage */
async function runAll({ profile, repeat, out, own, loads, plan }, shortage) {
  const facts = {
    ...conditions(profile, repeat),
    load: `${plan.alarmDevices} devices with ${plan.alarmRate} alarms/s (class 1), ${plan.devices} devices of class 3; QoS 1, ${profile.payload} B; ${plan.before} s at 50 %, ${plan.seconds} s at ${own.loads} %, ${plan.after} s at 50 %`,
    shortage: shortage.told,
    surge: plan.leave ? 'the extra devices leave at its end' : 'the extra devices send their records late'
  };
  /** @type {Run[]} */
  const runs = [];
  const capacities = [];
  for (let round = 0; round < repeat; round += 1) {
    const found = await measureCapacity(profile, shortage, {
      devices: plan.devices,
      seconds: own['capacity-seconds'],
      flood: own.rate ? Math.min(own.flood, own.rate / 100) : own.flood // ten times the rate of the link
    });
    const capacity = found.perSecond;
    capacities.push(found);
    console.error(
      `round ${round + 1}/${repeat} capacity: ${capacity} records/s, ${fixed(found.cores, 3)} cores`
    );
    if (shortage.doubt(found)) console.error(shortage.doubt(found));
    if (!(capacity * LOW > plan.alarmRate)) throw new Error('the capacity is too small for these alarms');
    for (const load of loads) {
      const done = await runLoad(profile, shortage, plan, capacity, load / 100);
      runs.push({ ...done, round, capacity });
      console.error(
        `round ${round + 1}/${repeat} ${load} %: class 1 p99 ${fixed(done.summary.overload.class1.p99, 1)} ms, lost ${done.verdict?.lost}`
      );
    }
  }
  const told = capacities.map(
    ({ perSecond, cores }) => `${perSecond} records/s with ${fixed(cores, 3)} cores`
  );
  console.log(list({ ...facts, capacity: told.join(', ') }));
  console.log(`\n${tableOf(runs, columns)}\n\n${tableOf(runs, [...counts, feltColumn(shortage)])}`);
  for (const { load, summary } of runs) {
    const p99s = summary.p99s.map((p99) => fixed(p99)).join(' ');
    console.log(`\n${fixed(load * 100)} %: p99 of live class 3 by second after the fall, ms: ${p99s}`);
  }
  save(out, { conditions: facts, profile, plan, capacities, runs });
  process.exitCode = runs.every(({ verdict }) => verdict?.lost === 0) ? 0 : 1;
}

/** @param {Record<string, any>} own */
async function makeShortage(own) {
  if (own.rate) return SlowLink.open(own.rate);
  try {
    return new SlowCpu(own.cpu, own['period-ms']);
  } catch (error) {
    return fail(/** @type {Error} */ (error).message);
  }
}

async function main() {
  const options = read();
  if (options.own.rate && !isInside()) return runInside();
  const shortage = await makeShortage(options.own);
  try {
    await runAll(options, shortage);
  } finally {
    await shortage.remove();
  }
}

main();
