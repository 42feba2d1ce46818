'use strict';
// What programs take while they run: CPU, memory and threads, from /proc.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { parseStat } = require('../../harness/proc');

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const KIB = 1024;
/** Written to clear_refs (proc(5)), it makes the peak of the memory start again from the present value. */
const RESET_PEAK = '5';

/** @typedef {import('../../harness/child').Child} Child */

/** @param {Child[]} programs @returns {number} seconds of CPU so far */
function cpuOf(programs) {
  let ticks = 0;
  for (const { pid } of programs) {
    const { stat } = parseStat(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
    ticks += Number(stat[14 - 3]) + Number(stat[15 - 3]);
  }
  return ticks / ticksPerSecond;
}

/**
 * @param {Child} program
 * @returns {{ memory: number, own: number, peak: number, threads: number }} bytes; own: without the file
 */
function sizeOf({ pid }) {
  const text = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (/** @type {string} */ name) =>
    Number(text.match(new RegExp(`^${name}:\\s*(\\d+)`, 'm'))?.[1]);
  return {
    memory: field('VmRSS') * KIB,
    own: field('RssAnon') * KIB,
    peak: field('VmHWM') * KIB,
    threads: field('Threads')
  };
}

/** @param {Child} program */
function resetPeak({ pid }) {
  fs.writeFileSync(`/proc/${pid}/clear_refs`, RESET_PEAK);
}

/**
 * Measures the CPU of programs while `work` runs.
 * @template T
 * @param {Child[]} programs @param {() => Promise<T>} work
 * @returns {Promise<{ cores: number[], result: T }>} cores: of each program, 1 = a whole core all the time
 */
async function during(programs, work) {
  const from = performance.now();
  const before = programs.map((each) => cpuOf([each]));
  const result = await work();
  const seconds = (performance.now() - from) / 1000;
  return { cores: programs.map((each, i) => (cpuOf([each]) - before[i]) / seconds), result };
}

module.exports = { during, resetPeak, sizeOf };
