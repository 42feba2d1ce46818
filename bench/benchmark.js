'use strict';
// seganet-bench: runs every chapter of bench/chapters in rounds and writes a report.  seganet-bench --help

const fs = require('node:fs');
const path = require('node:path');
const { stopWithParent } = require('../flows/launcher/together');
const { killAll } = require('./harness/child');
const { fail } = require('./harness/arguments');
const { loadChapters } = require('./options/chapter');
const { runAll, turns } = require('./report/interleave');
const { readPlan } = require('./runs/benchmark-plan');
const { duration, Progress } = require('./report/progress');
const { replaceSection, resultsSection } = require('./report/results-page');
const {
  joinResults,
  readResults,
  reportText,
  sections,
  writeReport,
  writeResults
} = require('./report/results');
const { buildTools, checks, conditions, missingText } = require('./runs/setup');
const { machineWarnings } = require('./report/warnings');

/** @typedef {import('./options/chapter').Chapter} Chapter @typedef {import('./options/chapter').Plan} Plan */
/** @typedef {import('./report/results').Results} Results @typedef {import('./report/interleave').Turn} Turn */

/** The page of results that is kept in the repository. */
const page = path.join(__dirname, 'RESULTS.md');

/** @param {Results} results @param {Chapter[]} chapters @param {string} folder @param {boolean} intoPage */
function report(results, chapters, folder, intoPage) {
  const made = sections(results, chapters);
  writeReport(folder, results, made);
  if (intoPage && !results.complete) console.error('RESULTS.md stays as it is: the run was stopped.');
  else if (intoPage) {
    fs.writeFileSync(page, replaceSection(fs.readFileSync(page, 'utf8'), resultsSection(results, made)));
  }
  console.log(reportText(results, made));
}

/** @param {Chapter[]} chosen @param {Plan} plan */
function tell(chosen, plan) {
  for (const { name, title, what, cases, lacking } of chosen) {
    console.log(`${name}: ${title}. ${what}`);
    for (const { key, seconds } of cases(plan)) console.log(`  ${key} (about ${duration(seconds)})`);
    for (const { label, why } of lacking?.(plan) ?? []) console.log(`  cannot run here: ${label}. ${why}`);
  }
}

/**
 * Ctrl-C ends the running case; a second one ends this process.
 * @param {AbortController} abort
 * @returns {() => void} removes the handlers
 */
function endOnSignals(abort) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const end = () => {
    if (abort.signal.aborted) process.exit(130);
    abort.abort();
    process.stderr.write(
      '\nStopping the run; a report of the results so far follows. Ctrl-C again exits at once.\n'
    );
    killAll();
    // Also ends processes that the case starts before it notices the abort.
    timer = setInterval(killAll, 200);
  };
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);
  for (const signal of signals) process.on(signal, end);
  return () => {
    clearInterval(timer);
    for (const signal of signals) process.off(signal, end);
  };
}

/** Prints a line that the next one replaces. @param {string} line */
function say(line) {
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
}

/**
 * @param {Turn[]} all @param {Plan} plan @param {AbortSignal} signal
 * @param {(outcomes: Results['outcomes']) => void} keep
 */
async function measureAll(all, plan, signal, keep) {
  const progress = new Progress(all);
  say(`${all.length} runs, about ${duration(progress.secondsLeft())}\n`.trimEnd());
  if (process.stderr.isTTY) process.stderr.write('\n');
  /** @type {Results['outcomes']} */
  const kept = [];
  try {
    return await runAll(all, signal, {
      mostSteal: plan.mostSteal,
      started: (turn) => progress.started(turn),
      ended: (outcome, turn) => {
        kept.push(outcome);
        progress.ended(outcome, turn);
        keep(kept);
      }
    });
  } finally {
    progress.close();
  }
}

async function runAllChapters() {
  const { plan, out, from, list, results: intoPage } = readPlan();
  const chapters = loadChapters();
  const unknown = plan.only.filter((name) => !chapters.some((chapter) => chapter.name === name));
  if (unknown.length > 0) fail(`--only: there is no chapter ${unknown.join(', ')}. See --list.`);
  if (from.length > 0) {
    const joined = joinResults(from.map(readResults));
    return report(joined, chapters, out || path.dirname(from[0]), intoPage);
  }

  const chosen = chapters.filter(({ name }) => plan.only.length === 0 || plan.only.includes(name));
  if (list) return tell(chosen, plan);
  // npm ends at a signal without it, and at kill -9 nobody else would end the run.
  const look = stopWithParent();
  const missing = missingText(checks());
  if (missing) fail(missing);
  const unbuilt = buildTools((line) => {
    look();
    say(line);
  }).map(({ name, why }) => `The tool ${name} could not be built: ${why}`);
  say('');
  const groups = chosen.map((chapter) => ({ chapter: chapter.name, cases: chapter.cases(plan) }));
  const all = turns(groups, plan.rounds);
  if (all.length === 0) fail('There is nothing to run: no chapter has such a system. See --list.');
  const date = new Date().toISOString();
  const folder = path.resolve(out || `seganet-bench-${date.slice(0, 19).replaceAll(':', '')}`);
  if (plan.quick) console.error('--quick: one short round to see that it works, not a result.');

  /** @type {Results} */
  const results = {
    format: 1,
    command: ['seganet-bench', ...process.argv.slice(2)].join(' '),
    date,
    complete: false,
    conditions: conditions(plan),
    plan,
    notRun: chosen.flatMap(({ name, lacking }) =>
      (lacking?.(plan) ?? []).map((each) => ({ chapter: name, ...each }))
    ),
    warnings: [...machineWarnings(plan), ...unbuilt],
    outcomes: []
  };
  for (const warning of results.warnings) console.error(`Warning: ${warning}`);
  const abort = new AbortController();
  const release = endOnSignals(abort);
  // Saves after each run, so a crash of the machine does not lose the earlier ones.
  const keep = (/** @type {Results['outcomes']} */ outcomes) =>
    writeResults(folder, { ...results, outcomes });
  results.outcomes = await measureAll(all, plan, abort.signal, keep);
  results.complete = !abort.signal.aborted;
  release();
  writeResults(folder, results);
  report(results, chapters, folder, intoPage);
  console.error(`Written to ${folder}: results.json, report.md and the plots.`);
  // A process or timer that a case left behind must not keep this process alive.
  process.exit(results.complete ? Number(results.outcomes.some(({ error }) => error)) : 130);
}

function main() {
  runAllChapters().catch((error) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  });
}

module.exports = { main };
