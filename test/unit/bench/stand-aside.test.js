'use strict';

const fs = require('node:fs');
const { execFileSync } = require('node:child_process');
const { allowedCores } = require('../../../bench/harness/proc');
const { standAside } = require('../../../bench/harness/stand-aside');
const { needs } = require('../../../bench/harness/tools');

const { test } = needs('taskset', ...(allowedCores().length > 1 ? [] : ['two cores']));

/** @returns {string[]} core lists of all threads of this process, each once */
function threads() {
  const lists = fs
    .readdirSync('/proc/self/task')
    .map((tid) =>
      fs.readFileSync(`/proc/self/task/${tid}/status`, 'utf8').match(/Cpus_allowed_list:\s*(\S+)/)
    );
  return [...new Set(lists.map((found) => found?.[1] ?? ''))];
}

test('moves all threads, and children without cores of their own, to the cores of the harness and back', () => {
  const before = threads();
  const last = String(allowedCores().at(-1));
  const comeBack = standAside(last);
  try {
    expect(threads()).toEqual([last]);
    expect(execFileSync('taskset', ['-pc', String(process.pid)], { encoding: 'utf8' })).toMatch(
      new RegExp(`: ${last}\n$`)
    );
  } finally {
    comeBack();
  }
  expect(threads()).toEqual(before);
});

test('moves no process without pinning', () => {
  const before = threads();
  standAside(undefined)();
  expect(threads()).toEqual(before);
});
