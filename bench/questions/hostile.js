'use strict';
// Measures the effect of hostile devices on the others.
//   node bench/questions/hostile.js --help

const path = require('node:path');
const { Child } = require('../harness/child');
const { percentile } = require('../stats/latency');
const { measure, sleep } = require('../runs/measure');
const { readOptions } = require('../options/options');
const { turned, medians, ratios } = require('../report/pairs');
const { conditions, markdown, list, save, spread } = require('../report/report');

const intro = `Usage: node bench/questions/hostile.js [options]

Ordinary devices, and beside them in turn: nothing (undisturbed); one device that sends ten times its limit
(flood; --limit sets the limit of a device); --half-open silent connections, opened again when the gateway closes
them; --loris connections that send a byte per second, half of them before CONNECT is complete, half in the middle
of a packet; --connects connections per second that close at once. Each variant has its own gateway in each round.
Latency is that of the ordinary devices alone; ratios compare with 'undisturbed' of the same round.`;

const FLOODER = 40000;
/** The attack begins after the load has settled. */
const BEGIN_MS = 1000;

/** @typedef {import('../report/pairs').VariantRun & {attack?: {opened: number, closedByGateway: number}}} Run */

/** @param {boolean} alarm @param {number} fraction @returns {(run: Run) => number | undefined} ms */
const latency = (alarm, fraction) => (run) => {
  const from = run.startMs + WARMUP.ms;
  const values = run.samples
    .filter(
      (sample) => sample.alarm === alarm && sample.intendedMs >= from && Number(sample.device) < FLOODER
    )
    .map(({ intendedMs, arrivedMs }) => arrivedMs - intendedMs);
  return percentile(values, fraction);
};
const WARMUP = { ms: 0 };

/** @type {[string, (run: Run) => number | undefined, number][]} */
const compared = [
  ['class 1 p50 ms', latency(true, 0.5), 2],
  ['class 1 p99 ms', latency(true, 0.99), 2],
  ['class 3 p50 ms', latency(false, 0.5), 2],
  ['class 3 p99 ms', latency(false, 0.99), 2]
];

/** @type {[string, (run: Run) => number | undefined, number][]} */
const plain = [
  ['lost', (run) => run.verdict?.lost, 0],
  ['out of order', (run) => run.arrived.outOfOrder, 0],
  ["others' connections lost", (run) => run.sent.connectionLosses, 0],
  ['connections of the attack', (run) => run.attack?.opened, 0],
  ['closed by the gateway', (run) => run.attack?.closedByGateway, 0],
  ['cores', (run) => run.cores, 2],
  ['resident MB', (run) => run.rssMB, 0],
  ['late sends', (run) => run.sent.late, 0]
];

/** @param {Run[]} runs @param {string[]} names */
function tables(runs, names) {
  const all = [...compared, ...plain];
  const first = markdown(
    ['attack', ...all.map(([title]) => title)],
    names.map((name) => [name, ...medians(runs, name, all)])
  );
  const rows = names
    .filter((name) => name !== 'undisturbed')
    .map((name) => [
      name,
      ...compared.map(([, value]) => spread(ratios(runs, name, 'undisturbed', value), 2))
    ]);
  return `${first}\n\n${markdown(['ratio to undisturbed', ...compared.map(([title]) => title)], rows)}`;
}

/** Returns the arguments of attack.js. @typedef {(port: number, seconds: number) => string[]} Arguments */

/**
 * @param {import('../runs/measure').Profile} profile @param {string} variant @param {Record<string, any>} own
 * @returns {Promise<Omit<Run, 'variant' | 'round'>>}
 */
async function once(profile, variant, own) {
  /** @type {Record<string, Arguments>} */
  const attacks = {
    'half-open': (port, seconds) => ['half-open', `${port}`, `${own['half-open']}`, `${seconds}`],
    'slow-loris': (port, seconds) => ['slow-loris', `${port}`, `${own.loris}`, `${seconds}`],
    connects: (port, seconds) => ['connects', `${port}`, `${own.connects}`, `${seconds}`]
  };
  /** @type {Run['attack']} */
  let attack;
  const result = await measure('seganet', {
    ...profile,
    sampleEvery: 1,
    openFiles: 16384,
    during: async (_cloud, startMs, stage) => {
      await sleep(startMs + BEGIN_MS - Date.now());
      const seconds = profile.seconds - BEGIN_MS / 1000;
      if (variant === 'flood') {
        const flood = {
          devices: 1,
          'first-device': FLOODER,
          rate: own.limit * 10,
          'alarm-every': 0,
          seconds,
          drain: 1
        };
        await stage.startLoad({ ...flood, inflight: 1000 }).started();
      } else if (attacks[variant]) {
        const script = path.join(__dirname, '../harness/attack.js');
        const port = /** @type {import('../options/systems').System} */ (stage.system).port;
        const { harnessCpus: cpus, devices } = profile;
        const openFiles = devices * 2 + Number(own['half-open']) + Number(own.loris) + 2048;
        const child = new Child(process.execPath, [script, ...attacks[variant](port, seconds)], {
          name: 'attack',
          cpus,
          openFiles
        });
        stage.tools.push(child);
        await child.exited;
        attack = child.jsonLines().pop();
      }
    }
  });
  return { ...result, attack };
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '100', seconds: '15', repeat: '2' },
    numbers: {
      limit: ['100', 1, 100000, 'records per second that one device may send (seganet-mqtt-devices.rate)'],
      'half-open': ['5000', 1, 20000, 'silent connections'],
      loris: ['1000', 1, 20000, 'connections that send a byte per second'],
      connects: ['1000', 1, 20000, 'connections per second that open and close']
    }
  });
  profile.gatewayEnv['seganet-mqtt-devices.rate'] ??= String(own.limit);
  WARMUP.ms = profile.warmup * 1000;
  const names = ['undisturbed', 'flood', 'half-open', 'slow-loris', 'connects'];
  const facts = { ...conditions(profile, repeat), 'limit of a device': `${own.limit} records/s` };
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const variant of turned(names, round)) {
      const run = { ...(await once(profile, variant, own)), variant, round };
      runs.push(run);
      console.error(
        `round ${round + 1}/${repeat} ${variant}: class 1 p99 ${latency(true, 0.99)(run)} ms, class 3 p99 ${latency(false, 0.99)(run)} ms`
      );
    }
  }
  console.log(`${list(facts)}\n\n${tables(runs, names)}`);
  save(out, {
    conditions: facts,
    profile,
    runs: runs.map(({ samples, ...run }) => ({ ...run, samples: samples.length }))
  });
}

main();
