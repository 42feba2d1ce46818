'use strict';
// Seeded faults of a pair of gateways.  node native/node/run.js test/system/pair/run.js --help

const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { FAULTS, Scene, sleep } = require('./scenario');

const HELP = `node native/node/run.js test/system/pair/run.js [--runs N] [--seed N] [--fault TEXT] [--verbose]

A pair of gateways with its log in PostgreSQL, on two machines with Patroni and etcd and a witness, takes records of
devices with acknowledge: replicated. Faults come at seeded moments:
${Object.keys(FAULTS)
  .map((name) => `  ${name}`)
  .join('\n')}
The command fails if a record with an acknowledgement is lost, if first copies of a device and class arrive out of order,
if a record that its device sent once arrives with two keys, if a transaction of an earlier owner of the log is behind
one of a later owner, or if the pair does not work again after a fault, which is then the last one. It needs root,
PostgreSQL, Patroni, etcd, nft and mosquitto.

  --runs N      faults (20)
  --seed N      (default: from the clock); it is printed
  --fault TEXT  only faults whose name contains it
  --verbose     prints what the gateways print
`;

const SETTLE_MS = 90000;

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      runs: { type: 'string' },
      seed: { type: 'string' },
      fault: { type: 'string' },
      verbose: { type: 'boolean' }
    }
  });
  if (values.help) return process.stdout.write(HELP);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const runs = Number(values.runs ?? 20);
  const names = Object.keys(FAULTS).filter((name) => name.includes(values.fault ?? ''));
  if (names.length === 0) throw new Error(`No fault contains "${values.fault}". See --help.`);
  const log = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
  log(`seed ${seed}`);
  const { failures, ...sum } = await runFaults({
    runs,
    seed,
    names,
    log,
    isVerbose: values.verbose === true
  });
  log(
    `${sum.runs} faults, ${sum.acked} acknowledged: ${sum.lost} lost, ${sum.disorder} out of order, ${sum.copies} copies, ` +
      `${sum.otherKey} with another key, ${sum.fenced} gateways refused after a takeover, ${sum.reboots} machines rebooted, ` +
      `${sum.rebuilt} databases copied; ${sum.transactions} transactions of ${sum.owners} owners, ${sum.late} late`
  );
  process.exitCode = failures > 0 ? 1 : 0;
}

/**
 * @param {{ runs: number, seed: number, names: string[], log: (line: string) => void, isVerbose?: boolean }} options
 */
async function runFaults({ runs, seed, names, log, isVerbose = false }) {
  const random = seeded(seed);
  const scene = new Scene();
  let [done, errors] = [0, 0];
  try {
    await scene.start();
    for (; done < runs && errors === 0; done++) {
      const name = names[random.integer(names.length)];
      await sleep(500 + random.integer(1500));
      try {
        log(`${done + 1} ${await inject(scene, name, random)}`);
      } catch (error) {
        errors++;
        log(`${done + 1} ${name}${scene.notes}: ${/** @type {Error} */ (error).message}`);
      }
    }
    const verdict = /** @type {import('./devices').Verdict} */ (await scene.devices?.finish(SETTLE_MS));
    const { acked, lost, disorder, copies, otherKey } = verdict;
    const fenced = Object.values(scene.members).reduce((sum, member) => sum + member.fenced, 0);
    const owners = await scene.owners();
    const failures = lost.length + disorder + otherKey + owners.late + errors;
    if (lost.length > 0) log(`lost: ${lost.slice(0, 20).join(', ')}`);
    if (isVerbose || failures > 0) {
      for (const { name, child } of Object.values(scene.members))
        log(`${name}:\n${child?.output.slice(-5000)}`);
    }
    const { reboots, rebuilt } = scene;
    const counts = { acked, lost: lost.length, disorder, copies, otherKey, fenced, ...owners };
    return { runs: done, reboots, rebuilt, ...counts, failures };
  } finally {
    await scene.end();
  }
}

/**
 * Injects one fault, and waits until both machines work again.
 * @param {Scene} scene @param {string} name @param {ReturnType<typeof seeded>} random
 * @returns {Promise<string>} what happened
 */
async function inject(scene, name, random) {
  scene.notes = '';
  scene.devices?.gaps();
  const active = await scene.active();
  const before = performance.now();
  await FAULTS[name](scene, active, random);
  const now = await scene.active();
  await scene.pair?.replicated();
  const gap = Math.max(...(scene.devices?.gaps() ?? []));
  const verdict = scene.devices?.verdict();
  return (
    `${name}${scene.notes}: ${active} → ${now}, ${Math.round(performance.now() - before)} ms, longest wait of a device ` +
    `${gap} ms, ${verdict?.acked} acknowledged, ${verdict?.disorder} out of order`
  );
}

if (require.main === module) {
  main().catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  });
}

module.exports = { runFaults };
