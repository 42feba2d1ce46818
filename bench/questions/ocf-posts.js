'use strict';
// Measures posts of signed-in devices to topics of an OCF cloud, with and without JavaScript.
//   node native/node/run.js bench/questions/ocf-posts.js --help

const os = require('node:os');
const { readArguments } = require('../harness/arguments');
const { allowedCores } = require('../harness/proc');
const { startOcf } = require('../ocf/ocf-stage');
const { Posters, REQUEST_BYTES } = require('../ocf/posts');
const { medians, ratioCells, turned } = require('../report/pairs');
const { list, markdown, save } = require('../report/report');

const intro = `Usage: node native/node/run.js bench/questions/ocf-posts.js [options]

Each device posts CBOR maps of ${REQUEST_BYTES} B to a topic of its own on a connection of its own, closed loop: --window
requests at a time. 2.04 comes when the record is safe. 'javascript': the posts have a query, so that the engine leaves
them to JavaScript. 'engine': it makes the records by itself. 'engine, wide': with --wide requests at a time, which
JavaScript would refuse. One worker; the records go to mosquitto. Ratios compare with 'javascript' of the same round.`;

/** @typedef {{ variant: string, round: number, [name: string]: any }} Run */

/** @type {[string, (run: Run) => number | undefined, number][]} */
const columns = [
  ['posts/s', (run) => run.perSecond, 0],
  ['p50 ms', (run) => run.roundUs.p50 / 1000, 2],
  ['p99 ms', (run) => run.roundUs.p99 / 1000, 2],
  ['errors', (run) => run.clientErrors + run.serverErrors + run.unavailable + run.timedOut, 0],
  ['gateway cores', (run) => run.cores, 2],
  ['gateway µs a post', (run) => (run.gatewayCpuSeconds * 1e6) / run.answered, 1]
];

const variants = ['javascript', 'engine', 'engine, wide'];

function readOptions() {
  const { number, text } = readArguments(intro, {
    numbers: {
      devices: ['4', 1, 64, 'devices'],
      window: ['60', 1, 64, 'unanswered requests of a device'],
      wide: ['500', 1, 1000, 'the same for "engine, wide"'],
      seconds: ['5', 1, 600, 'measured time of a run'],
      repeat: ['3', 1, 20, 'rounds']
    },
    texts: {
      'gateway-cpus': ['', 'cores of the gateway, such as 0'],
      'harness-cpus': ['', 'cores of devices, cloud and sink, such as 1'],
      out: ['', 'a file for all results, JSON']
    }
  });
  return {
    devices: number('devices'),
    window: number('window'),
    wide: number('wide'),
    seconds: number('seconds'),
    repeat: number('repeat'),
    gatewayCpus: text('gateway-cpus'),
    harnessCpus: text('harness-cpus'),
    out: text('out')
  };
}

async function main() {
  const options = readOptions();
  const { devices, window, wide, seconds, repeat, gatewayCpus, harnessCpus } = options;
  const facts = {
    machine: `${allowedCores().length} cores, ${os.cpus()[0]?.model ?? os.arch()}, Linux ${os.release()}, Node ${process.version}`,
    load: `${devices} devices, ${window} or ${wide} requests at a time each; ${seconds} s; rounds: ${repeat}`,
    pinned: `gateway: ${gatewayCpus || 'no'}; devices, cloud and sink: ${harnessCpus || 'no'}`,
    loadAverageBefore: os
      .loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')
  };
  const plan = {
    rounds: 1,
    seconds,
    warmup: 0,
    quick: false,
    all: false,
    openFiles: 4096,
    only: [],
    systems: [],
    sizes: {},
    env: {},
    gatewayCpus: gatewayCpus || undefined,
    harnessCpus: harnessCpus || undefined
  };
  /** @type {Run[]} */
  const runs = [];
  const stage = await startOcf(plan);
  try {
    const posters = await Posters.make(stage, { devices, shared: false });
    posters.window = window;
    await posters.warmUp(1000, 2);
    for (let round = 0; round < repeat; round += 1) {
      for (const variant of turned(variants, round)) {
        posters.window = variant === 'engine, wide' ? wide : window;
        const query = variant === 'javascript' ? { query: 'q=1' } : {};
        const run = await posters.measure({ mode: 'closed', seconds, ...query });
        runs.push({ ...run, variant, round });
        console.error(`round ${round + 1}/${repeat} ${variant}: ${run.perSecond}/s`);
      }
    }
  } finally {
    await stage.close();
  }
  const rows = variants.map((name) => [name, ...medians(/** @type {any} */ (runs), name, columns)]);
  console.log(`${list(facts)}\n\n${markdown(['way', ...columns.map(([title]) => title)], rows)}`);
  const compared = [columns[0], columns[5]];
  const ratios = variants
    .slice(1)
    .map((name) => [
      `${name} / ${variants[0]}`,
      ...ratioCells(/** @type {any} */ (runs), name, variants[0], compared)
    ]);
  console.log(`\n${markdown(['ratio', ...compared.map(([title]) => title)], ratios)}`);
  save(options.out, { conditions: facts, options, runs });
  if (runs.some((run) => /** @type {any} */ (columns[3][1](run)) > 0)) {
    console.log('\nRequests failed: these results prove nothing.');
    process.exitCode = 1;
  }
}

main();
