'use strict';
// Tests for starvation: class 1 takes most of the link, and three classes each offer more than the rest.
//   node bench/questions/starvation.js --help

const { fail } = require('../harness/arguments');
const { arrivalsOf } = require('../stats/by-class');
const { readLinkOptions, linkConditions } = require('../options/link-options');
const { closeStages, measureLink } = require('../runs/link-run');
const { isInside, runInside, withNetworks } = require('../harness/netns');
const { fixed, list, markdown, save } = require('../report/report');
const { minima, progress, weights } = require('../stats/shares');
const { wireBytes } = require('../harness/traffic');

const others = [2, 3, 4];

/**
 * The engine's default: a class waits at most this long behind class 1 for one batch, which has at least one record.
 */
const agingS = 5;

const intro = `Usage: node bench/questions/starvation.js [options]

First it measures the link's capacity, with class 1 alone (a PUBLISH per record) and with class 3 alone (batches). Then
class 1 takes a part of it, and classes ${others.join(', ')} each offer more than the rest. For each class and window it reports the
records that arrived in the cloud, beside the guaranteed minimum: the share of the rest by the weights ${others.map((cls) => weights[cls]).join(':')},
or one batch in each aging time. Needs root.`;

function read() {
  const options = readLinkOptions(intro, {
    qdisc: 'tbf-pfifo_fast,htb',
    numbers: {
      seconds: ['60', 4, 3600, 'length of the measured load'],
      window: ['5', 1, 600, 'seconds of a window'],
      warmup: ['5', 1, 60, 'seconds of load before it'],
      calibrate: [
        '10',
        3,
        600,
        "seconds of load that measure the link's capacity; the first third does not count"
      ],
      share: ['0.9', 0.01, 1.5, "share of the link's capacity offered as class 1"],
      over: ['1.5', 0.1, 100, 'load of each other class, as a multiple of the rest'],
      devices: ['10', 1, 900, 'devices of each class']
    }
  });
  if (!options.rate) fail('--rate off: no class can starve on a link without a limit');
  if (options.number('window') > options.number('seconds')) fail('--window must not exceed --seconds');
  return options;
}

/** @typedef {ReturnType<typeof read>} Options @typedef {import('../harness/traffic').Traffic} Traffic */

/**
 * @param {Options} options @param {string} qdisc @param {Traffic[]} traffic @param {number} seconds
 * @param {number} warmup
 */
const plan = (options, qdisc, traffic, seconds, warmup) => ({
  qdisc,
  rate: options.rate,
  traffic,
  seconds: seconds + warmup,
  warmup,
  payload: options.number('payload'),
  env: options.env,
  gatewayCpus: options.gatewayCpus,
  harnessCpus: options.harnessCpus
});

/**
 * Returns the records per second that the link carries of one class alone.
 * @param {import('../harness/netns').LinkedNetworks} network @param {Options} options @param {string} qdisc
 * @param {number} cls
 */
async function capacity(network, options, qdisc, cls) {
  const perSecond = (1.5 * options.rate) / 8 / wireBytes(options.number('payload'));
  const seconds = options.number('calibrate');
  const traffic = [{ class: cls, devices: options.number('devices'), perSecond }];
  const own = plan(options, qdisc, traffic, (seconds * 2) / 3, seconds / 3);
  const { samples, fromMs, toMs } = await measureLink(network, { ...own, drain: false });
  return arrivalsOf(samples, cls, fromMs, toMs).recordsPerS;
}

