'use strict';
// What the questions about paths have in common: an option, namespaces, the tools, and the verdicts at the end.

const { fail } = require('../harness/arguments');
const { build } = require('../harness/build');
const { closing, isInside, obstacle, runInside } = require('../harness/netns');
const { markdown } = require('../report/report');
const { lacking } = require('./conditions');
const { closeLabs } = require('./lab');
const { closeStages } = require('./run');

/** Seconds of a run besides its load: start and stop of a gateway, a broker and a watch. */
const AROUND_S = 12;

/** The option --congestion. @type {[initial: string, what: string]} */
const congestionText = [
  'cubic',
  "TCP congestion control of the gateway's uplink (a Raspberry Pi has cubic); 'system' = the machine's own"
];

/** @param {string} name of --congestion @returns {string} '' = the machine's own */
function congestionOf(name) {
  if (!/^[a-z][a-z0-9_-]{0,14}$/.test(name)) fail(`--congestion must be a name such as cubic, not '${name}'`);
  return name === 'system' ? '' : name;
}

/**
 * Runs the question in a network namespace of its own, where it may use labs and stages.
 * @param {() => Promise<void>} measure
 */
async function runQuestion(measure) {
  if (!isInside()) {
    const why = obstacle() || lacking();
    if (why) fail(why);
    return runInside();
  }
  const close = async () => {
    await closeStages();
    await closeLabs();
  };
  await closing(close, async () => {
    for (const tool of ['sink', 'loadgen']) build(tool);
    await measure();
  });
}

/**
 * Prints the verdicts and the runs that failed, which also set the exit code.
 * @param {import('./cases').Verdict[]} verdicts
 * @param {string[]} failed names of runs
 */
function conclude(verdicts, failed) {
  const rows = verdicts.map(({ line, target, measured, met }) => [
    line,
    target,
    measured,
    met ? 'yes' : 'NO'
  ]);
  if (rows.length > 0) console.log(`\n${markdown(['', 'target', 'measured', 'met'], rows)}`);
  for (const name of failed) console.log(`\nFailed: ${name}`);
  if (failed.length > 0) process.exitCode = 1;
}

module.exports = { AROUND_S, conclude, congestionOf, congestionText, runQuestion };
