'use strict';
// Measures the cost of a safe acknowledgement: the same healthy load with each mode of the engine's `acknowledge`.
//   node bench/questions/acknowledge.js --help

const path = require('node:path');
const { measure, sleep } = require('../runs/measure');
const { readOptions, fail } = require('../options/options');
const { writtenBytes } = require('../harness/proc');
const { conditions, markdown, list, save, spread } = require('../report/report');
const { Volume } = require('../harness/volume');

const intro = `Usage: node bench/questions/acknowledge.js [options]

Runs each mode in turn without faults. Reports the CPU of the gateway, the latency to the cloud and from a device's
PUBLISH to its PUBACK by class, and the bytes written to disk per record. Ratios compare with the first mode of the
same round. Bytes written: with --loop-image (root), those that reached the block device of the log, including the
file system's own; without it, those that the kernel attributes to the process (/proc/PID/io), which can mislead.
The mode 'default' sets nothing.`;

const known = ['received', 'safe', 'stored', 'default'];

/** @typedef {import('../runs/stage').Stage} Stage */

/**
 * Reads the counters at the beginning and at the end of the load.
 * @param {import('../runs/measure').Profile} profile @param {Volume | undefined} volume
 */
function counting(profile, volume) {
  /** @type {{device?: number, process?: number, stats?: any}} */
  const written = {};
  /** @param {Stage} stage */
  const read = (stage) => {
    if (volume) volume.sync();
    const group = stage.system ? stage.system.children[0].pid : 0;
    return { device: volume ? volume.written() : undefined, process: writtenBytes(group) };
  };
  /** @param {unknown} _cloud @param {number} startMs @param {Stage} stage */
  const during = async (_cloud, startMs, stage) => {
    const before = read(stage);
    await sleep(startMs + profile.seconds * 1000 - Date.now());
    written.stats = stage.system?.gateway ? await stage.system.gateway.stats() : undefined;
    const after = read(stage);
    written.process = after.process - before.process;
    if (after.device !== undefined) written.device = after.device - (before.device ?? 0);
  };
  return { during, written };
}

/**
 * @typedef {import('../runs/measure').Result &
 *           {mode: string, round: number, written: ReturnType<typeof counting>['written']}} Run
 */

/** @param {Run} run @param {'normal' | 'alarm'} kind @param {'p50' | 'p99'} field ms */
const latency = (run, kind, field) =>
  run.arrived.latencyUs[kind].count ? run.arrived.latencyUs[kind][field] / 1000 : undefined;
/** @param {Run} run @param {'normal' | 'alarm'} kind @param {'p50' | 'p99'} field ms */
const puback = (run, kind, field) =>
  run.sent.pubackUs[kind].count ? run.sent.pubackUs[kind][field] / 1000 : undefined;

/** @param {Run} run @param {string} name of an engine counter @returns {number | undefined} its value per record */
function counter({ written, sent }, name) {
  const value = written.stats?.counters?.[name];
  return value === undefined ? undefined : value / sent.sent;
}

/** @type {[string, (run: Run) => number | undefined, number][]} */
const columns = [
  ['cores', (run) => run.cores, 3],
  ['RSS MB', (run) => run.rssMB, 0],
  ['alarm p50 ms', (run) => latency(run, 'alarm', 'p50'), 2],
  ['alarm p99 ms', (run) => latency(run, 'alarm', 'p99'), 2],
  ['normal p50 ms', (run) => latency(run, 'normal', 'p50'), 1],
  ['normal p99 ms', (run) => latency(run, 'normal', 'p99'), 1],
  ['alarm PUBACK p50 ms', (run) => puback(run, 'alarm', 'p50'), 2],
  ['alarm PUBACK p99 ms', (run) => puback(run, 'alarm', 'p99'), 2],
  ['normal PUBACK p50 ms', (run) => puback(run, 'normal', 'p50'), 1],
  ['normal PUBACK p99 ms', (run) => puback(run, 'normal', 'p99'), 1]
];

/** Columns without ratios, because they may be zero. @type {[string, (run: Run) => number | undefined, number][]} */
const plain = [
  ['B written/record (block device)', ({ written, sent }) => each(written.device, sent.sent), 2],
  ['B written/record (/proc)', ({ written, sent }) => each(written.process, sent.sent), 2],
  ['B stored/record', (run) => counter(run, 'bytesStored'), 2],
  ['records stored %', (run) => times(counter(run, 'recordsStored'), 100), 3],
  ['lost', (run) => run.verdict?.lost, 0],
  ['late sends', (run) => run.sent.late, 0]
];

/** @param {number | undefined} bytes @param {number} records */
const each = (bytes, records) => (bytes === undefined ? undefined : bytes / records);
/** @param {number | undefined} value @param {number} factor */
const times = (value, factor) => (value === undefined ? undefined : value * factor);

/** @param {Run[]} runs @param {string[]} modes */
function tables(runs, modes) {
  /** @param {string} mode @param {(run: Run) => number | undefined} value @param {number} digits */
  const cell = (mode, value, digits) =>
    spread(
      runs.filter((run) => run.mode === mode).map((run) => value(run)),
      digits
    );
  const all = [...columns, ...plain];
  const rows = modes.map((mode) => [mode, ...all.map(([, value, digits]) => cell(mode, value, digits))]);
  const ratios = modes.slice(1).map((mode) => [
    `${mode} / ${modes[0]}`,
    ...columns.map(([, value]) =>
      cell(
        mode,
        (run) => {
          const base = runs.find((other) => other.mode === modes[0] && other.round === run.round);
          return base && value(base) ? (value(run) ?? NaN) / (value(base) ?? NaN) : undefined;
        },
        2
      )
    )
  ]);
  const first = markdown(['acknowledge', ...all.map(([title]) => title)], rows);
  return `${first}\n\n${markdown(['ratio', ...columns.map(([title]) => title)], ratios)}`;
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { payload: '300', systems: '' },
    numbers: {
      'loop-image': ['0', 0, 16384, 'MiB of an ext4 image on a loop device for the log (root); 0 = none']
    },
    texts: { modes: ['received,safe,stored', `comma-separated, of ${known.join(', ')}`] }
  });
  /** @type {string[]} */
  const modes = own.modes.split(',');
  for (const mode of modes) if (!known.includes(mode)) fail(`--modes: '${mode}' is not known`);
  const facts = conditions(profile, repeat);
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    const turn = round % modes.length;
    for (const mode of [...modes.slice(turn), ...modes.slice(0, turn)]) {
      const volume = own['loop-image'] ? new Volume('ext4', own['loop-image']).mount() : undefined;
      try {
        const gatewayEnv = {
          ...profile.gatewayEnv,
          ...(mode === 'default' ? {} : { SEGANET_ACKNOWLEDGE: mode }),
          ...(volume ? { SEGANET_LOG_DIR: path.join(volume.folder, 'log') } : {})
        };
        const { during, written } = counting(profile, volume);
        const result = await measure('seganet', { ...profile, gatewayEnv, during, statistics: true });
        runs.push({ ...result, mode, round, written });
        console.error(`round ${round + 1}/${repeat} ${mode}: ${result.cores.toFixed(3)} cores`);
      } finally {
        if (volume) volume.remove();
      }
    }
  }
  console.log(`${list(facts)}\n\n${tables(runs, modes)}`);
  save(out, { conditions: facts, profile, runs });
}

main();
