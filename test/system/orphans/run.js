'use strict';
// Ends the commands that start other processes in every way, and looks for processes that are left. See --help.

const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { commands, possible } = require('./commands');
const { LIMIT_MS, runRound } = require('./round');

const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL']);
const VICTIMS = /** @type {const} */ (['top', 'group']);
/** Moments after the start, besides the one when all runs. */
const MOMENTS_MS = [300, 1500, 3000];

const HELP = `Usage: node native/node/run.js test/system/orphans/run.js [options]

Starts each command as a user does, sends each signal at several moments, and looks for processes that are left after ${LIMIT_MS / 1000} s. They are found by a folder in their PATH. Exit code 0: none was left; 1: one was, or a command
did not start; 2: wrong options.

  --commands  comma-separated (those that this machine can run): ${Object.keys(commands).join(', ')}
  --signals   comma-separated (all): ${SIGNALS.join(', ')}
  --moments   comma-separated ms after the start, or ready (${[...MOMENTS_MS, 'ready'].join(',')})
  --to        comma-separated (all): top = the process that the user started, group = all of its process group
  --any       N rounds for each command in which any of its processes gets a signal, drawn from the seed (0)
  --seed      of --any (1)
  --help`;

/** @param {string} text @param {readonly string[]} known @returns {string[]} */
function listOf(text, known) {
  const all = text.split(',').map((each) => each.trim());
  const other = all.find((each) => !known.includes(each));
  if (other !== undefined) throw new Error(`'${other}' is none of ${known.join(', ')}.`);
  return all;
}

/** @param {string} text @returns {number} */
function momentOf(text) {
  if (text === 'ready') return -1;
  if (!/^\d{1,6}$/.test(text)) throw new Error(`'${text}' is no number of ms, and not ready.`);
  return Number(text);
}

/** @param {string[]} args @returns {import('./round').Round[] | null} null: print the help */
function roundsOf(args) {
  const text = /** @type {const} */ ({ type: 'string' });
  const options = { commands: text, signals: text, moments: text, to: text, any: text, seed: text };
  const { values } = parseArgs({ args, options: { ...options, help: { type: 'boolean' } } });
  if (values.help) return null;
  const names = values.commands ? listOf(values.commands, Object.keys(commands)) : possible();
  const signals = /** @type {NodeJS.Signals[]} */ (
    values.signals ? listOf(values.signals, SIGNALS) : [...SIGNALS]
  );
  const victims = /** @type {('top' | 'group')[]} */ (values.to ? listOf(values.to, VICTIMS) : [...VICTIMS]);
  const moments = (values.moments ?? [...MOMENTS_MS, 'ready'].join(',')).split(',').map(momentOf);
  const [any, seed] = [values.any ?? '0', values.seed ?? '1'].map((each) => {
    if (!/^\d{1,9}$/.test(each)) throw new Error(`'${each}' is no whole number.`);
    return Number(each);
  });
  const random = seeded(seed);
  const drawn = names.flatMap((command) =>
    Array.from({ length: any }, () => ({
      command,
      atMs: random.integer(3) === 0 ? 500 + random.integer(4000) : -1,
      signal: signals[random.integer(signals.length)],
      victim: random.integer(1 << 20) / (1 << 20)
    }))
  );
  const top = names.flatMap((command) =>
    signals.flatMap((signal) =>
      moments.flatMap((atMs) => victims.map((victim) => ({ command, signal, atMs, victim })))
    )
  );
  return values.any && !values.moments ? drawn : [...top, ...drawn];
}

async function main() {
  let rounds;
  try {
    rounds = roundsOf(process.argv.slice(2));
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    return 2;
  }
  if (!rounds) {
    console.log(HELP);
    return 0;
  }
  let failed = 0;
  for (const round of rounds) {
    const { command, signal, atMs, victim } = round;
    const what =
      `${command.padEnd(9)} ${signal.padEnd(8)} ${atMs < 0 ? 'ready' : `${atMs} ms`}`.padEnd(28) +
      `${typeof victim === 'number' ? 'any' : victim}`.padEnd(6);
    try {
      const { left, files, endedMs, victim: line, output } = await runRound(round);
      const whom = typeof victim === 'number' ? `  to ${line.slice(0, 110)}` : '';
      const rest = files.length > 0 ? `  files left: ${files.join(' ')}` : '';
      console.log(`${what} ended after ${`${endedMs} ms`.padStart(8)}, ${left.length} left${rest}${whom}`);
      for (const each of left) console.log(`    ${each.slice(0, 200)}`);
      if (left.length === 0) continue;
      console.log(output.replace(/^/gm, '    | '));
    } catch (error) {
      console.log(`${what} FAILED TO RUN: ${/** @type {Error} */ (error).message}`);
    }
    failed++;
  }
  console.log(`${rounds.length} rounds, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

if (require.main === module) main().then((code) => (process.exitCode = code));

module.exports = { roundsOf };
