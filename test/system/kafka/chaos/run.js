'use strict';
// Brokers die under load.  SEGANET_KAFKA=$(.ci/kafka) npm run test:kafka -- --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readArguments } = require('../../../../bench/harness/arguments');
const { KafkaBroker, kafkaTools } = require('../../../../bench/harness/kafka/broker');
const { KafkaClient } = require('../../../../bench/harness/kafka/client');
const { KafkaCluster } = require('../../../../bench/harness/kafka/cluster');
const { Gateway, load } = require('./gateway-process');
const { eventually } = require('../../../../bench/harness/net');
const { haveTool } = require('../../../../bench/harness/tools');
const { Verdict } = require('../../../../bench/harness/kafka/verdict');

const intro = `Usage: SEGANET_KAFKA=$(.ci/kafka) npm run test:kafka -- [options]

Devices publish over MQTT with QoS 1 to an engine with a log, whose kafka uplink writes to real brokers. The brokers are
killed with SIGKILL and started again. At the end all topics are read: no acknowledged record may be missing, and the
first copies of the records of a device and class must be in order, live and historical ones each. With --brokers=3 the
broker that leads the partition of the first device is killed; with --brokers=1, the only one. Exit code 1 if a record
is lost or out of order, or if no verdict is possible.`;

const TOPICS = ['seganet.critical', 'seganet.normal'];
const READ_MS = 1800000;
/** Length of the load of one generator. */
const SLICE_S = 20;
/** The uplink has nothing left to send if Kafka gets no record for this time. */
const QUIET_MS = 60000;
const PROGRESS_MS = 15000;
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const note = (/** @type {string} */ text) =>
  console.log(`${new Date().toISOString().slice(11, 19)}  load ${os.loadavg()[0].toFixed(1)}  ${text}`);

function options() {
  const given = readArguments(intro, {
    numbers: {
      brokers: ['1', 1, 3, '1, or 3 with three replicas of each partition'],
      rate: ['15000', 1, 1000000, 'messages per second of all devices together'],
      devices: ['100', 1, 1000, 'devices, each with its own connection'],
      payload: ['109', 80, 65536, 'bytes of a message'],
      partitions: ['4', 1, 1000, 'of each topic'],
      kills: ['3', 0, 1000, 'how often a broker is killed'],
      seconds: ['15', 1, 3600, 'time before each kill, and after the last start'],
      away: ['1', 0, 86400, 'seconds from a kill to the start of the broker'],
      drain: ['120', 1, 600, 'longest wait for the last PUBACKs, s']
    },
    texts: {
      compression: ['none', 'none, gzip, snappy, lz4 or zstd'],
      mode: ['records', 'batch mode: records or off']
    }
  });
  const names = ['brokers', 'rate', 'devices', 'payload', 'partitions', 'kills', 'seconds', 'away', 'drain'];
  const numbers = Object.fromEntries(names.map((name) => [name, given.number(name)]));
  if (numbers.brokers === 2) throw new Error('Two brokers have no majority when one is away: use 1 or 3.');
  return {
    .../** @type {Record<'brokers' | 'rate' | 'devices' | 'payload' | 'partitions' | 'kills' | 'seconds' | 'away' |
      'drain', number>} */ (numbers),
    compression: given.text('compression'),
    mode: given.text('mode')
  };
}

/** One broker, or a cluster. */
class Brokers {
  /** @param {number} count */
  constructor(count) {
    this.count = count;
    this.cluster = count > 1 ? new KafkaCluster(count) : null;
    /** @type {KafkaBroker | null} */
    this.lone = count > 1 ? null : new KafkaBroker();
  }

  get addresses() {
    return this.cluster?.addresses ?? /** @type {KafkaBroker} */ (this.lone).address;
  }

  async start() {
    await (this.cluster ?? this.lone)?.start();
  }

  async stop() {
    await (this.cluster ?? this.lone)?.stop();
  }

  /** Kills the leader of the first partition. @returns {Promise<KafkaBroker>} the broker that is dead */
  async kill() {
    if (this.lone) {
      await this.lone.kill();
      return this.lone;
    }
    const client = new KafkaClient(this.addresses);
    const [leader] = await client.leaders('seganet.normal').finally(() => client.close());
    const broker = /** @type {KafkaCluster} */ (this.cluster).broker(leader);
    note(`broker ${leader} leads`);
    await broker.kill();
    return broker;
  }
}

/** @param {Brokers} brokers @param {ReturnType<typeof options>} given */
async function killBrokers(brokers, { kills, seconds, away }) {
  for (let i = 1; i <= kills; i++) {
    await sleep(seconds * 1000);
    const broker = await brokers.kill();
    note(`kill ${i} of ${kills}`);
    await sleep(away * 1000);
    await broker.again();
    note('started again');
  }
  await sleep(seconds * 1000);
}

/**
 * Sends until the kills are over, however long the brokers need: one generator after another, each with other devices.
 * @param {number} port @param {ReturnType<typeof options>} given @param {string} out file of a generator's result
 * @param {() => boolean} isOver
 */
