'use strict';
// Measures what more workers bring when the load comes from inside their process: native/bench/scaling_bench.cc.
//   node bench/questions/cores.js --help

const { execFileSync, spawnSync } = require('node:child_process');
const path = require('node:path');
const { fail, readArguments } = require('../harness/arguments');
const { allowedCores } = require('../harness/proc');
const { turned } = require('../report/pairs');
const { list, markdown, median, save, spread } = require('../report/report');

const intro = `Usage: node bench/questions/cores.js [options]

Devices, engine and cloud are in one process: each worker has a generator on its own core, which writes into socket pairs
(AF_UNIX), and one thread takes and acknowledges the batches. No network, TLS, JavaScript or other process takes part, so
the result shows how the engine's own structures scale, not the throughput of a gateway.

Needs cmake, libuv and OpenSSL 3 with headers (Debian: cmake ninja-build libuv1-dev libssl-dev), and GoogleTest
(libgtest-dev). Builds native/out/plain on first use.`;

const native = path.resolve(__dirname, '..', '..', 'native');
const out = path.join(native, 'out', 'plain');

/** @typedef {{workers: number, round: number, cores: number, devices: number, messagesPerS: number, workerUs: number,
 *             wakesPerMessage: number, preemptedPerMessage: number, recordsPerBatch: number, workerCores: number,
 *             busiestWorker: number, cloudCores: number}} Run */

/** Builds the program if its sources changed. @returns {string} its path */
function program() {
  /** @param {string[]} args */
  const cmake = (args) => {
    const { error, status } = spawnSync('cmake', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (error || status !== 0) fail(`cmake ${args[0]} failed. See --help for what is needed.`);
  };
  cmake(['-S', native, '-B', out, '-DCMAKE_UNITY_BUILD=ON', '-DSEGANET_CHECKS=OFF']);
  cmake(['--build', out, '--target', 'scaling_bench', '--parallel', '2']);
  return path.join(out, 'scaling_bench');
}

/** Returns 1, 2, 4 … and `most`. @param {number} most @returns {number[]} */
function workerCounts(most) {
  const counts = [];
  for (let n = 1; n < most; n *= 2) counts.push(n);
  return [...counts, most];
}

/** @param {Run[]} runs @returns {string} */
function table(runs) {
  const counts = [...new Set(runs.map(({ workers }) => workers))].sort((a, b) => a - b);
  /** @param {number} workers @param {(run: Run) => number} value */
  const of = (workers, value) => runs.filter((run) => run.workers === workers).map(value);
  const alone = median(of(counts[0], ({ workerUs }) => workerUs));
  const rows = counts.map((workers) => [
    workers,
    spread(
      of(workers, ({ messagesPerS }) => messagesPerS),
      0
    ),
    spread(
      of(workers, ({ workerUs }) => workerUs),
      2
    ),
    (median(of(workers, ({ workerUs }) => workerUs)) / alone).toFixed(2),
    spread(
      of(workers, ({ wakesPerMessage }) => wakesPerMessage),
      3
    ),
    spread(
      of(workers, ({ preemptedPerMessage }) => preemptedPerMessage),
      3
    ),
    spread(
      of(workers, ({ recordsPerBatch }) => recordsPerBatch),
      1
    ),
    spread(
      of(workers, ({ cloudCores }) => cloudCores),
      2
    )
  ]);
  const head = [
    ...['workers', 'msg/s', 'worker, CPU µs per message', 'ratio to the first row'],
    ...['wake-ups per message', 'preemptions per message', 'records per batch', "cores of the cloud's thread"]
  ];
  return markdown(head, rows);
}

function main() {
  const { number, text } = readArguments(intro, {
    numbers: {
      workers: ['16', 1, 64, 'largest number of workers; 1, 2, 4 … are measured too'],
      seconds: ['4', 0.2, 600, 'length of a run'],
      devices: ['32', 1, 1000, 'devices of each worker'],
      'a-write': ['4', 1, 64, 'messages that a device writes at once'],
      repeat: ['3', 1, 100, 'rounds; every round runs each number of workers once']
    },
    texts: { out: ['', 'file for the results as JSON'] },
    flags: {}
  });
  const file = program();
  const cores = allowedCores();
  const counts = workerCounts(number('workers'));
  const facts = {
    machine: `${cores.length} cores`,
    load: `each worker: ${number('devices')} devices, 200 B, QoS 1, acknowledged when safe, as fast as they are answered; ${number('seconds')} s, rounds: ${number('repeat')}`,
    note:
      counts[counts.length - 1] >= cores.length
        ? 'Rows with as many workers as cores, or more, share cores: only their CPU time per message has a meaning.'
        : 'Each worker has a core, and so has the cloud.'
  };
  console.log(list(facts));
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < number('repeat'); round += 1) {
    for (const workers of turned(counts, round)) {
      const args = [workers, number('seconds'), number('devices'), number('a-write')].map(String);
      const run = JSON.parse(execFileSync(file, args, { encoding: 'utf8' }));
      runs.push({ ...run, round });
      console.error(
        `round ${round + 1}, ${workers} workers: ${run.messagesPerS} msg/s, ${run.workerUs} µs per message`
      );
    }
  }
  console.log(`\n${table(runs)}`);
  save(text('out'), { conditions: facts, runs });
}

main();
