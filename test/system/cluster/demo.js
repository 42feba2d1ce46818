'use strict';
// npm run cluster: three gateways of the preset "cluster" on this machine, of which one burns every ten seconds.

const { fork } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { kafkaTools } = require('../../../bench/harness/kafka/broker');
const { eventually } = require('../../../bench/harness/net');
const { haveTool } = require('../../../bench/harness/tools');
const { load } = require('../kafka/chaos/gateway-process');
const { Arrivals } = require('./arrivals');
const { Machines } = require('./machines');

const DEVICES = 60;
const RATE = 600;
const SECONDS = 60;
const BURN_MS = 10000;
const AWAY_MS = 3000;
const LOOK_MS = 200;
const ARRIVE_MS = 180000;

const HELP = `npm run cluster

Starts three gateways, three Kafka brokers and a broker as the cloud on loopback, and ${DEVICES} devices that send ${RATE}
records a second. Every ten seconds a gateway burns: its process is killed and its folder removed. It starts again with
nothing, and the next one burns when it is back. Each line says what arrived in the cloud in a second. It ends after a
minute or with Ctrl-C, and tells whether a record was lost that a device had an acknowledgement for; exit code 1 if so.
`;

const REMEDIES = {
  java: 'Java 17 or newer (Debian: apt-get install default-jre-headless)',
  mosquitto: 'mosquitto (Debian: apt-get install mosquitto)',
  kafka: 'Kafka, which ".ci/kafka" gets with Maven: SEGANET_KAFKA=$(.ci/kafka) npm run cluster'
};

/** @param {string} sentence */
const say = (sentence) => console.log(`${new Date().toTimeString().slice(0, 8)}  ${sentence}`);
const count = (/** @type {number} */ number) => number.toLocaleString('en-US');

/** @returns {string} what is missing, and how to get it; '' = nothing */
function missing() {
  const [java, kafka] = kafkaTools();
  const lacking = [
    ...(haveTool(java) ? [] : [REMEDIES.java]),
    ...(haveTool('mosquitto') ? [] : [REMEDIES.mosquitto]),
    ...(haveTool(kafka) ? [] : [REMEDIES.kafka])
  ];
  return lacking.length > 0 ? `npm run cluster needs:\n  ${lacking.join('\n  ')}` : '';
}

/** Tells what arrived since the last call. */
class Teller {
  constructor() {
    this.arrivals = new Arrivals();
    /** @type {Map<string, number>} */
    this.senders = new Map();
    this.before = 0;
  }

  /** @param {string} line @param {string} gateway */
  add(line, gateway) {
    this.arrivals.add(line, gateway);
    this.senders.set(gateway, (this.senders.get(gateway) ?? 0) + 1);
  }

  tell() {
    const { records } = this.arrivals;
    const parts = [...this.senders].sort().map(([gateway, sent]) => `${gateway} ${count(sent)}`);
    say(
      `${count(records.size - this.before)} records arrived${parts.length > 0 ? ` (sent by ${parts.join(', ')})` : ''}`
    );
    this.before = records.size;
    this.senders.clear();
  }
}

/**
 * Burns a gateway every ten seconds, or later if the one before is not back yet.
 * @param {Machines} machines
 * @param {AbortSignal} signal
 */
async function burnInTurn({ all }, signal) {
  for (let turn = 0; ; turn++) {
    const machine = all[turn % all.length];
    await sleep(BURN_MS - AWAY_MS, undefined, { signal });
    await machine.burnGateway();
    say(`${machine.name} burns: its process is killed, and its folder removed`);
    await sleep(AWAY_MS, undefined, { signal });
    await machine.start();
    say(`${machine.name} starts again, with nothing`);
    while ((await machine.problem()) !== '') await sleep(LOOK_MS, undefined, { signal });
    say(`${machine.name} is back`);
  }
}

/** @param {AbortController} ending @returns {Promise<number>} the exit code */
async function run(ending) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-cluster-'));
  const teller = new Teller();
  const { signal } = ending;
  say('three Kafka brokers, a broker as the cloud and three gateways start; this takes half a minute');
  const machines = await Machines.start((line, gateway) => teller.add(line, gateway));
  try {
    if (signal.aborted) return 0;
    say(`${DEVICES} devices connect by a load balancer, and send ${RATE} records a second`);
    const timer = setInterval(() => teller.tell(), 1000);
    const burning = burnInTurn(machines, signal).catch(() => {}); // aborted
    const { port } = machines.balancer;
    const out = path.join(folder, 'load.json');
    const { streams } = await load(
      {
        port,
        out,
        devices: DEVICES,
        rate: RATE / DEVICES,
        seconds: SECONDS,
        payload: 120,
        arrivals: 'poisson',
        shares: '1:10,2:10,3:60,4:20'
      },
      signal
    );
    ending.abort();
    await burning;
    const { arrivals } = teller;
    await eventually(() => arrivals.compare(streams).lost.length === 0, { timeoutMs: ARRIVE_MS }).catch(
      () => {}
    );
    clearInterval(timer);
    const { acked, lost } = arrivals.compare(streams);
    say(
      `${count(lost.length)} lost: ${count(acked)} records were acknowledged to their devices, and ${count(acked - lost.length)} of them are in the cloud, ` +
        `${count(arrivals.disorder)} out of order. ${count(arrivals.copies)} copies were recognized.`
    );
    return lost.length + arrivals.disorder > 0 ? 1 : 0;
  } finally {
    await machines.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A terminal sends Ctrl-C to all processes of its group, and the brokers must outlive it: they have another group. */
function startApart() {
  const child = fork(__filename, { detached: true });
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(name, () => child.send('end'));
  child.once('exit', (code) => process.exit(code ?? 1));
}

async function main() {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(HELP);
    return;
  }
  const lacks = missing();
  if (lacks) {
    process.stderr.write(`${lacks}\n`);
    process.exitCode = 1;
    return;
  }
  if (!process.send) return startApart();
  const ending = new AbortController();
  process.on('message', () => ending.abort());
  process.on('disconnect', () => ending.abort());
  process.exit(await run(ending));
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
