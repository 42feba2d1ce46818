'use strict';
// Many runs, each with its own seed.  node native/node/run.js test/system/history/run.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { check } = require('./checker');
const { goInside, impossible, isInside, mayUnshare } = require('./namespace');
const { readOptions } = require('./options');
const { bounds, line, table } = require('./report');
const { runOne } = require('./run-one');
const { drawSchedule } = require('./schedule');
const tenants = require('./tenants');

/** @typedef {ReturnType<typeof readOptions>} Options */

/** @param {import('./history').Violation[]} violations */
function tell(violations) {
  for (const { what, text, history } of violations.slice(0, 3)) {
    console.log(`    ${what}: ${text}${history.map((each) => `\n      ${each}`).join('')}`);
  }
}

/** Checks a kept history again. @param {string} file */
function checkAgain(file) {
  const kept = JSON.parse(fs.readFileSync(file, 'utf8'));
  const { violations, ...verdict } = kept.lines ? tenants.check(kept) : check(kept.history, kept.settings);
  console.log(JSON.stringify(verdict, null, 1));
  tell(violations);
  process.exit(verdict.valid ? 0 : 1);
}

/**
 * Every peer gets the same schedules.
 * @param {Options} options @param {string[]} kinds @param {string} place for the files of runs that are not valid
 */
async function runAll({ seed, runs, seconds, peers, parallel }, kinds, place) {
  /** @type {import('./run-one').Result[]} */
  const results = [];
  const total = runs * peers.length;
  let next = 0;
  let failed = 0;
  const worker = async () => {
    while (next < total) {
      const peer = peers[next % peers.length];
      const schedule = drawSchedule(seed + Math.floor(next++ / peers.length), { seconds, kinds });
      const folder = path.join(place, `${peer}-${schedule.kind}-${schedule.seed}`);
      fs.rmSync(folder, { recursive: true, force: true });
      fs.mkdirSync(folder, { recursive: true });
      try {
        const result = await runOne(schedule, { peer, folder });
        results.push(result);
        console.log(`${String(results.length).padStart(4)}/${total}  ${line(result)}`);
        if (result.verdict.valid) fs.rmSync(folder, { recursive: true });
        else tell(result.verdict.violations);
      } catch (error) {
        failed += 1;
        fs.writeFileSync(path.join(folder, 'schedule.json'), JSON.stringify(schedule, null, 1));
        const why = /** @type {Error} */ (error).stack;
        console.log(`      seed ${schedule.seed}  ${peer}  ${schedule.kind}  FAILED TO RUN: ${why}`);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, total) }, worker));
  results.sort((a, b) => a.schedule.seed - b.schedule.seed);
  return { results, failed };
}

/** @param {Options} options @param {string[]} kinds @param {string} place */
async function runGateways(options, kinds, place) {
  const { results, failed } = await runAll(options, kinds, place);
  if (results.length > 0) console.log(`\n${table(results)}\n\n${bounds(results)}`);
  const failures = results.reduce((sum, { injected }) => sum + injected, 0);
  if (failures > 0) console.log(`Failed writes and syncs: ${failures}.`);
  return { results, failed };
}

/** @param {Options} options @param {string[]} kinds @param {string} place */
async function runTenants(options, kinds, place) {
  const { results, failed } = await tenants.runAll(options, kinds, place);
  if (results.length > 0) console.log(`\n${tenants.table(results)}\n`);
  return { results, failed };
}

/** @param {Options} options @param {string[]} kinds @returns {Promise<boolean>} true if all were valid */
async function runAndReport(options, kinds) {
  const { seed, runs, seconds, peers, parallel } = options;
  const place = options.out || fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-history-'));
  const seeds = `seeds ${seed} to ${seed + runs - 1}`;
  console.log(
    `${peers.join(', ')}: ${runs} runs of ${seconds} s, ${seeds}, ${parallel} at a time; faults: ${kinds.join(', ')}`
  );
  const started = performance.now();
  const { results, failed } =
    options.mode === 'tenants'
      ? await runTenants(options, kinds, place)
      : await runGateways(options, kinds, place);
  const bad = results.filter(({ verdict }) => !verdict.valid);
  const minutes = ((performance.now() - started) / 60000).toFixed(1);
  console.log(`${results.length} runs in ${minutes} min: ${bad.length} not valid, ${failed} failed to run.`);
  if (bad.length + failed > 0) {
    const again = bad.map(({ schedule }) => schedule.seed).slice(0, 20);
    console.log(
      `Not valid: seeds ${again.join(', ')}. Their files: ${place}. Again: the same options with --seed N --runs 1.`
    );
  } else if (!options.out) fs.rmSync(place, { recursive: true });
  if (options.json) fs.writeFileSync(options.json, JSON.stringify({ options, results }, null, 1));
  return bad.length + failed === 0;
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
  // Faults that cannot run here are reported, not skipped silently.
  for (const [kind, why] of Object.entries(not)) console.log(`left out: ${kind}: ${why}`);
  const kinds = options.kinds.filter((kind) => !not[kind]);
  if (kinds.length === 0) process.exit(2);
  process.exit((await runAndReport(options, kinds)) ? 0 : 1);
}

main();
