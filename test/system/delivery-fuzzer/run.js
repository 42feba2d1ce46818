'use strict';
// "Acknowledge messages: delivered" with random flows and functions, deploys and kill -9.
// node native/node/run.js test/system/delivery-fuzzer/run.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const mqtt = require('mqtt');
const { Broker, until } = require('../../../bench/harness/broker');
const { freePort } = require('../../../bench/harness/net');
const { draws, seeded } = require('../../fixtures/random');
const { Fleet, fateOf } = require('./fleet');
const { makeFlow } = require('./flow');
const { GatewayProcess } = require('./gateway-process');

const HELP = `node native/node/run.js test/system/delivery-fuzzer/run.js [--seconds N] [--seed N] [--rounds N]

Each round starts a real Node-RED with a random flow between mqtt devices with "Acknowledge messages: delivered" and an
uplink. Each record carries a program for the two functions of the flow, which call send and done in every order and
phase: later, before, in the turn of another record, several times, never, with an error; in timers, setImmediate and
promises; while others block the event loop. Between them are delay, split, join, batch, junction and link call nodes.
Deploys replace nodes, and kill -9 ends the process at a random acknowledgement. At the end there is silence. It fails if

  - a record was acknowledged, its program sends it, and the cloud does not get it,
  - a record that the flow fails or never ends was acknowledged,
  - a record that the flow delivers was refused,
  - a record has no end after the silence,
  - the process ends, or the log has a fault of the gateway.

  --seconds N   begin no round after this time (60)
  --rounds N    at most this number of rounds (no limit)
  --seed N      repeats the flows and programs of a run (default: from the clock); the seed is printed
`;
const ROUND_MS = 4000;
/** From the broker, once the engine has delivered everything. */
const ARRIVAL_MS = 10000;
/** Longest time in which no record ends, or the engine delivers none, although there are some. */
const STANDSTILL_MS = 60000;