/** @param {import('../harness/netns').LinkedNetworks} network @param {Options} options @param {string} qdisc */
async function starve(network, options, qdisc) {
  const { number } = options;
  const urgentAlone = await capacity(network, options, qdisc, 1);
  const bulkAlone = await capacity(network, options, qdisc, 3);
  console.error(
    `${qdisc}: the link carries ${fixed(urgentAlone)} records/s of class 1, ${fixed(bulkAlone)} of class 3`
  );
  const devices = number('devices');
  const left = Math.max(0.02, 1 - number('share')) * bulkAlone;
  const traffic = [
    { class: 1, devices, perSecond: number('share') * urgentAlone },
    ...others.map((cls) => ({ class: cls, devices, perSecond: number('over') * left }))
  ];
  const result = await measureLink(
    network,
    plan(options, qdisc, traffic, number('seconds'), number('warmup'))
  );
  const { samples, fromMs, toMs } = result;
  const taken = arrivalsOf(samples, 1, fromMs, toMs).recordsPerS / urgentAlone;
  const least = minima(others, Math.max(0, 1 - taken) * bulkAlone, 1 / agingS);
  const classes = result.loads.map(({ class: cls, perSecond, sent, verdict }) => ({
    class: cls,
    offered: perSecond,
    least: cls === 1 ? undefined : least[cls],
    lost: verdict?.lost,
    late: sent.late,
    unsent: sent.unsent,
    ...progress(samples, cls, fromMs, toMs, number('window') * 1000)
  }));
  return { qdisc, urgentAlone, bulkAlone, taken, classes, result };
}

/** @param {Awaited<ReturnType<typeof starve>>} starved @param {number} windowS */
function tables({ qdisc, urgentAlone, bulkAlone, taken, classes, result }, windowS) {
  const head = [
    'class',
    'offered /s',
    'minimum /s',
    'arrived /s',
    'kB/s',
    'lowest window /s',
    'windows with progress'
  ];
  head.push('windows with the minimum (95 %)', 'lost', 'late sends', 'never sent');
  const rows = classes.map((each) => [
    each.class,
    fixed(each.offered),
    fixed(each.least),
    fixed(each.mean.recordsPerS, 1),
    fixed(each.mean.bytesPerS / 1000, 1),
    fixed(each.lowest, 1),
    `${each.progressed} of ${each.windows.length}`,
    each.least === undefined
      ? '–'
      : `${each.windows.filter(({ recordsPerS }) => recordsPerS >= 0.95 * (each.least ?? 0)).length} of ${each.windows.length}`,
    each.lost ?? '–',
    each.late,
    each.unsent
  ]);
  const lines = classes[0].windows.map((_, i) => [
    `${i * windowS}–${(i + 1) * windowS} s`,
    ...classes.map(
      ({ windows }) => `${fixed(windows[i].recordsPerS, 1)} (${fixed(windows[i].bytesPerS / 1000, 1)})`
    )
  ]);
  const carried = `the link carries ${fixed(urgentAlone)} records/s of class 1 alone, ${fixed(bulkAlone)} of class 3 alone; class 1 took ${fixed(taken * 100)} %`;
  const bands = Object.entries(result.bands).map(([name, { bytes }]) => `${name} ${fixed(bytes / 1e6, 2)}`);
  return [
    `${qdisc}: ${carried}`,
    markdown(head, rows),
    markdown(['window', ...classes.map((each) => `class ${each.class} records/s (kB/s)`)], lines),
    `MB by band: ${bands.join(', ')}; clean exit: ${result.cleanEnd ? 'yes' : 'NO'}`
  ].join('\n\n');
}

async function main() {
  const options = read();
  if (!isInside()) return runInside();
  await withNetworks(options.congestion, closeStages, async (network) => {
    const { number } = options;
    const facts = {
      ...linkConditions(network, options),
      load: `class 1 ${number('share')} × the link, classes ${others.join(', ')} each ${number('over')} × the rest; ${number('devices')} devices each; ${number('seconds')} s after a warm-up of ${number('warmup')} s`
    };
    console.log(list(facts));
    const runs = [];
    for (const qdisc of options.qdiscs) {
      const starved = await starve(network, options, qdisc);
      runs.push(starved);
      console.log(`\n${tables(starved, number('window'))}`);
    }
    save(options.text('out'), { conditions: facts, runs });
  });
}

main();
