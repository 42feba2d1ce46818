'use strict';
// Measures GETs of controllers to devices through an OCF cloud.
//   node bench/questions/ocf-forward.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { encode } = require('../../nodes/lib/ocf/cloud/bodies');
const { FORMAT, OCF_VERSION, OPTION, uint } = require('../../nodes/lib/ocf/cloud/coap');
const { readArguments } = require('../harness/arguments');
const { build } = require('../harness/build');
const { Child } = require('../harness/child');
const { coapBody, writeList } = require('../harness/coap/coap-bytes');
const { freePort, waitForPort } = require('../harness/net');
const { startOcfGateway } = require('../harness/coap/ocf-gateway');
const { allowedCores, readGroup } = require('../harness/proc');
const { medians, ratioCells, turned } = require('../report/pairs');
const { list, markdown, save } = require('../report/report');

const intro = `Usage: node bench/questions/ocf-forward.js [options]

Controllers send GETs to simulated devices: straight to a server of the same program ('direct'), through the gateway's
OCF cloud ('cloud'), and through it with Observe 1, which the engine leaves to JavaScript ('javascript'). Closed loop:
one request at a time, then --open at a time over --controllers connections. Each request asks the next device. All
programs run at the same time on this machine, and ratios compare with 'direct' of the same round.`;

const WARN_CORES = 0.85;

/** @typedef {{ variant: string, round: number, [name: string]: any }} Run */

/** @type {[string, (run: Run) => number | undefined, number][]} */
const columns = [
  ['requests/s', (run) => run.perSecond, 0],
  ['p50 ms', (run) => run.roundUs.p50 / 1000, 3],
  ['p99 ms', (run) => run.roundUs.p99 / 1000, 3],
  ['errors', (run) => run.errors, 0],
  ['forwarded %', (run) => run.forwarded, 1],
  ['gateway cores', (run) => run.gatewayCores, 2],
  ['controllers cores', (run) => run.cpuSeconds / run.seconds, 2],
  ['devices cores', (run) => run.deviceCores, 2]
];

/** @param {string} di @param {string} variant */
function request(di, variant) {
  const segments = variant === 'direct' ? ['light', '1'] : ['oic', 'route', di, 'light', '1'];
  return coapBody([
    ...(variant === 'javascript' ? [/** @type {[number, Buffer]} */ ([OPTION.OBSERVE, uint(1)])] : []),
    ...segments.map((segment) => /** @type {[number, string]} */ ([OPTION.URI_PATH, segment])),
    [OPTION.URI_QUERY, 'if=oic.if.baseline'],
    [OPTION.ACCEPT, uint(FORMAT.OCF)],
    [OPTION.OCF_ACCEPT_VERSION, uint(OCF_VERSION)]
  ]);
}

const answer = () =>
  coapBody(
    [
      [OPTION.CONTENT_FORMAT, uint(FORMAT.OCF)],
      [OPTION.OCF_CONTENT_VERSION, uint(OCF_VERSION)]
    ],
    encode({ rt: ['oic.r.switch.binary'], if: ['oic.if.baseline', 'oic.if.a'], value: true })
  );

/** @param {ReturnType<typeof readOptions>} options */
async function setUp({ devices, controllers, workers, gatewayCpus, harnessCpus }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-forward-'));
  const program = build('coapends');
  const gateway = await startOcfGateway({ devices: devices + controllers, workers, cpus: gatewayCpus });
  const served = gateway.hellos.slice(0, devices);
  const write = (/** @type {string} */ name, /** @type {Buffer[]} */ blobs) =>
    writeList(path.join(folder, name), blobs);
  const start = async (/** @type {string} */ name, /** @type {string[]} */ args) => {
    const child = new Child(program, args, { name, cpus: harnessCpus });
    await child.until((output) => /"ready"/.test(output), 30000);
    return child;
  };
  const bodies = ['--bodies', write('answer', [answer()])];
  const direct = await freePort();
  const hellos = write(
    'devices',
    served.map(({ hello }) => hello)
  );
  const ends = [
    await start('devices', ['--port', String(gateway.port), '--hellos', hellos, ...bodies]),
    await start('server', ['--listen', String(direct), ...bodies])
  ];
  await waitForPort(direct);
  const stop = async () => {
    for (const child of ends) await child.stop();
    await gateway.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  };
  return { gateway, served, write, start, ends, direct, stop };
}

/**
 * @param {Awaited<ReturnType<typeof setUp>>} stage
 * @param {string} variant
 * @param {{ open: number, controllers: number, seconds: number, warmup: number, devices: number }} load
 */