async function sendUntil(port, { rate, devices, payload, drain }, out, isOver) {
  const sum = { sent: 0, acked: 0, seconds: 0 };
  /** By generator, ms. @type {{ p50: number, p99: number, max: number }[]} */
  const ackMs = [];
  const common = { port, devices, payload, drain, out, arrivals: 'poisson', rate: rate / devices };
  for (let first = 0; !isOver(); first += devices) {
    const one = await load({ ...common, 'first-device': first, seconds: SLICE_S });
    sum.sent += one.sent;
    sum.acked += one.acked;
    sum.seconds += SLICE_S;
    ackMs.push({ p50: one.ackUs.p50 / 1000, p99: one.ackUs.p99 / 1000, max: one.ackUs.max / 1000 });
  }
  return { ...sum, ackMs };
}

/**
 * Reads all records of Kafka, until everything that was sent has arrived, or the uplink has nothing left to send.
 * @param {string} addresses @param {number} sent @param {number} partitions
 */
async function judge(addresses, sent, partitions) {
  const verdict = new Verdict();
  const client = new KafkaClient(addresses);
  let total = 0;
  let grewAt = Date.now();
  const progress = setInterval(() => note(`read ${verdict.records} of ${total}`), PROGRESS_MS);
  try {
    await client.read(TOPICS, (records) => {
      for (const record of records) verdict.add(record);
    });
    const isOver = async () => {
      if (verdict.distinct >= sent) return true;
      const count = await client.count(TOPICS, partitions);
      if (count > total) grewAt = Date.now();
      total = count;
      return verdict.records >= total && Date.now() - grewAt > QUIET_MS;
    };
    await eventually(isOver, { timeoutMs: READ_MS, everyMs: 1000, what: 'all records of Kafka' });
    return verdict;
  } finally {
    clearInterval(progress);
    await client.close();
  }
}

/** @param {Brokers} brokers @param {ReturnType<typeof options>} given @param {string} folder */
async function run(brokers, given, folder) {
  const { rate, devices, partitions, compression, mode } = given;
  await brokers.start();
  const client = new KafkaClient(brokers.addresses);
  await client.createTopics(TOPICS, partitions, [], Math.min(3, brokers.count)).finally(() => client.close());
  const gateway = new Gateway(brokers.addresses, path.join(folder, 'log'), mode, {
    compression,
    backlogRate: 0
  });
  try {
    const { port } = await gateway.next();
    note(`${devices} devices send ${rate} messages/s`);
    let isOver = false;
    const [sent] = await Promise.all([
      sendUntil(port, given, path.join(folder, 'load'), () => isOver),
      killBrokers(brokers, given).finally(() => (isOver = true))
    ]);
    note(`sent ${sent.sent}, acknowledged ${sent.acked}`);
    const verdict = await judge(brokers.addresses, sent.sent, partitions);
    const { cpu, rssKiB, state } = await gateway.read();
    return { sent, verdict, cpu, rssKiB, state };
  } finally {
    await gateway.stop();
  }
}

/** Returns the lowest and the highest value of all generators. @param {Record<'p50' | 'p99' | 'max', number>[]} all */
function rangesOf(all) {
  const names = /** @type {const} */ (['p50', 'p99', 'max']);
  const range = (/** @type {number[]} */ values) => [Math.min(...values), Math.max(...values)];
  return Object.fromEntries(names.map((name) => [name, range(all.map((each) => each[name]))]));
}

async function main() {
  const given = options();
  const missing = kafkaTools().filter((tool) => !haveTool(tool));
  if (missing.length > 0) throw new Error(`needs ${missing.join(', ')}`);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-kafka-chaos-'));
  const brokers = new Brokers(given.brokers);
  try {
    const { sent, verdict, state, cpu, rssKiB } = await run(brokers, given, folder);
    const lost = verdict.lost(sent);
    const { twice, disorder, historical, foreign, bare, otherKey, records } = verdict;
    const retried = state.producers.reduce(
      (/** @type {number} */ sum, /** @type {any} */ each) => sum + each.retried,
      0
    );
    console.log(
      JSON.stringify({
        ...given,
        sent: sent.sent,
        acknowledged: sent.acked,
        inKafka: records,
        lost,
        twice,
        outOfOrder: disorder,
        historical,
        foreign,
        withoutSeq: bare,
        copiesWithAnotherKey: otherKey,
        retried,
        deadLetters: state.deadLetters,
        loadSeconds: sent.seconds,
        ackMs: rangesOf(sent.ackMs),
        gatewayCpuS: (cpu.user + cpu.system) / 1e6,
        rssMiB: Math.round(rssKiB / 1024),
        load: os.loadavg().map((each) => Number(each.toFixed(1)))
      })
    );
    const isBad =
      lost + disorder + foreign + bare + otherKey + state.deadLetters > 0 || sent.acked < sent.sent;
    process.exitCode = isBad ? 1 : 0;
  } finally {
    await brokers.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
