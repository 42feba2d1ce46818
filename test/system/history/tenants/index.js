'use strict';
// Many runs on labs that stay, each with its own seed.

const fs = require('node:fs');
const path = require('node:path');
const { check } = require('./checker');
const { Lab } = require('./lab');
const { runOne } = require('./run-one');
const { drawSchedule } = require('./schedule');

/** @typedef {import('./run-one').Result} Result */

/** Runs of a lab, so that its files stay small. */
const RUNS_OF_LAB = 40;

/** @param {Result} result */
function line({ schedule, verdict, settledMs, wallMs }) {
  const { seed, faults } = schedule;
  const kinds = faults.map(({ kind }) => kind).join('+');
  const counts = Object.entries(verdict.counts).map(([what, count]) => `${what} ${count}`);
  const { acknowledged, lost, doubled, swapped, copies, again, refused } = verdict;
  return [
    `seed ${seed}`.padEnd(9),
    kinds.padEnd(24),
    `acked ${acknowledged}`.padEnd(11),
    `lost ${lost} doubled ${doubled} swapped ${swapped}`,
    `copies ${copies}/${again} refused ${refused}`.padEnd(26),
    `settled ${(settledMs / 1000).toFixed(1)} s`.padEnd(15),
    `${(wallMs / 1000).toFixed(1)} s `,
    verdict.valid ? 'valid' : `NOT VALID: ${counts.join(', ')}`
  ].join(' ');
}

const COLUMNS = /** @type {const} */ ([
  ...['acknowledged', 'delivered', 'lost', 'doubled', 'swapped', 'foreign', 'stuck', 'copies', 'again']
]);

/** @param {Result[]} results @returns {string} a Markdown table */
function table(results) {
  /** @type {Map<string, Record<string, number>>} */
  const rows = new Map();
  for (const { schedule, verdict } of results) {
    for (const name of [schedule.kind, 'all']) {
      const row = rows.get(name) ?? { runs: 0, 'not valid': 0 };
      rows.set(name, row);
      row.runs += 1;
      row['not valid'] += verdict.valid ? 0 : 1;
      for (const column of COLUMNS) row[column] = (row[column] ?? 0) + /** @type {any} */ (verdict)[column];
    }
  }
  const all = ['runs', ...COLUMNS, 'not valid'];
  const names = [...rows.keys()].filter((name) => name !== 'all').sort();
  const cells = [
    ['fault', ...all],
    ['---', ...all.map(() => '---:')],
    ...[...names, 'all'].map((name) => [name, ...all.map((each) => String(rows.get(name)?.[each] ?? 0))])
  ];
  return cells.map((each) => `| ${each.join(' | ')} |`).join('\n');
}

/**
 * @param {{seed: number, runs: number, seconds: number, parallel: number}} options
 * @param {string[]} kinds
 * @param {string} place for the files of labs and of runs that are not valid
 */
async function runAll({ seed, runs, seconds, parallel }, kinds, place) {
  /** @type {Result[]} */
  const results = [];
  let failed = 0;
  let next = 0;
  let labs = 0;
  const worker = async () => {
    while (next < runs) {
      const folder = path.join(place, `lab-${++labs}`);
      fs.mkdirSync(folder);
      const lab = new Lab(folder, {
        isMounting: kinds.includes('volume-full'),
        hasPower: kinds.includes('power-cut')
      });
      let isKept = false;
      try {
        await lab.open();
        if (!lab.hasVolumes && kinds.includes('volume-full'))
          throw new Error(
            'The volumes of the tenants cannot be mounted: leave out volume-full, or run as root.'
          );
        for (let i = 0; i < RUNS_OF_LAB && next < runs && !isKept; i++) {
          const schedule = drawSchedule(seed + next++, { seconds, kinds });
          const own = path.join(place, `run-${schedule.seed}`);
          fs.mkdirSync(own, { recursive: true });
          const result = await runOne(schedule, { lab, folder: own });
          results.push(result);
          console.log(`${String(results.length).padStart(4)}/${runs}  ${line(result)}`);
          for (const { what, text, history } of result.verdict.violations.slice(0, 3))
            console.log(`    ${what}: ${text}${history.map((each) => `\n      ${each}`).join('')}`);
          if (result.verdict.valid) fs.rmSync(own, { recursive: true });
          // A lab in which something went wrong explains no other run.
          isKept = !result.verdict.valid;
        }
      } catch (error) {
        failed += 1;
        isKept = true;
        fs.writeFileSync(path.join(folder, 'output.log'), lab.output);
        console.log(`      FAILED TO RUN: ${/** @type {Error} */ (error).stack}; see ${folder}`);
        if (failed > 5) next = runs;
      } finally {
        const [code] = await lab.close();
        if (!isKept && code !== 0) console.log(`      the front ended with exit code ${code}`);
        if (!isKept) fs.rmSync(folder, { recursive: true, force: true });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, runs) }, worker));
  results.sort((a, b) => a.schedule.seed - b.schedule.seed);
  return { results, failed };
}

module.exports = { check, line, runAll, table };
