'use strict';
// Questions on demand, and a kill -9.  node native/node/run.js test/system/demand/run.js --help

const os = require('node:os');
const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { runDemand } = require('./scenario');

const HELP = `node native/node/run.js test/system/demand/run.js [--devices N] [--seconds N] [--rate N] [--kills N]
  [--sync-ms N] [--seed N]

Ten askers ask about MQTT devices, which lose their connections and return, and the gateway is killed (kill -9) in
between. The command fails if a question that was accepted is not there after a kill, or a device does not have its
normal rate in the end. Times to the answer count from when a question was due, so that a stalled gateway shows.

  --devices N   (1000)
  --seconds N   in which the gateway is asked, without its restarts (60)
  --rate N      questions a second (50)
  --kills N     (2)
  --sync-ms N   how much longer a sync of the file of the questions takes, as on a slow disk (0); needs cc
  --seed N      (default: from the clock); it is printed
`;

async function main() {
  const text = { type: /** @type {const} */ ('string') };
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      devices: text,
      seconds: text,
      rate: text,
      kills: text,
      'sync-ms': text,
      seed: text
    }
  });
  if (values.help) return process.stdout.write(HELP);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const log = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
  log(`seed ${seed}`);
  const found = await runDemand({
    count: Number(values.devices ?? 1000),
    seconds: Number(values.seconds ?? 60),
    perS: Number(values.rate ?? 50),
    kills: Number(values.kills ?? 2),
    syncMs: Number(values['sync-ms'] ?? 0),
    longS: 60,
    random: seeded(seed),
    log
  });
  const {
    asked,
    on,
    waiting,
    refused,
    unanswered,
    answeredPerS,
    onMs,
    sentMs,
    waitingMs,
    lookMs,
    lateMs,
    stuck,
    lost
  } = found;
  log(
    `${asked} questions: ${on} with the rate at once, ${waiting} waited, ${refused} refused, ` +
      `${unanswered} while the gateway was down`
  );
  log(
    `${answeredPerS} answers a second while it was asked; to the answer with the rate p50 ${onMs.p50} ms, ` +
      `p99 ${onMs.p99} ms (from its sending ${sentMs.p50} ms and ${sentMs.p99} ms); without it p50 ${waitingMs.p50} ms, p99 ${waitingMs.p99} ms`
  );
  log(
    `to an answer that needs no disk and no device: p50 ${lookMs.p50} ms, p99 ${lookMs.p99} ms, at most ${lookMs.max} ms; ` +
      `the asker was at most ${lateMs} ms late`
  );
  log(
    `the gateway used ${found.cores} cores; load of the machine: ${found.load.toFixed(1)} with ${os.cpus().length} cores`
  );
  log(`${found.survived} accepted questions were open after a kill; ${lost.length} of them were lost`);
  log(
    `${found.fast} devices had another rate, ${found.commands} commands; ${stuck.length} are stuck, ` +
      `the last restore ${found.restoredAfterS} s after the last question was sent`
  );
  for (const refusal of found.refusals) log(`refused: ${refusal}`);
  process.exitCode = stuck.length + lost.length > 0 || found.fast === 0 ? 1 : 0;
}

void main();
