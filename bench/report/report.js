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

module.exports = { conditions, markdown, list, save, fixed, spread, median, badLines };
