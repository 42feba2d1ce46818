'use strict';
// Measures the CPU of a gateway with few devices, with silent devices, and with devices that send alarms.
//   node bench/questions/few-devices.js --help

const { measure } = require('../runs/measure');
const { fail, readOptions } = require('../options/options');
const { ratios, turned } = require('../report/pairs');
const { readThreads, threadUse } = require('../harness/proc');
const { SilentFleet } = require('../harness/silent');
const { Stage, sleep } = require('../runs/stage');
const { conditions, markdown, list, save, spread } = require('../report/report');

const intro = `Usage: node bench/questions/few-devices.js [options]

Three parts (--parts):
  few     each of --counts devices sends --rate messages per second: CPU of the gateway, of a mosquitto bridge, and of a
          bare server that only reads and acknowledges; the load begins 40 s earlier
  silent  --devices devices are connected and send nothing: CPU of the gateway and of mosquitto
  alarms  --devices devices send --rate messages per second each, --alarm-devices of them only alarms and the others
          none: latency of class 1 and CPU, of the gateway and of a mosquitto bridge
Wake-ups and CPU of the gateway's threads follow each table.`;

const GATEWAY = 'seganet-adaptive';
const BRIDGE = 'mosquitto-bridge';
const BARE = 'bare';
const PARTS = ['few', 'silent', 'alarms'];
/** Time for sessions to settle, and for each thread of the gateway to compact its heap after 10 idle seconds, s. */
const SETTLE_S = 40;

/** @typedef {{variant: string, round: number, cores: number, threads: import('../harness/proc').ThreadUse[],
 *             p50?: number, p99?: number, normalP50?: number, lost?: number}} Run */
/** @typedef {import('../runs/measure').Profile} Profile */

/** @param {any} us */
const ms = (us) => (us === undefined ? undefined : us / 1000);

/** @param {import('../runs/measure').Result} result */
function figures(result) {
  const { alarm, normal } = result.arrived?.latencyUs ?? {};
  return {
    cores: result.cores,
    threads: result.parts.flatMap(({ threads }) => threads),
    p50: ms(alarm?.p50),
    p99: ms(alarm?.p99),
    normalP50: ms(normal?.p50),
    lost: result.verdict?.lost
  };
}

/** @param {string} name of the system @param {Profile} profile */
async function silent(name, profile) {
  const stage = new Stage(profile);
  /** @type {SilentFleet | undefined} */
  let fleet;
  try {
    await stage.open();
    const system = await stage.startSystem(name);
    fleet = new SilentFleet(system.port);
    await fleet.grow(profile.devices);
    await sleep(SETTLE_S * 1000);
    const groups = system.children.map(({ pid }) => pid);
    const [before, beforeMs] = [readThreads(groups), performance.now()];
    await sleep(profile.seconds * 1000);
    const threads = threadUse(before, readThreads(groups), (performance.now() - beforeMs) / 1000);
    return { cores: threads.reduce((sum, each) => sum + each.cores, 0), threads, lost: fleet.losses };
  } finally {
    fleet?.close();
    await stage.close();
  }
}

/** @param {string} name @param {Profile} profile @param {number} alarmDevices */
async function alarms(name, profile, alarmDevices) {
  /** @type {import('../runs/stage').Load | undefined} */
  let urgent;
  const others = profile.devices - alarmDevices;
  const result = await measure(name, {
    ...profile,
    loadOptions: { devices: others, 'alarm-every': 0 },
    during: async (_cloud, _startMs, stage) => {
      const more = { devices: alarmDevices, 'first-device': others, 'alarm-every': 1 };
      urgent = stage.startLoad({ ...more, seconds: Math.max(1, profile.seconds - 1) });
      await urgent.result();
    }
  });
  return figures(result);
}

/**
 * Runs each system once a round, each round in another order.
 * @param {string} title @param {string[]} names @param {number} repeat
 * @param {(name: string) => Promise<Omit<Run, 'variant' | 'round'>>} once
 */
async function rounds(title, names, repeat, once) {
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const variant of turned(names, round)) {
      const run = { ...(await once(variant)), variant, round };
      runs.push(run);
      console.error(`${title}, round ${round + 1}/${repeat}, ${variant}: ${run.cores.toFixed(4)} cores`);
    }
  }
  return runs;
}

/** @param {Run[]} runs @param {string} name @param {(run: Run) => number | undefined} value @param {number} digits */
const cell = (runs, name, value, digits) =>
  spread(
    runs.filter(({ variant }) => variant === name).map((run) => value(run)),
    digits
  );

/** @param {Run[]} runs @param {string} base */
const ratioCell = (runs, base) =>
  spread(
    ratios(/** @type {any} */ (runs), GATEWAY, base, ({ cores }) => cores),
    2
  );

/** @param {Run[]} runs @returns {string} the threads of the gateway's last run */
function threadTable(runs) {
  const last = runs.filter(({ variant }) => variant === GATEWAY).pop();
  const rows = (last?.threads ?? [])
    .filter(({ cores, wakesPerSecond }) => cores >= 0.0001 || wakesPerSecond >= 0.5)
    .map(({ process, name, cores, wakesPerSecond }) => [
      `${process}/${name}`,
      (cores * 100).toFixed(3),
      wakesPerSecond.toFixed(1)
    ]);
  return markdown(['thread of the gateway', '% of a core', 'wake-ups/s'], rows);
}

