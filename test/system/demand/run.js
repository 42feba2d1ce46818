'use strict';
// Questions on demand, and a kill -9.  node native/node/run.js test/system/demand/run.js --help

const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { runDemand } = require('./scenario');

const HELP = `node native/node/run.js test/system/demand/run.js [--devices N] [--seconds N] [--rate N] [--seed N]

Ten askers ask about MQTT devices, which lose their connections and return, and the gateway is killed (kill -9) in the
middle. The command fails if a device does not have its normal rate in the end.

  --devices N   (1000)
  --seconds N   (60)
  --rate N      questions a second (50)
  --seed N      (default: from the clock); it is printed
`;

async function main() {
  const text = { type: /** @type {const} */ ('string') };
  const { values } = parseArgs({
    options: { help: { type: 'boolean' }, devices: text, seconds: text, rate: text, seed: text }
  });
  if (values.help) return process.stdout.write(HELP);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const log = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
  log(`seed ${seed}`);
  const found = await runDemand({
    count: Number(values.devices ?? 1000),
    seconds: Number(values.seconds ?? 60),
    perS: Number(values.rate ?? 50),
    random: seeded(seed),
    log
  });
  log(
    `${found.asked} questions: ${found.on} with the rate at once, ${found.waiting} waited, ${found.refused} refused, ` +
      `${found.unanswered} while the gateway was down`
  );
  log(
    `${found.fast} devices had another rate, ${found.commands} commands; ${found.stuck.length} are stuck, ` +
      `the last restore ${found.restoredAfterS} s after the last question was sent`
  );
  process.exitCode = found.stuck.length > 0 || found.fast === 0 ? 1 : 0;
}

void main();
