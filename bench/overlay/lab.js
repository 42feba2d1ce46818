'use strict';
// Criteria that native/overlay/lab measures with NATs and faults: runs it, and reads what it prints.

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../harness/child');
const { haveTool } = require('../harness/tools');
const { FOLDER, findGo } = require('../../native/overlay/go');
const { goEnv, program } = require('./network/programs');
const { lackingNamespaces } = require('./network/star');

const LIMIT_MS = 900_000;
/** Schedules of faults that run at once: they mostly wait. */
const AT_ONCE = 10;
/** Beside its length: the start of a schedule's network, and the time to recover after the last fault. */
const AROUND_MINUTES = 1.5;

/** @returns {string} '' if the lab can run here */
const lackingLab = () =>
  lackingNamespaces() || (haveTool('nft') ? '' : 'The NAT lab needs nft. Debian: apt install nftables.');

/** @param {string} command @returns {boolean} whether the lab of this version has it, as its comment says */
const hasCommand = (command) =>
  fs.readFileSync(path.join(FOLDER, 'lab', 'main.go'), 'utf8').includes(`go run ./lab ${command} `);

/**
 * @param {string[]} args of the lab @param {number} [limitMs]
 * @returns {Promise<{ code: number | null, output: string }>} code: not 0 also if a criterion was missed
 */
async function runLab(args, limitMs = LIMIT_MS) {
  // The fault schedules build a program of their own, whose clock they set.
  const given = args[0] === 'chaos' ? {} : { SEGANET_OVERLAY: program('seganet-overlay') };
  const env = { ...goEnv(), PATH: `${path.dirname(findGo())}:${process.env.PATH}`, ...given };
  const child = new Child(program('lab'), args, { name: `lab ${args[0]}`, cwd: FOLDER, env });
  const timer = setTimeout(() => child.kill('SIGTERM'), limitMs);
  const { code } = await child.exited;
  clearTimeout(timer);
  return { code, output: child.output };
}

/**
 * Reads the lines of `lab matrix`, such as: full port first answer 0.02 s, 290 of 300, direct after 0.10 s (…)
 * @param {string} output
 * @returns {{ a: string, b: string, first: number, answered: number, direct: number | null }[]} s; direct: null = by
 *          the relay
 */
function readMatrix(output) {
  const line = /^(\w+) +(\w+) +first answer ([\d.]+) s, (\d+) of \d+, (?:direct after ([\d.]+) s)?/gm;
  return [...output.matchAll(line)].map(([, a, b, first, answered, direct]) => ({
    a,
    b,
    first: Number(first),
    answered: Number(answered),
    direct: direct === undefined ? null : Number(direct)
  }));
}

/** @param {ReturnType<typeof readMatrix>} pairs */
function matrixFigures(pairs) {
  const withUdp = pairs.filter(({ a, b }) => a !== 'noudp' && b !== 'noudp');
  const most = (/** @type {number[]} */ values) => (values.length > 0 ? Math.max(...values) : undefined);
  const direct = withUdp.flatMap((pair) => (pair.direct === null ? [] : [pair.direct]));
  const firsts = (/** @type {typeof pairs} */ some) => most(some.map(({ first }) => first));
  return {
    pairs: pairs.length,
    connected: pairs.filter(({ answered }) => answered > 0).length,
    direct: direct.length,
    directAfter: most(direct),
    firstWithUdp: firsts(withUdp),
    firstWithoutUdp: firsts(pairs.filter((pair) => !withUdp.includes(pair)))
  };
}

/**
 * Reads the lines of `lab faults`, such as:
 * 8 the direct path falls silent  longest silence 1.55 s (limit 2.0), 190 of 300 answered, 0 out of order, …
 * @param {string} output
 * @returns {Record<string, { silence: number, outOfOrder: number }>} by the scene's name; s
 */
function readFaults(output) {
  const line = /^(\d+ .*?) {2,}longest silence ([\d.]+) s \(.*?(\d+) out of order/gm;
  return Object.fromEntries(
    [...output.matchAll(line)].map(([, name, silence, outOfOrder]) => [
      name.trim(),
      { silence: Number(silence), outOfOrder: Number(outOfOrder) }
    ])
  );
}

/** @param {string} output of `lab sleep` @returns {number | undefined} s */
function readSleep(output) {
  const [, seconds] = output.match(/^first answer ([\d.]+) s/m) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}

/**
 * Reads what `lab mqtt` prints: 11 MQTT: 450 records, 0 lost, 2 copies, 1 connection(s), longest wait 1.8 s
 * @param {string} output
 * @returns {{ records: number, lost: number, connections?: number } | undefined}
 */
function readMqtt(output) {
  const good = output.match(/^11 MQTT: (\d+) records, (\d+) lost, \d+ copies, (\d+) connection/m);
  if (good) return { records: Number(good[1]), lost: Number(good[2]), connections: Number(good[3]) };
  const bad = output.match(/MQTT: (\d+) of (\d+) records lost/);
  return bad ? { records: Number(bad[2]), lost: Number(bad[1]) } : undefined;
}

/**
 * Reads the lines of `lab chaos`, such as: seed 7: passed: full with port, 20 faults, …
 * @param {string} output
 * @returns {{ schedules: number, passed: number, failures: string[] } | undefined}
 */
function readChaos(output) {
  const lines = [...output.matchAll(/^seed \d+: (passed|FAILED): .*$/gm)];
  if (lines.length === 0) return undefined;
  const failures = lines.filter(([, verdict]) => verdict === 'FAILED').map(([line]) => line);
  return { schedules: lines.length, passed: lines.length - failures.length, failures };
}

/**
 * @template T @param {string | string[]} command and its arguments @param {(output: string) => T} read
 * @param {number} [limitMs]
 */
async function measured(command, read, limitMs) {
  const { code, output } = await runLab([command].flat(), limitMs);
  const found = read(output);
  const isEmpty =
    found === undefined || (typeof found === 'object' && Object.keys(Object(found)).length === 0);
  if (isEmpty) {
    throw new Error(`lab ${[command].flat()[0]} ended with ${code}: ${output.slice(-2000)}`);
  }
  return { code, found, output };
}

const matrix = async () => matrixFigures((await measured('matrix', readMatrix)).found);
const faults = async () => (await measured('faults', readFaults)).found;
const relays = async () => (await measured('relays', readFaults)).found;
const mqtt = async () => (await measured('mqtt', readMqtt)).found;

/** @param {{ schedules: number, minutes: number }} sizes @returns {number} minutes that all take */
const chaosMinutes = ({ schedules, minutes }) => Math.ceil(schedules / AT_ONCE) * (minutes + AROUND_MINUTES);

/** @param {{ schedules: number, minutes: number }} sizes */
async function chaos(sizes) {
  const { schedules, minutes } = sizes;
  const numbers = { schedules, minutes, seed: 1, parallel: Math.min(AT_ONCE, schedules) };
  const args = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const limitMs = LIMIT_MS + 2 * chaosMinutes(sizes) * 60_000;
  const { found } = await measured(['chaos', ...args], readChaos, limitMs);
  // A schedule that told nothing has failed, too.
  return { ...found, schedules };
}

const wake = async () => ({ first: (await measured('sleep', readSleep)).found });

module.exports = {
  chaos,
  chaosMinutes,
  faults,
  hasCommand,
  lackingLab,
  matrix,
  matrixFigures,
  mqtt,
  readChaos,
  readFaults,
  readMatrix,
  readMqtt,
  readSleep,
  relays,
  wake
};
