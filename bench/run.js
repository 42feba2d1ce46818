'use strict';
// CPU, memory, latency and loss of the gateway and of what it is compared with, side by side in one run:
//   node bench/run.js --help

const { measure } = require('./lib/measure');
const { readOptions } = require('./lib/options');
const { conditions, table, list, save } = require('./lib/report');

const intro = `Usage: node bench/run.js [options]

Many devices → system → mosquitto (TLS 1.3) → sink, for each system in turn. CPU is user + system time of the
system's whole process group over the steady window; latency runs from the time at which a device meant to
send to the arrival at the sink. 'seganet' batches into envelopes, 'seganet-records' keeps topics and
payloads, 'nodered' is core mqtt nodes and a local mosquitto, 'bare' only reads and acknowledges.`;

/** @param {import('./lib/measure').Result} result */
function oneLine(result) {
  const parts = result.parts.map(({ part, cores }) => `${part} ${cores.toFixed(3)}`).join(' + ');
  const lost = result.verdict ? `, lost ${result.verdict.lost} of ${result.sent.acked}` : '';
  return `${result.system}: ${parts} cores${lost}, late ${result.sent.late}${result.cleanEnd ? '' : ', DID NOT END CLEANLY'}`;
}

async function main() {
  const { profile, names, repeat, out } = readOptions(intro, {
    defaults: { systems: 'seganet,seganet-records,nodered,mosquitto-bridge,bare' }
  });
  const facts = conditions(profile, repeat);
  const runs = [];
  let failed = false;
  for (let round = 0; round < repeat; round += 1) {
    // Another one first in each round, so that no system always has the warm or the cold machine.
    const turn = round % names.length;
    const order = [...names.slice(turn), ...names.slice(0, turn)];
    for (const name of order) {
      try {
        const result = await measure(name, profile);
        runs.push({ ...result, round });
        console.error(`round ${round + 1}/${repeat} ${oneLine(result)}`);
      } catch (error) {
        failed = true;
        console.error(`round ${round + 1}/${repeat} ${name} FAILED: ${error}`);
      }
    }
  }
  console.log(list(facts));
  console.log(`\n${table(runs)}`);
  const starved = runs.filter(({ sent }) => sent.late > sent.sent / 1000).length;
  if (starved > 0) {
    console.log(
      `\nIn ${starved} of ${runs.length} runs over 0.1 % of the sends were late: distrust the latencies.`
    );
  }
  save(out, { conditions: facts, profile, runs });
  process.exitCode = failed ? 1 : 0;
}

main();
