'use strict';
// Criteria that native/overlay/lab measures with NATs and faults: runs it, and reads what it prints.

const { Child } = require('../harness/child');
const { haveTool } = require('../harness/tools');
const { FOLDER } = require('../../native/overlay/go');
const { goEnv, program } = require('./network/programs');
const { lackingNamespaces } = require('./network/star');

const LIMIT_MS = 900_000;

/** @returns {string} '' if the lab can run here */
const lackingLab = () =>
  lackingNamespaces() || (haveTool('nft') ? '' : 'The NAT lab needs nft. Debian: apt install nftables.');

/**
 * @param {string[]} args of the lab
 * @returns {Promise<{ code: number | null, output: string }>} code: not 0 also if a criterion was missed
 */
async function runLab(args) {
  const child = new Child(program('lab'), args, {
    name: `lab ${args[0]}`,
    cwd: FOLDER,
    env: { ...goEnv(), SEGANET_OVERLAY: program('seganet-overlay') }
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), LIMIT_MS);
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
    ...{ a, b, first: Number(first), answered: Number(answered) },
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

/** @template T @param {string} command @param {(output: string) => T} read */
async function measured(command, read) {
  const { code, output } = await runLab([command]);
  const found = read(output);
  const isEmpty = found === undefined || Object.keys(Object(found)).length === 0;
  if (isEmpty && typeof found !== 'number') {
    throw new Error(`lab ${command} ended with ${code}: ${output.slice(-2000)}`);
  }
  return { code, found, output };
}

const matrix = async () => matrixFigures((await measured('matrix', readMatrix)).found);
const faults = async () => (await measured('faults', readFaults)).found;
const relays = async () => (await measured('relays', readFaults)).found;
const wake = async () => ({ first: (await measured('sleep', readSleep)).found });

module.exports = {
  faults,
  lackingLab,
  matrix,
  matrixFigures,
  readFaults,
  readMatrix,
  readSleep,
  relays,
  wake
};
