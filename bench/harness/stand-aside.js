'use strict';
// Moves the command itself to the harness's cores, so that its work while it waits (reading /proc, progress of its
// tools) does not disturb the measured system. At 64 devices it delayed about two wake-ups per second.

const { execFileSync } = require('node:child_process');
const { allowedCores } = require('./proc');

/**
 * Moves all threads of this process, and future children without their own core list.
 * @param {string} cpus a core list
 */
function moveTo(cpus) {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', cpus, String(process.pid)], {
    stdio: 'ignore'
  });
}

/**
 * @param {string | undefined} cpus cores of the harness; undefined = not pinned
 * @returns {() => void} moves the process back
 */
function standAside(cpus) {
  if (!cpus) return () => {};
  const before = allowedCores().join(',');
  moveTo(cpus);
  return () => moveTo(before);
}

module.exports = { standAside };