/** @param {Run[]} runs @param {string[]} names @param {string} load @returns {(string | number)[]} */
function costRow(runs, names, load) {
  return [
    load,
    ...names.map((name) => cell(runs, name, ({ cores }) => cores, 4)),
    ...names.slice(1).map((base) => ratioCell(runs, base)),
    cell(runs, GATEWAY, ({ p50 }) => p50, 2),
    cell(runs, GATEWAY, ({ normalP50 }) => normalP50, 2)
  ];
}

/** @param {string[]} names */
const costHead = (names) => [
  'load',
  ...names.map((name) => `cores: ${name}`),
  ...names.slice(1).map((name) => `gateway / ${name}`),
  'class 1 p50 ms',
  'class 3 p50 ms'
];

/** @param {Profile} profile @returns {Profile} with the same measured time, after the threads have settled */
function settled({ seconds, warmup, ...others }) {
  const before = Math.max(warmup, SETTLE_S);
  return { ...others, seconds: before + seconds - warmup, warmup: before };
}

/** @param {Profile} profile @param {number} repeat @param {number[]} counts */
async function fewPart(profile, repeat, counts) {
  const names = [GATEWAY, BRIDGE, BARE];
  const [rows, all, tables] = [[], [], []].map((each) => /** @type {any[]} */ (each));
  for (const devices of counts) {
    const runs = await rounds(`${devices} devices`, names, repeat, async (name) =>
      figures(await measure(name, { ...settled(profile), devices }))
    );
    rows.push(costRow(runs, names, `${devices} × ${profile.rate} msg/s`));
    all.push({ devices, runs });
    tables.push(`${devices} devices:\n\n${threadTable(runs)}`);
  }
  console.log(`\n## Few devices\n\n${markdown(costHead(names), rows)}\n\n${tables.join('\n\n')}`);
  return all;
}

/** @param {Profile} profile @param {number} repeat */
async function silentPart(profile, repeat) {
  const names = [GATEWAY, BRIDGE];
  const runs = await rounds('silent', names, repeat, (name) => silent(name, profile));
  const row = costRow(runs, names, `${profile.devices} silent devices`).slice(0, -2);
  console.log(
    `\n## Silent devices\n\n${markdown(costHead(names).slice(0, -2), [row])}\n\n${threadTable(runs)}`
  );
  return runs;
}

/** @param {Profile} profile @param {number} repeat @param {number} alarmDevices */
async function alarmPart(profile, repeat, alarmDevices) {
  const names = [GATEWAY, BRIDGE];
  const runs = await rounds('alarms', names, repeat, (name) => alarms(name, profile, alarmDevices));
  const load = `${profile.devices} × ${profile.rate} msg/s, ${alarmDevices} of them send alarms only`;
  const rows = names.map((name) => [
    name,
    cell(runs, name, ({ cores }) => cores, 3),
    cell(runs, name, ({ p50 }) => p50, 2),
    cell(runs, name, ({ p99 }) => p99, 2),
    cell(runs, name, ({ normalP50 }) => normalP50, 2),
    cell(runs, name, ({ lost }) => lost, 0)
  ]);
  const head = ['system', 'cores', 'class 1 p50 ms', 'class 1 p99 ms', 'class 3 p50 ms', 'lost'];
  console.log(`\n## Alarm devices: ${load}\n\n${markdown(head, rows)}\n\n${threadTable(runs)}`);
  return runs;
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '1000', rate: '10', seconds: '12', warmup: '4' },
    numbers: { 'alarm-devices': ['50', 1, 10000, 'devices that send alarms only (part alarms)'] },
    texts: {
      counts: ['1,16,64,256', 'numbers of devices (part few)'],
      parts: [PARTS.join(','), `comma-separated, of ${PARTS.join(', ')}`]
    }
  });
  const parts = own.parts.split(',');
  for (const part of parts) if (!PARTS.includes(part)) fail(`--parts: '${part}' is not known. See --help.`);
  const counts = own.counts.split(',').map(Number);
  if (
    counts.some((/** @type {number} */ count) => !(Number.isInteger(count) && count >= 1 && count <= 1000))
  ) {
    fail(`--counts must be numbers from 1 to 1000, not '${own.counts}'`);
  }
  if (own['alarm-devices'] >= profile.devices) fail('--alarm-devices must be less than --devices');
  const facts = conditions(profile, repeat);
  console.log(list(facts));
  const results = {
    few: parts.includes('few') ? await fewPart(profile, repeat, counts) : undefined,
    silent: parts.includes('silent') ? await silentPart(profile, repeat) : undefined,
    alarms: parts.includes('alarms') ? await alarmPart(profile, repeat, own['alarm-devices']) : undefined
  };
  save(out, { conditions: facts, profile, ...results });
}

main();
