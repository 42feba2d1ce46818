#!/usr/bin/env node
'use strict';
// seganet-bench: every chapter of bench/chapters, round after round, and a report.  seganet-bench --help

const path = require('node:path');
const { fail } = require('./lib/arguments');
const { loadChapters } = require('./lib/chapter');
const { runAll, turns } = require('./lib/interleave');
const { readPlan } = require('./lib/plan');
const { conditions } = require('./lib/report');
const { loadOf } = require('./lib/load');
const { readResults, sections, reportText, writeReport, writeResults } = require('./lib/results');

async function main() {
  const { plan, out, from, list } = readPlan();
  const all = loadChapters();
  const unknown = plan.only.filter((name) => !all.some((chapter) => chapter.name === name));
  if (unknown.length > 0) fail(`--only: there is no chapter ${unknown.join(', ')}. See --list.`);
  if (from) {
    const results = readResults(from);
    const made = sections(results, all);
    writeReport(out || path.dirname(from), results, made);
    console.log(reportText(results, made));
    return;
  }
  const chosen = all.filter(({ name }) => plan.only.length === 0 || plan.only.includes(name));
  const groups = chosen.map((chapter) => ({ chapter: chapter.name, cases: chapter.cases(plan) }));
  if (list) {
    for (const [i, { name, title, what }] of chosen.entries()) {
      console.log(`${name}: ${title}. ${what}`);
      for (const { key, label } of groups[i].cases) console.log(`  ${key}: ${label}`);
    }
    return;
  }
  const date = new Date().toISOString();
  const folder = out || `seganet-bench-${date.slice(0, 19).replaceAll(':', '')}`;
  const facts = conditions(loadOf(plan, {}), plan.rounds);
  const abort = new AbortController();
  const outcomes = await runAll(turns(groups, plan.rounds), abort.signal, {
    ended: ({ chapter, key, round, error }) =>
      console.error(`round ${round + 1}: ${chapter} ${key}${error ? ` FAILED: ${error}` : ''}`)
  });
  const results = {
    format: /** @type {const} */ (1),
    command: ['seganet-bench', ...process.argv.slice(2)].join(' '),
    date,
    complete: !abort.signal.aborted,
    conditions: facts,
    plan,
    notRun: chosen.flatMap((chapter) =>
      (chapter.lacking?.(plan) ?? []).map((each) => ({ chapter: chapter.name, ...each }))
    ),
    warnings: [],
    outcomes
  };
  writeResults(folder, results);
  const made = sections(results, all);
  writeReport(folder, results, made);
  console.log(reportText(results, made));
  process.exitCode = outcomes.some(({ error }) => error) ? 1 : 0;
}

main();
