'use strict';
// Many runs, each with its own seed.  node flows/launcher/run.js test/system/history/run.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { check } = require('./checker');
const { goInside, impossible, isInside, mayUnshare } = require('./namespace');
const { readOptions } = require('./options');
const { bounds, line, table } = require('./report');
const { runOne } = require('./run-one');
const { drawSchedule } = require('./schedule');

/** @typedef {ReturnType<typeof readOptions>} Options */

/** @param {import('./history').Violation[]} violations */
function tell(violations) {
  for (const { what, text, history } of violations.slice(0, 3)) {
    console.log(`    ${what}: ${text}${history.map((each) => `\n      ${each}`).join('')}`);
  }
}

/** Judges a kept history again. @param {string} file */
function checkAgain(file) {
  const { history, settings } = JSON.parse(fs.readFileSync(file, 'utf8'));
  const { violations, ...verdict } = check(history, settings);
  console.log(JSON.stringify(verdict, null, 1));
  tell(violations);
  process.exit(verdict.valid ? 0 : 1);
}

/** @param {Options} options @param {string[]} kinds */
async function runAll(options, kinds) {
  const { seed, runs, seconds, peer, parallel } = options;
  const place = options.out || fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-history-'));
  /** @type {import('./run-one').Result[]} */
  const results = [];
  const started = performance.now();
  let next = seed;
  let failed = 0;
  const one = async () => {
    while (next < seed + runs) {
      const schedule = drawSchedule(next++, { seconds, kinds });
      const folder = path.join(place, `${peer}-${schedule.kind}-${schedule.seed}`);
      fs.rmSync(folder, { recursive: true, force: true });
      fs.mkdirSync(folder, { recursive: true });
      try {
        const result = await runOne(schedule, { peer, folder });
        results.push(result);
        console.log(`${String(results.length).padStart(4)}/${runs}  ${line(result)}`);
        if (result.verdict.valid) fs.rmSync(folder, { recursive: true });
        else tell(result.verdict.violations);
      } catch (error) {
        failed += 1;
        fs.writeFileSync(path.join(folder, 'schedule.json'), JSON.stringify(schedule, null, 1));
        console.log(
          `      seed ${schedule.seed}  ${schedule.kind}  FAILED TO RUN: ${/** @type {Error} */ (error).stack}`
        );
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, runs) }, one));
  results.sort((a, b) => a.schedule.seed - b.schedule.seed);
  return { results, failed, place, minutes: (performance.now() - started) / 60000 };
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(options.help);
    return;
  }
  if (options.check) checkAgain(options.check);
  if (!isInside() && mayUnshare()) goInside();
  const not = impossible(options.kinds);
  const kinds = options.kinds.filter((kind) => !not[kind]);
  // A wish that is named is not left out quietly; of the whole list, what cannot be done here is.
  for (const [kind, why] of Object.entries(not)) console.log(`left out: ${kind}: ${why}`);
  if (kinds.length === 0) process.exit(2);
  const { seed, runs, seconds, peer, parallel } = options;
  console.log(
    `${runs} runs of ${seconds} s against ${peer}, seeds ${seed} to ${seed + runs - 1}, ${parallel} at a time; faults: ${kinds.join(',')}`
  );
  const { results, failed, place, minutes } = await runAll(options, kinds);
  if (results.length > 0) console.log(`\n${table(results)}\n\n${bounds(results)}`);
  const injected = results.reduce((sum, result) => sum + result.injected, 0);
  if (injected > 0) console.log(`Failed writes and syncs: ${injected}.`);
  const bad = results.filter(({ verdict }) => !verdict.valid);
  const again = bad.map(({ schedule }) => schedule.seed).slice(0, 20);
  console.log(
    `${results.length} runs in ${minutes.toFixed(1)} min: ${bad.length} not valid, ${failed} failed to run.`
  );
  if (bad.length > 0)
    console.log(
      `Not valid: seeds ${again.join(', ')}. Their files: ${place}. Again: the same options with --seed N --runs 1.`
    );
  else if (failed === 0 && !options.out) fs.rmSync(place, { recursive: true });
  if (options.json) {
    const rows = results.map(({ schedule, settings, verdict, injected, wallMs }) => ({
      schedule,
      settings,
      injected,
      wallMs,
      verdict
    }));
    fs.writeFileSync(options.json, JSON.stringify({ options, results: rows }, null, 1));
  }
  process.exit(bad.length > 0 || failed > 0 ? 1 : 0);
}

main();
