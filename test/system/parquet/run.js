'use strict';
// Parquet files and kill -9.  node native/node/run.js test/system/parquet/run.js --help

const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { killAndCount } = require('./scenario');

const HELP = `node native/node/run.js test/system/parquet/run.js [--points N] [--kills N] [--seed N] [--keep]

MQTT devices publish numbers (QoS 1) to a gateway whose parquet uplink writes them into files, while the gateway is
killed (kill -9) at random moments. At the end DuckDB reads the files, before and after all are merged. The command
fails if an acknowledged number is missing, or occurs more often than its device has sent it.

  --points N    (1000000) of all devices together
  --devices N   (50)
  --kills N     (10)
  --mean N      seconds between two kills, on average (10)
  --keep        keeps the files, and prints their folder
  --seed N      (default: from the clock); it is printed
`;

async function main() {
  const text = { type: /** @type {const} */ ('string') };
  const flag = { type: /** @type {const} */ ('boolean') };
  const { values } = parseArgs({
    options: { help: flag, keep: flag, points: text, devices: text, kills: text, mean: text, seed: text }
  });
  if (values.help) return process.stdout.write(HELP);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const log = (/** @type {string} */ line) =>
    process.stdout.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`);
  log(`seed ${seed}`);
  const found = await killAndCount({
    points: Number(values.points ?? 1000000),
    devices: Number(values.devices ?? 50),
    kills: Number(values.kills ?? 10),
    meanS: Number(values.mean ?? 10),
    keep: values.keep,
    random: seeded(seed),
    log
  });
  const { acked, seconds, drainedS, before, small, merged, after } = found;
  log(
    `${acked} acknowledged in ${seconds.toFixed(1)} s, all in files after ${drainedS.toFixed(1)} s; ${found.killed} kills`
  );
  log(`devices sent ${after.sentAgain} again`);
  log(`before the merge: ${small.files} files, ${(small.bytes / before.rows).toFixed(2)} bytes a row`);
  log(`merge: ${JSON.stringify(merged)}`);
  log(`after the merge: ${JSON.stringify(after)}, ${(merged.bytes / merged.rows).toFixed(2)} bytes a row`);
  if (values.keep) log(found.folder);
  const isGood = after.lost === 0 && after.double === 0 && before.lost === 0;
  log(isGood ? 'good' : 'FAILED');
  process.exitCode = isGood ? 0 : 1;
}

void main();