async function once(stage, variant, { open, controllers, seconds, warmup, devices }) {
  const { gateway, served } = stage;
  const isDirect = variant === 'direct';
  const asking = gateway.hellos.slice(devices, devices + controllers);
  const args = [
    ...['--role', 'peers', '--port', String(isDirect ? stage.direct : gateway.port)],
    ...[
      '--hellos',
      stage.write(
        'controllers',
        asking.map(({ hello }) => (isDirect ? Buffer.alloc(0) : hello))
      )
    ],
    ...[
      '--bodies',
      stage.write(
        'requests',
        served.map(({ di }) => request(di, variant))
      )
    ],
    ...['--window', String(open / controllers), '--seconds', String(seconds), '--warmup', String(warmup)]
  ];
  const forwardedBefore = (await gateway.stats()).counters.requestsForwarded;
  const peers = await stage.start('controllers', args);
  await new Promise((resolve) => setTimeout(resolve, warmup * 1000));
  const cpu = () => [gateway.child, stage.ends[isDirect ? 1 : 0]].map(({ pid }) => readGroup(pid).cpuSeconds);
  const [before, at] = [cpu(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 900));
  const elapsed = (performance.now() - at) / 1000;
  const [gatewayCores, deviceCores] = cpu().map((value, i) => (value - before[i]) / elapsed);
  const { code } = await peers.exited;
  if (code !== 0) throw new Error(`the controllers failed: ${peers.output.slice(-2000)}`);
  const result = peers.jsonLines().at(-1);
  const forwarded = (await gateway.stats()).counters.requestsForwarded - forwardedBefore;
  return { ...result, gatewayCores, deviceCores, forwarded: (100 * forwarded) / result.all };
}

function readOptions() {
  const { number, text } = readArguments(intro, {
    numbers: {
      devices: ['16', 1, 1000, 'devices'],
      controllers: ['4', 1, 64, 'connections of controllers'],
      open: ['64', 1, 4096, 'requests at a time; at most 64 for each controller and 32 for each device'],
      workers: ['1', 1, 64, 'workers of the gateway'],
      seconds: ['5', 1, 600, 'measured time of a run'],
      warmup: ['2', 0, 60, 'seconds before it'],
      repeat: ['3', 1, 20, 'rounds']
    },
    texts: {
      'gateway-cpus': ['', 'cores of the gateway, such as 0'],
      'harness-cpus': ['', 'cores of controllers and devices, such as 1'],
      out: ['', 'a file for all results, JSON']
    }
  });
  return {
    devices: number('devices'),
    controllers: number('controllers'),
    open: number('open'),
    workers: number('workers'),
    seconds: number('seconds'),
    warmup: number('warmup'),
    repeat: number('repeat'),
    gatewayCpus: text('gateway-cpus'),
    harnessCpus: text('harness-cpus'),
    out: text('out')
  };
}

async function main() {
  const options = readOptions();
  const { repeat, open, controllers, workers, devices } = options;
  const facts = {
    machine: `${allowedCores().length} cores, ${os.cpus()[0]?.model ?? os.arch()}, Linux ${os.release()}, Node ${process.version}`,
    load: `${devices} devices; ${controllers} controllers with ${open} open requests, and 1 controller with 1; ${options.seconds} s after ${options.warmup} s; rounds: ${repeat}`,
    gateway: `${workers} worker(s)`,
    pinned: `gateway: ${options.gatewayCpus || 'no'}; controllers and devices: ${options.harnessCpus || 'no'}`,
    loadAverageBefore: os
      .loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')
  };
  const names = ['direct', 'cloud', 'javascript'];
  /** @type {Run[]} */
  const runs = [];
  const stage = await setUp(options);
  try {
    for (let round = 0; round < repeat; round += 1) {
      for (const variant of turned(names, round)) {
        for (const load of [
          { ...options, open: 1, controllers: 1 },
          { ...options, open, controllers }
        ]) {
          const run = await once(stage, variant, load);
          runs.push({ ...run, variant: `${variant}, ${load.open} open`, round });
          console.error(`round ${round + 1}/${repeat} ${variant}, ${load.open} open: ${run.perSecond}/s`);
        }
      }
    }
  } finally {
    await stage.stop();
  }
  const both = [1, open].flatMap((count) => names.map((name) => `${name}, ${count} open`));
  const table = both.map((name) => [name, ...medians(/** @type {any} */ (runs), name, columns)]);
  console.log(`${list(facts)}\n\n${markdown(['way', ...columns.map(([title]) => title)], table)}`);
  const compared = columns.slice(0, 3);
  const ratios = both
    .filter((name) => !name.startsWith('direct'))
    .map((name) => {
      const base = name.replace(/^[a-z]+/, 'direct');
      return [`${name} / ${base}`, ...ratioCells(/** @type {any} */ (runs), name, base, compared)];
    });
  console.log(`\n${markdown(['ratio', ...compared.map(([title]) => title)], ratios)}`);
  save(options.out, { conditions: facts, options, runs });
  const busy = runs.filter(
    (run) => !/^direct/.test(run.variant) && run.cpuSeconds / run.seconds + run.deviceCores > WARN_CORES
  );
  if (options.harnessCpus && busy.length > 0) {
    const ways = [...new Set(busy.map(({ variant }) => variant))].join('; ');
    console.log(`\nControllers and devices used more than ${WARN_CORES} cores: ${ways}.`);
  }
  if (runs.some(({ errors }) => errors > 0)) {
    console.log('\nRequests failed: these results prove nothing.');
    process.exitCode = 1;
  }
}

main();
