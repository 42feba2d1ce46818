'use strict';
// Counts the instructions of a process group with perf. Few virtual machines support that.

const { spawn, spawnSync } = require('node:child_process');
const { groupPids } = require('./proc');

const notCounted = 'this machine does not count instructions';
const notInstalled = 'not counted: perf is not installed';

/** @param {string} text of `perf stat -x,` @returns {number | undefined} */
function parseCount(text) {
  const line = text.split('\n').find((each) => each.split(',')[2]?.startsWith('instructions'));
  const value = line ? Number(line.split(',')[0]) : NaN; // '<not supported>', '<not counted>'
  return Number.isFinite(value) ? value : undefined;
}

/** @type {string | undefined} */
let known;

/** @returns {string} '' if this machine counts instructions, else the reason */
function lacking() {
  if (known !== undefined) return known;
  const { status, stderr } = spawnSync('perf', ['stat', '-x,', '-e', 'instructions', '--', 'true'], {
    encoding: 'utf8'
  });
  if (status === null) known = notInstalled;
  else known = parseCount(stderr) === undefined ? notCounted : '';
  return known;
}

/**
 * Starts counting.
 * @param {number[]} groups
 * @returns {() => Promise<number | undefined>} stops counting; resolves to undefined if this machine cannot count
 */
function countInstructions(groups) {
  if (lacking()) return async () => undefined;
  const pids = groups.flatMap(groupPids).join(',');
  const perf = spawn('perf', ['stat', '-x,', '-e', 'instructions', '-p', pids], {
    stdio: ['ignore', 'ignore', 'pipe']
  });
  let text = '';
  perf.stderr.setEncoding('utf8').on('data', (more) => (text += more));
  const ended = new Promise((resolve) => perf.once('close', resolve));
  return async () => {
    perf.kill('SIGINT'); // it prints its sums
    await ended;
    return parseCount(text);
  };
}

module.exports = { countInstructions, lacking, parseCount };
