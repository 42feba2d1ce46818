'use strict';
// Measures how the engine scales over cores, with its load from inside: see --help.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { figuresOf, KINDS, OWN, scaling, thousands, verdict } = require('../cores/figures');
const { lockWaits } = require('../cores/lock-waits');
const { sharedLines } = require('../cores/lines');
const { buildProgram } = require('../cores/program');
const { fail, readArguments } = require('../harness/arguments');
const { outFolder } = require('../harness/build');
const { allowedCores } = require('../harness/proc');
const { turned } = require('../report/pairs');
const { fixed, list, markdown, save, spread } = require('../report/report');

const intro = `Usage: node native/node/run.js bench/questions/cores.js [options]

A whole engine with 1, 2 … workers, each pinned to a core. Devices, broker and uplink are threads of the same process,
connected by socket pairs, so that no network, no other program and no JavaScript takes part: listener, agents, MQTT,
rules, batches, lanes, the uplink's express path (without TLS) and, in half of the runs, the log (SQLite, a PUBACK leaves
when its record is on disk). Each device sends 200 B of JSON at QoS 1 as fast as its PUBACKs allow; every 20th message
is an alarm.

The load shares the cores. So the results are CPU µs a record by kind of thread, and the records/s that this CPU time
allows if each thread of the gateway has a core; read records/s by the clock only where cores are left over. Restrict the cores with taskset, for example: taskset -c 0-3 node … --cores 1,2,4`;

/** A line of JSON per thread. */
const MAX_BUFFER = 1 << 24;
const TRACED_SECONDS = 2;

/** @typedef {import('../cores/figures').Figures & {round: number, log: boolean}} Run */

/** @param {number} most @returns {string} 1, 2, 4 … and the number of cores */
function usualCounts(most) {
  const counts = [];
  for (let n = 1; n < most; n *= 2) counts.push(n);
  return [...counts, most].join(',');
}

/** @param {string} text @param {number[]} allowed @returns {number[]} */
function workerCounts(text, allowed) {
  const counts = text.split(',').map(Number);
  if (counts.some((n) => !(Number.isInteger(n) && n >= 1 && n <= 64)))
    fail(`--cores must be numbers of workers from 1 to 64, such as 1,2,4, not '${text}'`);
  const most = Math.max(...counts);
  if (most > allowed.length)
    fail(`--cores: ${most} workers need ${most} cores, and this process may use ${allowed.length}.`);
  return [...new Set(counts)].sort((a, b) => a - b);
}

/**
 * @param {string} program
 * @param {{workers: number, log: boolean, devices: number, seconds: number, directory: string}} variant
 * @param {string[]} [tracer] command that runs it
 * @returns {import('../cores/figures').Output}
 */
