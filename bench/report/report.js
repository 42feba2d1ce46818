'use strict';

const fs = require('node:fs');
const os = require('node:os');
const { execFileSync } = require('node:child_process');
const { sbin } = require('../harness/cloud');
const { nodeRedVersion } = require('../harness/nodered');
const { allowedCores } = require('../harness/proc');

/** @param {string} file @param {string[]} args */
function firstLine(file, args) {
  try {
    return execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\n')[0];
  } catch (error) {
    // mosquitto -h prints its version and ends with 3
    return String(/** @type {any} */ (error).stdout || 'unknown').split('\n')[0];
  }
}

/** @param {import('../runs/measure').Profile} profile @param {number} repeat */
function conditions(profile, repeat) {
  const model = fs.readFileSync('/proc/cpuinfo', 'utf8').match(/model name\s*: (.*)/);
  return {
    machine: `${allowedCores().length} cores, ${model ? model[1].trim() : os.arch()}, Linux ${os.release()}`,
    versions: `Node ${process.version}, Node-RED ${nodeRedVersion()}, ${firstLine(sbin('mosquitto'), ['-h'])}`,
    load: `${profile.devices} devices × ${profile.rate} msg/s × ${profile.seconds} s (warm-up ${profile.warmup} s), QoS 1, ${profile.payload} B, every ${profile.alarmEvery}th an alarm; interleaved rounds: ${repeat}`,
    pinned: profile.gatewayCpus
      ? `system on core(s) ${profile.gatewayCpus}; generator, cloud and sink on ${profile.harnessCpus}`
      : 'not pinned: system and harness share all cores',
    loadAverageBefore: os
      .loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')
  };
}

/** @param {number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Formats the median, with the range if values differ.
 * @param {(number | undefined)[]} values @param {number} digits
 */
function spread(values, digits) {
  const known = /** @type {number[]} */ (
    values.filter((value) => value !== undefined && !Number.isNaN(value))
  );
  if (known.length === 0) return '–';
  const text = median(known).toFixed(digits);
  const [low, high] = [Math.min(...known).toFixed(digits), Math.max(...known).toFixed(digits)];
  return low === high ? text : `${text} [${low}..${high}]`;
}

/** Returns the number of malformed or misplaced records. @param {import('../runs/measure').Result} run @returns {number} */
function badLines({ arrived }) {
  const { badLines: lines, badRecords, topicMismatches, badKeys, mixedEnvelopes } = arrived;
  return lines + badRecords + topicMismatches + badKeys + mixedEnvelopes;
}

/** @param {string[]} head @param {(string | number)[][]} rows */
function markdown(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** @param {Record<string, string>} facts */
function list(facts) {
  return Object.entries(facts)
    .map(([name, value]) => `- ${name}: ${value}`)
    .join('\n');
}

/** Writes the results without their samples. @param {string} file @param {object} results */
function save(file, results) {
  /** @param {string} name @param {any} value */
  const short = (name, value) => (name === 'samples' ? undefined : value);
  if (file) fs.writeFileSync(file, `${JSON.stringify(results, short, 1)}\n`);
}

/** @param {number | undefined} value @param {number} [digits] */
const fixed = (value, digits = 0) =>
  value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(digits);

/**
 * @typedef {import('../options/chapter').Outcome} Outcome
 * @typedef {[title: string, value: (result: any) => number | undefined, digits: number][]} Columns
 */

/** @param {Outcome[]} outcomes @param {string} key @returns {any[]} results of the rounds that have one */
const resultsOf = (outcomes, key) =>
  outcomes
    .filter((each) => each.key === key && each.result && !each.result.isLeftOut)
    .map(({ result }) => result);

/**
 * Returns a cell for each column: the median over the results, with the range.
 * @param {any[]} results @param {Columns} columns
 */
const cells = (results, columns) =>
  columns.map(([, value, digits]) =>
    spread(
      results.map((result) => value(result)),
      digits
    )
  );

/** @param {Columns} columns */
const titles = (columns) => columns.map(([title]) => title);

/**
 * Returns a table with a row for each group of results.
 * @param {string[]} first titles of the columns before `columns`
 * @param {{ name: (string | number)[], results: any[] }[]} groups name: cells of these columns
 * @param {Columns} columns
 * @returns {string} Markdown; '' = there are no results
 */
function columnTable(first, groups, columns) {
  const rows = groups
    .filter(({ results }) => results.length > 0)
    .map(({ name, results }) => [...name, ...cells(results, columns)]);
  return rows.length > 0 ? markdown([...first, ...titles(columns)], rows) : '';
}

/**
 * Returns the median and the range of some values.
 * @param {string} name @param {(number | undefined)[]} values of the rounds @param {string} [target]
 * @returns {import('../options/chapter').Ratio[]} empty: no value is known
 */
function ratioOf(name, values, target) {
  const known = /** @type {number[]} */ (values.filter((value) => Number.isFinite(value)));
  if (known.length === 0) return [];
  return [{ name, target, median: median(known), low: Math.min(...known), high: Math.max(...known) }];
}

/**
 * Returns the first line of an error. If that announces the output of a program, the last line of the output follows.
 * @param {unknown} error @returns {string}
 */
function headline(error) {
  const [first, ...rest] = String(error).trim().split('\n');
  return first.endsWith(':') && rest.length > 0
    ? `${first} ${/** @type {string} */ (rest.at(-1)).trim()}`
    : first;
}

module.exports = {
  badLines,
  cells,
  columnTable,
  conditions,
  fixed,
  headline,
  list,
  markdown,
  median,
  ratioOf,
  resultsOf,
  save,
  spread,
  titles
};
