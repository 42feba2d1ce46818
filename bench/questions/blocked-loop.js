'use strict';
// Measures how a function node that blocks Node-RED's event loop affects records on native wires.
//   node bench/questions/blocked-loop.js --help

const { percentile } = require('../stats/latency');
const { blockingNodes, blocksIn, answerTimes } = require('../runs/loop-probe');
const { measure } = require('../runs/measure');
const { readOptions } = require('../options/options');
const { turned, medians, ratios, percentCell } = require('../report/pairs');
const { conditions, markdown, list, save } = require('../report/report');

const intro = `Usage: node bench/questions/blocked-loop.js [options]

Runs the gateway without and with an extra flow whose function node busy-waits for --block ms every --every s.
In both, the benchmark calls the admin API ten times per second: its longest answer shows that the event loop was
blocked. Changes are percentages of 'free' of the same round, each pair in parentheses. Node-RED and the blocking
node share the gateway's cores with the data path.`;

/** @typedef {import('../report/pairs').VariantRun & {answers: number[], blocks: number}} Run */

/**
 * @param {'normal' | 'alarm'} kind @param {'p50' | 'p99' | 'max'} field
 * @returns {(run: Run) => number | undefined} ms
 */
const latency = (kind, field) => (run) => {
  const summary = run.arrived.latencyUs[kind];
  return summary.count ? summary[field] / 1000 : undefined;
};

/** @type {[string, (run: Run) => number | undefined, number][]} */
const compared = [
  ['class 1 p50 ms', latency('alarm', 'p50'), 2],
  ['class 1 p99 ms', latency('alarm', 'p99'), 2],
  ['class 1 max ms', latency('alarm', 'max'), 1],
  ['class 3 p50 ms', latency('normal', 'p50'), 2],
  ['class 3 p99 ms', latency('normal', 'p99'), 2],
  ['class 3 max ms', latency('normal', 'max'), 1]
];

/** @type {[string, (run: Run) => number | undefined, number][]} */
const plain = [
  ['class 1 arrived', (run) => run.arrived.latencyUs.alarm.count, 0],
  ['times blocked', (run) => run.blocks, 0],
  ["longest answer of Node-RED's loop, ms", ({ answers }) => percentile(answers, 1), 0],
  ['its p50 ms', ({ answers }) => percentile(answers, 0.5), 0],
  ['cores', (run) => run.cores, 2],
  ['lost', (run) => run.verdict?.lost, 0],
  ['dup', (run) => run.arrived.duplicates, 0],
  ['late sends', (run) => run.sent.late, 0]
];

/** @param {Run[]} runs @param {string[]} names */
function tables(runs, names) {
  const all = [...compared, ...plain];
  const rows = names.map((name) => [name, ...medians(runs, name, all)]);
  const changes = compared.map(([, value]) => percentCell(ratios(runs, 'blocked', 'free', value)));
  const titles = compared.map(([title]) => title.replace(' ms', ' %'));
  const first = markdown(['event loop', ...all.map(([title]) => title)], rows);
  return `${first}\n\n${markdown(['change', ...titles], [['blocked / free', ...changes]])}`;
}

/**
 * @param {import('../runs/measure').Profile} profile @param {object[] | undefined} flow
 * @returns {Promise<Omit<Run, 'variant' | 'round'>>}
 */
async function once(profile, flow) {
  /** @type {{answers: number[], blocks: number}} */
  const seen = { answers: [], blocks: 0 };
  const result = await measure('seganet', {
    ...profile,
    flow,
    statistics: true,
    during: async (_cloud, startMs, stage) => {
      const { gateway } = stage.system ?? {};
      if (!gateway) return;
      const before = blocksIn(gateway.output);
      seen.answers = await answerTimes(gateway, startMs + profile.seconds * 1000);
      seen.blocks = blocksIn(gateway.output) - before;
    }
  });
  return { ...result, ...seen };
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '100', seconds: '21' },
    numbers: {
      block: ['2000', 10, 60000, 'ms of each block of the event loop'],
      every: ['5', 0.1, 600, 'seconds from the start of one block to the next']
    }
  });
  /** @type {Record<string, object[] | undefined>} */
  const variants = { free: undefined, blocked: blockingNodes(own.block, own.every) };
  const names = Object.keys(variants);
  const facts = {
    ...conditions(profile, repeat),
    blocked: `for ${own.block} ms every ${own.every} s`
  };
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const variant of turned(names, round)) {
      const run = { ...(await once(profile, variants[variant])), variant, round };
      runs.push(run);
      const longest = percentile(run.answers, 1);
      console.error(
        `round ${round + 1}/${repeat} ${variant}: class 1 p99 ${latency('alarm', 'p99')(run)} ms, longest answer ${longest} ms`
      );
    }
  }
  console.log(`${list(facts)}\n\n${tables(runs, names)}`);
  save(out, { conditions: facts, profile, runs });
  const proven = runs.every(
    ({ variant, answers }) => variant === 'free' || (percentile(answers, 1) ?? 0) > own.block / 2
  );
  if (!proven) {
    console.log("\nNode-RED's event loop was never blocked: these results prove nothing.");
    process.exitCode = 1;
  }
}

main();