/** Collects the numbers of the records in the cloud. @param {string} url */
async function listen(url) {
  const arrived = new Set();
  const client = mqtt.connect(url, { clientId: 'listener', clean: false, reconnectPeriod: 100 });
  client.on('error', () => {});
  client.on('message', (_topic, payload) => {
    for (const [, id] of payload.toString().matchAll(/\br\\*":(\d+)/g)) arrived.add(Number(id));
  });
  await new Promise((resolve) => client.once('connect', resolve));
  await client.subscribeAsync('#', { qos: 1 });
  return { arrived, end: () => void client.end(true) };
}

/**
 * Waits until nothing is left, as long as something happens.
 * @param {() => number | Promise<number>} left
 */
async function exhausted(left) {
  let [least, leastAt] = [Infinity, Date.now()];
  while (Date.now() - leastAt < STANDSTILL_MS) {
    const now = await left();
    if (now === 0) return;
    if (now < least) [least, leastAt] = [now, Date.now()];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * @param {Fleet} fleet
 * @param {Set<number>} arrived
 * @param {boolean} catches
 * @returns {string[]} findings
 */
function judge(fleet, arrived, catches) {
  return [...fleet.records.values()].flatMap((record) => {
    const { id, p, q, end } = record;
    const fate = fateOf(record, catches);
    const text = `record ${id} (${p.join(' ')} | ${q.join(' ')})`;
    if (end === '') return [`${text} has no end`];
    if (end === 'acknowledged' && fate === 'arrives' && !arrived.has(id))
      return [`${text} was acknowledged and is lost`];
    if (end === 'acknowledged' && fate === 'refused' && !arrived.has(id))
      return [`${text} was acknowledged although the flow did not deliver it`];
    if (end === 'refused' && fate === 'arrives') return [`${text} was refused`];
    return [];
  });
}

/**
 * @param {{ seed: number, url: string, killed: boolean | null }} options killed: null: by chance
 * @returns {Promise<{ findings: string[], summary: string, counts: Record<string, number> }>}
 */
async function round({ seed, url, killed }) {
  const own = draws(seeded(seed));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-delivery-fuzzer-'));
  const { arrived, end } = await listen(url);
  const port = await freePort();
  const options = { seed, url, folder, port };
  const { about, catches } = makeFlow(options);
  const gateway = new GatewayProcess(options);
  const [isKilled, deploys] = [killed ?? own.chance(70), own.chance(50)];
  let acknowledgements = own.between(5, 50);
  /** @type {Promise<void> | null} */
  let killing = null;
  let [deployed, killedAt] = [0, 0];
  await gateway.start();
  const fleet = new Fleet(own, port);
  fleet.onAcknowledged = () => {
    if (!isKilled || killing || --acknowledgements > 0) return;
    killedAt = fleet.records.size;
    killing = gateway.kill().then(() => gateway.start());
  };
  /** @type {string[]} */
  const findings = [];
  try {
    const stop = Date.now() + ROUND_MS;
    let next = Date.now() + own.between(300, 1500);
    while (Date.now() < stop) {
      for (let i = own.between(0, 3); i > 0; i--) fleet.publish();
      await new Promise((resolve) => setTimeout(resolve, own.between(1, 60)));
      if (!deploys || Date.now() < next || killing) continue;
      next = Date.now() + own.between(500, 2000);
      await gateway.deploy(own.pick(['nodes', 'nodes', 'flows', 'full']), ++deployed);
    }
    await killing;
    await exhausted(() => fleet.open);
    const awaited = [...fleet.records.values()].filter(
      (each) => each.end === 'acknowledged' && fateOf(each, catches) === 'arrives'
    );
    const here = () => awaited.every(({ id }) => arrived.has(id));
    await exhausted(async () => (here() ? 0 : gateway.left()));
    await until(here, ARRIVAL_MS, 'arrival').catch(() => {});
    findings.push(...judge(fleet, arrived, catches));
  } catch (error) {
    findings.push(String(/** @type {Error} */ (error).message));
  } finally {
    findings.push(...gateway.faults);
    await fleet.end();
    await gateway.kill();
    end();
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  const ends = (/** @type {string} */ which) =>
    [...fleet.records.values()].filter((each) => each.end === which).length;
  const counts = {
    records: fleet.records.size,
    acknowledged: ends('acknowledged'),
    refused: ends('refused'),
    deploys: deployed,
    kills: killedAt > 0 ? 1 : 0
  };
  const did = `${deployed} deploys, ${killedAt > 0 ? `killed at record ${killedAt}` : 'not killed'}`;
  const summary = `${about}; ${counts.records} records, ${counts.acknowledged} acknowledged, ${counts.refused} refused, ${did}`;
  return { findings, summary, counts };
}

/**
 * @param {{ seconds: number, seed: number, rounds?: number, killed?: boolean | null, say?: (line: string) => void }}
 *   options
 * @returns {Promise<{ findings: string[], summary: string }>}
 */
async function fuzz({ seconds, seed, rounds = Infinity, killed = null, say = () => {} }) {
  const broker = await Broker.start({ log: false });
  /** @type {string[]} */
  const findings = [];
  /** @type {Record<string, number>} */
  const total = { rounds: 0 };
  const end = Date.now() + seconds * 1000;
  try {
    for (let i = 0; Date.now() < end && i < rounds; i++) {
      const own = (seed + i * 7919) % 2 ** 31;
      const { findings: found, summary, counts } = await round({ seed: own, url: broker.plainUrl, killed });
      say(`round ${i} (--seed ${own} --rounds 1): ${summary}`);
      for (const finding of found) say(`  FINDING: ${finding}`);
      findings.push(...found.map((each) => `seed ${own}: ${each}`));
      total.rounds++;
      for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
    }
  } finally {
    await broker.remove();
  }
  const summary = Object.entries(total)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
  return { findings, summary };
}

async function main() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      rounds: { type: 'string', default: '1000000' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) return void process.stdout.write(HELP);
  const [seconds, seed, rounds] = [Number(values.seconds), Number(values.seed), Number(values.rounds)];
  if (!(seconds > 0) || !Number.isInteger(seed) || !(rounds > 0))
    throw new Error('--seconds, --seed and --rounds take a number. See --help.');
  console.log(`seed ${seed}, ${seconds} s`);
  const { findings, summary } = await fuzz({ seconds, seed, rounds, say: console.log });
  console.log(`${summary}; ${findings.length} findings`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

if (require.main === module) {
  main().catch((error) => {
    console.error(error);
    process.exitCode = 2;
  });
}

module.exports = { fuzz };