function runOnce(program, { workers, log, devices, seconds, directory }, tracer = []) {
  const folder = fs.mkdtempSync(path.join(directory, 'cores-log-'));
  // The last cores: the first one takes interrupts.
  const cores = allowedCores().slice(-workers).join(',');
  const given = [program, String(workers), cores, String(devices), String(seconds)];
  const [command, ...args] = [...tracer, ...given, ...(log ? [path.join(folder, 'log.db')] : [])];
  try {
    const text = execFileSync(command, args, {
      encoding: 'utf8',
      maxBuffer: MAX_BUFFER,
      timeout: (seconds + 120) * 1000,
      stdio: ['ignore', 'pipe', 'pipe']
    });
    return JSON.parse(text);
  } catch (error) {
    const { stderr = '', message } = /** @type {{stderr?: string, message: string}} */ (error);
    throw new Error(stderr.trim() || message, { cause: error });
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {Run[]} runs of one variant @param {(run: Run) => number | undefined} value @param {number} digits */
const cell = (runs, value, digits) => spread(runs.map(value), digits);

/** @param {Run[]} runs of one log @param {number[]} counts @returns {string} */
function costTable(runs, counts) {
  const rows = counts.map((workers) => {
    const own = runs.filter((run) => run.workers === workers);
    return [
      workers,
      thousands(own.map(({ perSecond }) => perSecond)),
      ...KINDS.map(([kind]) => cell(own, ({ costs }) => costs[kind]?.us, 2)),
      thousands(own.map(({ workersAllow }) => workersAllow)),
      workers === 1 ? '' : spread(scaling(runs, workers), 2)
    ];
  });
  const head = [
    'workers',
    'by the clock, 1,000 records/s',
    ...KINDS.map(([kind]) => `${kind}, µs`),
    'workers allow, 1,000 records/s',
    '÷ 1 worker'
  ];
  return markdown(head, rows);
}

/**
 * @param {Run[]} runs of one log @param {number[]} counts
 * @param {Map<number, ReturnType<typeof lockWaits>>} waits by number of workers
 */
function switchTable(runs, counts, waits) {
  const kinds = OWN.filter((kind) => runs.some(({ costs }) => costs[kind]));
  const rows = counts.flatMap((workers) => {
    const own = runs.filter((run) => run.workers === workers);
    return kinds.map((kind) => [
      workers,
      kind,
      cell(own, ({ costs }) => costs[kind].voluntary, 2),
      cell(own, ({ costs }) => costs[kind].involuntary, 2),
      fixed(waits.get(workers)?.perThousand[kind], 3)
    ]);
  });
  return markdown(['workers', 'threads', 'voluntary switches', 'involuntary', 'waits for a mutex'], rows);
}

function main() {
  const allowed = allowedCores();
  const { number, text, flag } = readArguments(intro, {
    numbers: {
      seconds: ['5', 0.5, 600, 'measured time of each run, after one second'],
      devices: ['256', 64, 10_000, 'devices, each with its own socket pair'],
      repeat: ['3', 1, 100, 'rounds; every round runs each variant once']
    },
    texts: {
      cores: [usualCounts(allowed.length), 'numbers of workers'],
      directory: [outFolder(), 'folder for the log, on the disk that counts'],
      out: ['', 'file for the full results as JSON']
    },
    flags: {
      'no-log': 'leave out the runs with the log',
      'no-trace': 'leave out the runs that count waits for a mutex',
      'no-lines': 'leave out the list of shared cache lines'
    }
  });
  const counts = workerCounts(text('cores'), allowed);
  const given = { devices: number('devices'), seconds: number('seconds'), directory: text('directory') };
  const program = buildProgram();
  const logs = flag('no-log') ? [false] : [false, true];
  const facts = {
    machine: `${allowed.length} cores (${allowed.join(',')}), ${os.cpus()[0].model}, Linux ${os.release()}`,
    load: `${given.devices} devices, as fast as their PUBACKs allow; ${given.seconds} s; interleaved rounds: ${number('repeat')}`,
    loadAverageBefore: os
      .loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')
  };
  console.log(list(facts));
  /** @type {Run[]} */
  const runs = [];
  const variants = logs.flatMap((log) => counts.map((workers) => ({ log, workers })));
  for (let round = 0; round < number('repeat'); round += 1) {
    for (const variant of turned(variants, round)) {
      const figures = figuresOf(variant.workers, runOnce(program, { ...given, ...variant }));
      runs.push({ ...figures, round, log: variant.log });
      const name = `${variant.workers} workers, ${variant.log ? 'log' : 'no log'}`;
      console.error(
        `round ${round + 1}, ${name}: ${figures.costs.workers.us.toFixed(2)} µs of workers a record`
      );
    }
  }
  const waits = new Map(logs.map((log) => [log, new Map()]));
  for (const { log, workers } of flag('no-trace') ? [] : variants) {
    const short = { ...given, log, workers, seconds: TRACED_SECONDS };
    waits.get(log)?.set(
      workers,
      lockWaits((tracer) => runOnce(program, short, tracer))
    );
  }
  for (const log of logs) {
    const own = runs.filter((run) => run.log === log);
    const traced = /** @type {Map<number, ReturnType<typeof lockWaits>>} */ (waits.get(log));
    const by = [...traced.values()].find(Boolean)?.by;
    console.log(`\n## ${log ? 'With the log on disk' : 'Without a log'}\n\n${costTable(own, counts)}\n`);
    console.log(
      `Per 1,000 records; waits for a mutex${by ? ` of another run, by ${by}` : ' were not counted'}:\n`
    );
    console.log(switchTable(own, counts, traced));
    for (const workers of counts.filter((n) => n > 1)) console.log(`\n${verdict(workers, own)}`);
  }
  if (!flag('no-lines')) console.log(`\n## Shared cache lines\n\n${sharedLines()}`);
  save(text('out'), { conditions: facts, runs, waits: [...waits].map(([log, each]) => [log, [...each]]) });
}

try {
  main();
} catch (error) {
  console.error(/** @type {Error} */ (error).message);
  process.exitCode = 1;
}
