'use strict';
// Counts the calls of futex(2) with which a thread waits for a mutex that another one holds: the value 2 is that of a
// contended mutex of glibc. A condition variable, which is no contention, has other values.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { haveTool } = require('../harness/tools');
const { eventsByKind } = require('./figures');

const PERF_FILTER = 'op == 128 && val == 2';
const STRACE_WAIT = /FUTEX_WAIT(_PRIVATE)?, 2\b/;

/** @typedef {{name: string, isRealtime: boolean, command: (file: string) => string[],
 *             read: (file: string) => string}} Tracer isRealtime: its times are, and not monotonic ones */

/** @type {Tracer[]} */
const TRACERS = [
  {
    name: 'perf',
    isRealtime: false,
    command: (file) => [
      ...['perf', 'record', '-q', '-k', 'mono', '-e', 'syscalls:sys_enter_futex'],
      ...['--filter', PERF_FILTER, '-o', file, '--']
    ],
    read: (file) =>
      execFileSync('perf', ['script', '-i', file, '-F', 'tid,time'], {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        stdio: ['ignore', 'pipe', 'ignore']
      })
  },
  {
    name: 'strace',
    isRealtime: true,
    command: (file) => ['strace', '-f', '--seccomp-bpf', '-ttt', '-e', 'trace=futex', '-o', file],
    read: (file) =>
      fs
        .readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => STRACE_WAIT.test(line))
        .join('\n')
  }
];

/**
 * Runs the program once more under the first tracer that works here.
 * @param {(tracer: string[]) => import('./figures').Output} run starts the program behind a command
 * @returns {{by: string, perThousand: Record<string, number>} | undefined} undefined: none works
 */
function lockWaits(run) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-cores-'));
  try {
    for (const { name, isRealtime, command, read } of TRACERS) {
      if (!haveTool(name)) continue;
      const file = path.join(folder, name);
      try {
        const output = run(command(file));
        return { by: name, perThousand: eventsByKind(read(file), output, isRealtime) };
      } catch (error) {
        console.error(`${name} does not count here: ${String(error).split('\n').slice(0, 2).join(' ')}`);
      }
    }
    return undefined;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

module.exports = { lockWaits };
