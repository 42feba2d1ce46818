'use strict';
// Odd settings for every variable and every property. node native/node/run.js test/system/settings-fuzzer/run.js
// --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { nodeTypes } = require('./node-types');
const { Bench, drawNode } = require('./nodes');
const { printTable } = require('./table');
const { drawVariables, lineOf, tryVariables } = require('./variables');

const HELP = `Sets odd values and checks the gateway's reactions.

  --seconds N   duration, default 60: half for nodes, half for variables
  --seed N      default: from the clock; it is printed
  --only KIND   nodes or variables
  --nodes N     odd nodes in one deploy, default 30
  --table       prints known bad settings with the sentence and the exit code, as Markdown
  --verbose     prints each case

A node must work or be red with a sentence in the log; a variable must be accepted, or end the start with a sentence that names it
and exit code 78. No setting may end a running gateway, stop its flows, show a stack trace or repeat a secret.
Exit code 1: there was a finding.
`;

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    only: { type: 'string' },
    nodes: { type: 'string', default: '30' },
    table: { type: 'boolean' },
    verbose: { type: 'boolean' }
  }
});

/** @param {number} seed @param {number} seconds @param {string} folder */
async function fuzzNodes(seed, seconds, folder) {
  const types = nodeTypes();
  const end = performance.now() + seconds * 1000;
  let [cases, findings] = [0, 0];
  /** @type {Bench | null} */
  let bench = null;
  for (let round = 0; performance.now() < end; round++) {
    const random = seeded(seed + round);
    const count = Number(options.nodes);
    const nodes = Array.from({ length: count }, (_, i) => drawNode(random, types, `${round}-${i}`)).flat();
    const type = ['full', 'nodes', 'flows'][random.integer(3)];
    if (!bench) {
      bench = new Bench(folder);
      await bench.start();
    }
    const found = await bench.round(nodes, type);
    cases += count;
    findings += found.length;
    if (options.verbose) console.log(`nodes, seed ${seed + round}: ${count} in a deploy of type ${type}`);
    for (const each of found) console.log(`FINDING nodes, seed ${seed + round}: ${each}`);
    if (bench.child?.exit) bench = null;
  }
  const exit = await bench?.stop();
  if (exit && exit.code !== 0) {
    findings += 1;
    console.log(
      `FINDING nodes: the stop ended with ${JSON.stringify(exit)}\n${bench?.child?.output.slice(-2000)}`
    );
  }
  console.log(`nodes: ${cases} cases, ${findings} findings`);
  return findings;
}

/** @param {number} seed @param {number} seconds @param {string} folder */
async function fuzzVariables(seed, seconds, folder) {
  const end = performance.now() + seconds * 1000;
  let [cases, findings] = [0, 0];
  for (; performance.now() < end; cases++) {
    const outcome = await tryVariables(drawVariables(seeded(seed + cases)), folder);
    findings += outcome.findings.length;
    if (options.verbose || outcome.findings.length > 0) {
      console.log(`variables, seed ${seed + cases}: ${lineOf(outcome)}`);
    }
    for (const each of outcome.findings) console.log(`  ${each}`);
  }
  console.log(`variables: ${cases} cases, ${findings} findings`);
  return findings;
}

async function main() {
  if (options.help) return console.log(HELP);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-settings-'));
  try {
    if (options.table) return await printTable(folder);
    const [seed, seconds] = [Number(options.seed), Number(options.seconds)];
    console.log(`seed ${seed}`);
    const kinds = { nodes: fuzzNodes, variables: fuzzVariables };
    const chosen = Object.entries(kinds).filter(([name]) => !options.only || options.only === name);
    let findings = 0;
    for (const [, fuzz] of chosen) findings += await fuzz(seed, seconds / chosen.length, folder);
    process.exitCode = findings > 0 ? 1 : 0;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

void main();
