'use strict';

const fs = require('node:fs');
const os = require('node:os');
const { execFileSync } = require('node:child_process');
const { sbin } = require('../../test/fixtures/cloud');
const { nodeRedVersion } = require('./nodered');
const { allowedCores } = require('./proc');

/** @param {string} file @param {string[]} args */
function firstLine(file, args) {
  try {
    return execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\n')[0];
  } catch (error) {
    // mosquitto -h prints its version and ends with 3
    return String(/** @type {any} */ (error).stdout || 'unknown').split('\n')[0];
  }
}

/** @param {import('./measure').Profile} profile @param {number} repeat */
function conditions(profile, repeat) {
  const model = fs.readFileSync('/proc/cpuinfo', 'utf8').match(/model name\s*: (.*)/);
  return {
    machine: `${allowedCores().length} cores, ${model ? model[1].trim() : os.arch()}, Linux ${os.release()}`,
    versions: `Node ${process.version}, Node-RED ${nodeRedVersion()}, ${firstLine(sbin('mosquitto'), ['-h'])}`,
    load: `${profile.devices} devices × ${profile.rate} msg/s × ${profile.seconds} s (first ${profile.warmup} s not measured), QoS 1, ${profile.payload} B, every ${profile.alarmEvery}th an alarm; ${repeat} run(s), interleaved`,
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

/** Median, with the range when there is one. @param {(number | undefined)[]} values @param {number} digits */
function spread(values, digits) {
  const known = /** @type {number[]} */ (
    values.filter((value) => value !== undefined && !Number.isNaN(value))
  );
  if (known.length === 0) return '–';
  const text = median(known).toFixed(digits);
  const [low, high] = [Math.min(...known).toFixed(digits), Math.max(...known).toFixed(digits)];
  return low === high ? text : `${text} [${low}..${high}]`;
}

/** @typedef {import('./measure').Result & {round: number}} Run */

/** @type {[string, (run: Run, runs: Run[]) => number | undefined, number][]} */
const columns = [
  ['cores', (run) => run.cores, 3],
  ['ratio to nodered', (run, runs) => ratio(run, runs), 2],
  ['CPU µs/msg', (run) => (run.cores * 1e6 * run.seconds) / run.sent.sent, 1],
  ['RSS MB', (run) => run.rssMB, 0],
  ['p50 ms', (run) => latency(run, 'normal', 'p50'), 2],
  ['p99 ms', (run) => latency(run, 'normal', 'p99'), 2],
  ['alarm p50 ms', (run) => latency(run, 'alarm', 'p50'), 2],
  ['alarm p99 ms', (run) => latency(run, 'alarm', 'p99'), 2],
  ['ack p99 ms', (run) => run.sent.ackUs.p99 / 1000, 2],
  ['lost', (run) => run.verdict && run.verdict.lost, 0],
  ['dup', (run) => (run.forwards ? run.arrived.duplicates : undefined), 0],
  ['out of order', (run) => (run.forwards ? run.arrived.outOfOrder : undefined), 0],
  [
    'records/publish',
    (run) => (run.arrived.publishes ? run.arrived.records / run.arrived.publishes : undefined),
    1
  ],
  ['bad lines', (run) => (run.forwards ? badLines(run) : undefined), 0],
  ['late sends', (run) => run.sent.late, 0]
];

/** Whatever arrived and is not as it must be. @param {import('./measure').Result} run @returns {number} */
function badLines({ arrived }) {
  const { badLines: lines, badRecords, topicMismatches, badKeys, mixedEnvelopes } = arrived;
  return lines + badRecords + topicMismatches + badKeys + mixedEnvelopes;
}

/** @param {Run} run @param {'normal' | 'alarm'} kind @param {string} field */
function latency(run, kind, field) {
  const summary = run.arrived.latencyUs[kind];
  return summary.count > 0 ? summary[field] / 1000 : undefined;
}

/** CPU relative to Node-RED's in the same round. @param {Run} run @param {Run[]} runs */
function ratio(run, runs) {
  const base = runs.find((other) => other.system === 'nodered' && other.round === run.round);
  return base ? run.cores / base.cores : undefined;
}

/** @param {Run[]} runs @returns {string} Markdown */
function table(runs) {
  const names = [...new Set(runs.map((run) => run.system))];
  const rows = names.map((name) => {
    const own = runs.filter((run) => run.system === name);
    return [
      name,
      ...columns.map(([, value, digits]) =>
        spread(
          own.map((run) => value(run, runs)),
          digits
        )
      )
    ];
  });
  const head = ['system', ...columns.map(([title]) => title)];
  return markdown(head, rows);
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

/** Writes the results, without what is too long to read. @param {string} file @param {object} results */
function save(file, results) {
  /** @param {string} name @param {any} value */
  const short = (name, value) => (name === 'samples' ? undefined : value);
  if (file) fs.writeFileSync(file, `${JSON.stringify(results, short, 1)}\n`);
}

/** @param {number | undefined} value @param {number} [digits] */
const fixed = (value, digits = 0) =>
  value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(digits);

module.exports = { conditions, table, markdown, list, save, fixed, spread, median, badLines };
