'use strict';
// Injects the same faults into the gateway and into common alternatives, and counts the records that each loses.
//   node bench/questions/peers-loss.js --help

const { measure, sleep } = require('../runs/measure');
const { readOptions, fail } = require('../options/options');
const { conditions, markdown, list, save, fixed } = require('../report/report');

/** @typedef {import('../harness/cloud').Cloud} Cloud */
/** @typedef {import('../runs/stage').Stage} Stage */

/** Seconds after the start of the load. */
const schedule = { down: 5, killed: 10, up: 15, end: 20 };

const intro = `Usage: node bench/questions/peers-loss.js [options]

Runs the same load and the same two faults for each system:
  cloud    the cloud's broker stops ${schedule.down} s after the start of the load, for ${schedule.up - schedule.down} s
  gateway  the same, and after ${schedule.killed} s every process of the system is killed (kill -9) and restarted
Devices keep persistent sessions: after a reconnect they resend unacknowledged messages with DUP. 'lost' counts
records whose device has a PUBACK and that never arrived. The cloud stops cleanly and keeps the sessions of its
subscribers, so nothing is lost behind the system.
'persistent' is mosquitto's default persistence (saved at exit and every 30 minutes), 'saved' has autosave_interval 1
(everything, every second); 'nodered-persistent' has persistent sessions and the latter.`;

/** Returns the faults of the cloud, and of the system if `fault` is `gateway`. @param {string} fault */
function faults(fault) {
  /** @type {{restartMs?: number}} */
  const seen = {};
  /** @param {Cloud} cloud @param {number} startMs @param {Stage} stage */
  const during = async (cloud, startMs, stage) => {
    /** @param {number} second */
    const until = (second) => sleep(startMs + second * 1000 - Date.now());
    await until(schedule.down);
    await cloud.stop();
    if (fault === 'gateway' && stage.system) {
      await until(schedule.killed);
      await stage.system.kill();
      seen.restartMs = await stage.system.restart();
    }
    await until(schedule.up);
    await cloud.start();
  };
  return { during, seen };
}

/** @typedef {import('../runs/measure').Result & {fault: string, restartMs?: number}} Run */

/** @param {Run} run */
function row({ fault, system, sent, arrived, verdict, restartMs, cleanEnd }) {
  const lost = verdict ? verdict.lost : 0;
  return [
    fault,
    system,
    sent.sent,
    sent.acked,
    arrived.unique,
    `**${lost}**`,
    `${fixed((lost / Math.max(1, sent.acked)) * 100, 2)} %`,
    arrived.duplicates,
    arrived.duplicatesSameKey,
    arrived.outOfOrder,
    sent.unacked + sent.unsent,
    sent.resent,
    fixed(sent.ackUs.max / 1e6, 1),
    restartMs === undefined ? '–' : fixed(restartMs / 1000, 1),
    cleanEnd ? 'yes' : 'NO'
  ];
}

const head = ['fault', 'system', 'sent', 'acknowledged', 'delivered', 'lost', 'lost of acknowledged'];
head.push('duplicates', 'of these under the same key', 'out of order', 'never acknowledged', 'resent');
head.push('longest wait for a PUBACK s', 'listening again after s', 'clean exit');

async function main() {
  const { profile, names, repeat, out, own } = readOptions(intro, {
    defaults: {
      devices: '200',
      rate: '5',
      seconds: '30',
      repeat: '1',
      systems: 'seganet,nodered,nodered-persistent,mosquitto-bridge-persistent,mosquitto-bridge-saved'
    },
    texts: { faults: ['cloud,gateway', 'comma-separated, of cloud, gateway'] }
  });
  if (profile.seconds < schedule.end) fail(`--seconds must be at least ${schedule.end}`);
  /** @type {string[]} */
  const kinds = own.faults.split(',');
  if (kinds.some((kind) => kind !== 'cloud' && kind !== 'gateway')) fail('--faults: see --help');
  const facts = conditions(profile, repeat);
  /** @type {Run[]} */
  const runs = [];
  let failed = false;
  for (let round = 0; round < repeat; round += 1) {
    for (const fault of kinds) {
      for (const name of names) {
        const { during, seen } = faults(fault);
        const settings = { ...profile, during, quietMs: 15000, loadOptions: { clean: 0 } };
        try {
          const result = await measure(name, settings);
          runs.push({ ...result, fault, ...seen });
          console.error(`${fault} ${name}: lost ${result.verdict?.lost} of ${result.sent.acked}`);
        } catch (error) {
          failed = true;
          console.error(`${fault} ${name} FAILED: ${error}`);
        }
      }
    }
  }
  console.log(`${list(facts)}\n\n${markdown(head, runs.map(row))}`);
  save(out, { conditions: facts, profile, schedule, runs });
  process.exitCode = failed ? 1 : 0;
}

main();
