'use strict';
// Gateways burn under load.  SEGANET_KAFKA=$(.ci/kafka) node test/system/kafka/chaos/burns.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { readArguments } = require('../../../../bench/harness/arguments');
const { KafkaClient } = require('../../../../bench/harness/kafka/client');
const { kafkaTools } = require('../../../../bench/harness/kafka/broker');
const { haveTool } = require('../../../../bench/harness/tools');
const { seeded } = require('../../../fixtures/random');
const { KafkaCluster } = require('../../../../bench/harness/kafka/cluster');
const { Gateway, load } = require('./gateway-process');
const { readAll } = require('../../../../bench/harness/kafka/verdict');

const intro = `Usage: SEGANET_KAFKA=$(.ci/kafka) node test/system/kafka/chaos/burns.js [options]

Three brokers with three replicas of each partition. In each round a gateway takes records of devices of its own, and
burns at a random moment: SIGKILL, and its folder is deleted. In every third round two of the brokers are killed up to two
seconds before, so that the cluster takes nothing. At the end all topics are read: every record that a device has a PUBACK
for must be there, and the records of a device and class in order. Exit code 1 if not.`;

const TOPICS = ['seganet.critical', 'seganet.normal'];
const PARTITIONS = 4;
const LOAD_S = 8;

/**
 * @param {KafkaCluster} cluster @param {string} folder @param {number} round
 * @param {{ rate: number, devices: number, acknowledge: 'safe' | 'replicated' }} given
 * @param {() => number} random 0 to 1
 * @returns {Promise<import('../../../../bench/harness/compare').SentStream[]>}
 */
async function burnOne(cluster, folder, round, { rate, devices, acknowledge }, random) {
  const home = path.join(folder, `log-${round}`);
  const gateway = new Gateway(cluster.addresses, home, 'records', { backlogRate: 0 }, acknowledge);
  const { port } = await gateway.next();
  const out = path.join(folder, 'load.json');
  const first = round * devices;
  const common = { port, devices, out, drain: 1, payload: 109, arrivals: 'poisson', seconds: LOAD_S };
  const sending = load({
    ...common,
    rate: rate / devices,
    'first-device': first,
    'alarm-every': 10
  });
  sending.catch(() => {}); // awaited below
  const since = performance.now();
  const spared = 1 + Math.floor(random() * 3);
  const away = round % 3 === 2 ? cluster.brokers.filter((_broker, index) => index + 1 !== spared) : [];
  const at = 2500 + 4000 * random();
  await sleep(at - 2000 * random());
  await Promise.all(away.map((broker) => broker.kill()));
  await sleep(at - (performance.now() - since));
  await gateway.burn();
  const { streams } = await sending;
  await Promise.all(away.map((broker) => broker.again()));
  return streams;
}

async function main() {
  const given = readArguments(intro, {
    numbers: {
      rounds: ['20', 1, 1000, 'gateways that burn'],
      rate: ['2000', 1, 100000, 'messages per second of all devices together'],
      devices: ['50', 1, 1000, 'devices of a round, each with its own connection'],
      seed: ['1', 0, 2 ** 31, 'of the random moments']
    },
    texts: { acknowledge: ['replicated', 'replicated, or safe, which loses what only a burnt disk had'] }
  });
  const [rounds, rate, devices, seed] = ['rounds', 'rate', 'devices', 'seed'].map((name) =>
    given.number(name)
  );
  const acknowledge = /** @type {'safe' | 'replicated'} */ (given.text('acknowledge'));
  const missing = kafkaTools().filter((tool) => !haveTool(tool));
  if (missing.length > 0) throw new Error(`needs ${missing.join(', ')}`);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-burns-'));
  const cluster = new KafkaCluster(3);
  const { next: random } = seeded(seed);
  try {
    await cluster.start();
    const client = new KafkaClient(cluster.addresses);
    await client.createTopics(TOPICS, PARTITIONS, [], 3);
    /** @type {import('../../../../bench/harness/compare').SentStream[]} */
    const streams = [];
    for (let round = 0; round < rounds; round++) {
      const more = await burnOne(cluster, folder, round, { rate, devices, acknowledge }, random);
      streams.push(...more);
      const issued = more.reduce((sum, each) => sum + each.issued, 0);
      console.log(`round ${round + 1} of ${rounds}: ${issued} records sent`);
    }
    const verdict = await readAll(client, TOPICS).finally(() => client.close());
    const { acked, lost } = verdict.compare(streams);
    const { records, twice, disorder, foreign, bare, otherKey } = verdict;
    const result = {
      rounds,
      seed,
      acked,
      inKafka: records,
      lost: lost.length,
      outOfOrder: disorder,
      twice,
      otherKey
    };
    console.log(JSON.stringify(result));
    if (lost.length > 0) console.log(`lost: ${lost.slice(0, 5).join(', ')}`);
    process.exitCode = lost.length + disorder + foreign + bare + otherKey > 0 || acked === 0 ? 1 : 0;
  } finally {
    await cluster.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
