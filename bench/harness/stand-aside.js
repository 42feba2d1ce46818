'use strict';
// The command itself belongs to the harness: what it does while it waits (reading /proc, the progress of its tools) must not take the core of
// what is measured. At 64 devices it delayed some two wake-ups a second.

const { execFileSync } = require('node:child_process');
const { allowedCores } = require('./proc');

/** All threads of this process, and what it starts from now on without cores of its own. @param {string} cpus a core list */
function moveTo(cpus) {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', cpus, String(process.pid)], {
    stdio: 'ignore'
  });
}

/**
 * @param {string | undefined} cpus those of the harness; undefined = nothing is pinned
 * @returns {() => void} back to where it was
 */
function standAside(cpus) {
  if (!cpus) return () => {};
  const before = allowedCores().join(',');
  moveTo(cpus);
  return () => moveTo(before);
}

module.exports = { standAside };
