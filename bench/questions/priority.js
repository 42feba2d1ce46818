'use strict';
// Measures priority on the network: bulk data saturates a link, and alarms must pass. node
// bench/questions/priority.js --help

const { fail } = require('../harness/arguments');
const { latencyOf } = require('../stats/by-class');
const { readLinkOptions, linkConditions } = require('../options/link-options');
const { closeStages, measureLink } = require('../runs/link-run');
const { isInside, runInside, withNetworks } = require('../harness/netns');
const { priorityTable } = require('../report/priority-table');
const { fixed, list, save } = require('../report/report');
const { wireBytes } = require('../harness/traffic');
const { variants } = require('../options/variants');

const intro = `Usage: node bench/questions/priority.js [options]

Devices → gateway → shaped link → mosquitto (TLS 1.3) → sink; gateway and cloud in separate network namespaces (root).
Bulk records saturate the link, and a few devices send records of class 1. Each variant adds a mechanism to the uplink:
${Object.entries(variants)
  .map(([name, { what }]) => `  ${name.padEnd(9)} ${what}`)
  .join('\n')}`;

/** @typedef {import('../report/priority-table').Run} Run */

/** @param {ReturnType<typeof read>} options @param {string} variant @returns {import('../harness/traffic').Traffic[]} */
function trafficOf({ number, rate, bulk }, variant) {
  const urgent = { class: 1, devices: number('urgent-devices'), perSecond: number('urgent') };
  if (variants[variant].urgentAlone) return [urgent];
  const payload = number('payload');
  // An unshaped link cannot be saturated, so the load is that for 2 Mbit/s.
  const perSecond = (number('load') * (rate || 2e6)) / 8 / wireBytes(payload) / bulk.length;
  return [urgent, ...bulk.map((cls) => ({ class: cls, devices: number('devices'), perSecond }))];
}

function read() {
  const options = readLinkOptions(intro, {
    qdisc: 'tbf-pfifo_fast',
    numbers: {
      load: ['1.3', 0.01, 10, "offered bulk, as a multiple of the link's capacity"],
      devices: ['20', 1, 900, 'bulk devices of each class'],
      urgent: ['10', 0.1, 10000, 'records of class 1 per second, all its devices together'],
      'urgent-devices': ['5', 1, 900, 'devices of class 1, each with its own connection'],
      seconds: ['25', 3, 600, 'length of the load'],
      warmup: ['5', 0, 60, 'seconds at its beginning that do not count'],
      repeat: ['3', 1, 100, 'rounds; every round runs each variant once']
    },
    texts: {
      bulk: ['3', 'classes of the bulk, such as 3,4'],
      variants: [Object.keys(variants).join(','), 'comma-separated variants']
    }
  });
  const names = options.text('variants').split(',');
  for (const name of names) if (!variants[name]) fail(`--variants: '${name}' is not known. See --help.`);
  const bulk = options.text('bulk').split(',').map(Number);
  if (bulk.some((cls) => !(Number.isInteger(cls) && cls >= 2 && cls <= 8))) {
    fail(`--bulk must be classes from 2 to 8, not '${options.text('bulk')}'`);
  }
  if (options.number('warmup') >= options.number('seconds')) fail('--warmup must be shorter than --seconds');
  return { ...options, names, bulk };
}

/** By class. @param {Run} run */
const latencies = (run) =>
  Object.fromEntries(run.loads.map(({ class: cls }) => [cls, latencyOf([run], cls)]));

/** @param {Run} run */
function oneLine(run) {
  const { variant, qdisc, round, bands } = run;
  const { p50, p99 } = latencyOf([run], 1);
  return `round ${round + 1} ${qdisc} ${variant}: class 1 p50 ${fixed(p50, 1)} p99 ${fixed(p99, 1)} ms, ${fixed(bands.all?.bytes / 1e6, 2)} MB`;
}

/** @param {ReturnType<typeof read>} options @param {import('../harness/netns').LinkedNetworks} network */
async function compare(options, network) {
  const { number, rate, qdiscs, names } = options;
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < number('repeat'); round += 1) {
    const turn = round % names.length; // each round begins with a different variant
    for (const variant of [...names.slice(turn), ...names.slice(0, turn)]) {
      for (const qdisc of qdiscs) {
        const result = await measureLink(network, {
          qdisc,
          rate,
          traffic: trafficOf(options, variant),
          seconds: number('seconds'),
          warmup: number('warmup'),
          payload: number('payload'),
          env: { ...variants[variant].env, ...options.env },
          gatewayCpus: options.gatewayCpus,
          harnessCpus: options.harnessCpus
        });
        runs.push({ ...result, variant, qdisc, round });
        console.error(oneLine(runs[runs.length - 1]));
      }
    }
  }
  return runs;
}

async function main() {
  const options = read();
  if (!isInside()) return runInside();
  await withNetworks(options.congestion, closeStages, async (network) => {
    const { names, qdiscs, bulk, number } = options;
    const load = trafficOf(options, 'default').map(
      ({ class: cls, devices, perSecond }) =>
        `class ${cls}: ${devices} devices, ${perSecond.toFixed(0)} records/s in all`
    );
    const facts = {
      ...linkConditions(network, options),
      load: `${load.join('; ')}; ${number('load')} × the link; ${number('seconds')} s, warm-up ${number('warmup')} s; interleaved rounds: ${number('repeat')}`
    };
    console.log(list(facts));
    const runs = await compare(options, network);
    for (const qdisc of qdiscs) {
      const own = runs.filter((run) => run.qdisc === qdisc);
      console.log(`\n${qdisc}:\n\n${priorityTable(own, names, qdisc, bulk[0])}`);
    }
    const told = runs.map((run) => ({ ...run, latencyMs: latencies(run) }));
    save(options.text('out'), { conditions: facts, runs: told });
  });
}

main();
