'use strict';
// Floods of control packets and all other input of hostile devices, beside honest devices.
//   node native/node/run.js test/system/flooder/run.js --help

const { parseArgs } = require('node:util');
const { flood } = require('./flood');

const HELP = `node native/node/run.js test/system/flooder/run.js [--seconds N] [--seed N]

Runs a real gateway (mosquitto as the cloud) with honest devices over MQTT 3.1.1 and 5, with packets in two pieces, CoAP and HTTP: alone for
a tenth of the time, then beside hostile ones that flood it with SUBSCRIBE, UNSUBSCRIBE, PINGREQ, PUBREL, PUBACK and AUTH, chosen and
colliding ids, take-overs, half-open connections, unfinished packets and WebSocket frames, false lengths, CoAP of every kind, and logins.
It fails if

  - the process ends, or an honest device loses its connection or an answer,
  - the honest devices' p99 is over 2 s and over 20 times that of the calm phase,
  - the main thread is blocked for more than 2 s (probed by the metrics), or resident memory is over 800 MiB,
  - a record that was acknowledged to an honest device does not arrive,
  - the counters do not reconcile: received = delivered + held + dropped.

  --seconds N   duration of the flood (60)
  --seed N      repeats the attacks of a run (default: from the clock); the seed is printed
`;

async function main() {
  const { values } = parseArgs({
    options: { seconds: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } }
  });
  if (values.help) return void process.stdout.write(HELP);
  const seconds = Number(values.seconds ?? 60);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  if (!(seconds > 0) || !Number.isInteger(seed)) {
    throw new Error('--seconds must be a number above 0, and --seed a whole number. See --help.');
  }
  console.log(`seed ${seed}, ${seconds} s`);
  const { findings, ...summary } = await flood({ seconds, seed });
  console.log(JSON.stringify(summary, null, 1));
  for (const finding of findings) console.log(`FINDING: ${finding}`);
  console.log(findings.length === 0 ? 'No finding.' : `${findings.length} findings.`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 2;
});
