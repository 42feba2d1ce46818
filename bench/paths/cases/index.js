'use strict';
// The cases of bench/questions/paths.js: each file of this folder is one.

const fs = require('node:fs');
const path = require('node:path');

/**
 * @typedef {object} Context of one run
 * @property {import('../lab').PathsLab} lab opened for this run, and closed after it
 * @property {Options} options
 * @property {(plan: import('../run').PathsPlan) => Promise<import('../run').PathsResult>} measure measurePaths() on the
 *          lab, with the user's options
 *
 * @typedef {object} Run
 * @property {string} key @property {string} label @property {number} seconds of load
 * @property {object} [lab] options of PathsLab.open()
 * @property {(context: Context) => Promise<any>} run resolves to its result
 *
 * @typedef {{quick: boolean, rounds: number, congestion: string, env: Record<string, string>}} Options
 * @typedef {{name: string, key: string, label: string, round: number, result?: any, error?: string}} Outcome of a run;
 *          a case gets those with a result
 * @typedef {{line: string, target: string, measured: string, met: boolean}} Verdict
 *
 * @typedef {object} Case
 * @property {string} name as in --only @property {string} title of its table
 * @property {string} what one sentence for --help
 * @property {(options: Options) => Run[]} runs
 * @property {(outcomes: Outcome[], options: Options) => string} table Markdown; some runs may be missing
 * @property {(outcomes: Outcome[], options: Options) => Verdict[]} verdicts
 * @property {(result: any) => string} [brief] a line of progress
 */

/** The order of the tables; other files of the folder follow by name. */
const first = ['aggregation.js', 'death.js', 'backup.js', 'urgent.js'];

/** @param {string} file */
const rank = (file) => (first.includes(file) ? first.indexOf(file) : first.length);

/** @returns {Case[]} */
function loadCases() {
  const files = fs.readdirSync(__dirname).filter((file) => file.endsWith('.js') && file !== 'index.js');
  files.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return files.map((file) => require(path.join(__dirname, file)));
}

module.exports = { loadCases };
