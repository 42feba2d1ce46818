'use strict';
// What does an acknowledgement cost that survives the loss of the machine? PUBACK latency and CPU with `safe` and
// `stored` on one machine, and with `replicated` by three Kafka brokers.
//   SEGANET_KAFKA=$(.ci/kafka) node native/node/run.js bench/questions/replicated.js --help

const { kafkaTools } = require('../harness/kafka/broker');
const { KafkaClient } = require('../harness/kafka/client');
const { KafkaCluster } = require('../harness/kafka/cluster');
const { startKafkaGateway } = require('../harness/kafka/gateway');
const { processCpu, readCpu } = require('../harness/proc');
const { haveTool } = require('../harness/tools');
const { readOptions, fail } = require('../options/options');
const { systems } = require('../options/systems');
const { turned } = require('../report/pairs');
const { conditions, markdown, list, save, spread } = require('../report/report');
const { Stage, sleep } = require('../runs/stage');

const intro = `Usage: SEGANET_KAFKA=$(.ci/kafka) node native/node/run.js bench/questions/replicated.js [options]

Runs each case in turn: the gateway with 'safe' and 'stored' and mosquitto as its cloud, and with 'safe' and 'replicated'
and three Kafka brokers (replication 3, min.insync.replicas 2). The brokers run on this machine, too; they are idle in the
other cases, and a first run, which warms them up, does not count.
The devices send each of --rates in all, one after the other, for twice --step s; the second half is measured. PUBACK is
the time from the intended send to the PUBACK. CPU µs/record is that of the gateway; brokers, generator and the rest are
beside it.`;

const TOPICS = ['seganet.critical', 'seganet.normal'];
const PARTITIONS = 4;
/** The CPU times are read before the end of a rate. */
const LAST_MS = 100;
const SETTLE_MS = 30000;

/** @type {Record<string, { title: string, acknowledge: string, kafka: boolean }>} */
const CASES = {
  safe: { title: '`safe`, mosquitto', acknowledge: 'safe', kafka: false },
  stored: { title: '`stored`, mosquitto', acknowledge: 'stored', kafka: false },
  'kafka-safe': { title: '`safe`, Kafka', acknowledge: 'safe', kafka: true },
  replicated: { title: '`replicated`, Kafka', acknowledge: 'replicated', kafka: true }
};

/**
 * Waits until the records are there, or a while: what only the disk has comes later.
 * @param {() => Promise<number>} inKafka @param {number} acked
 */
async function settle(inKafka, acked) {
  for (const since = Date.now(); Date.now() - since < SETTLE_MS; await sleep(200))
    if ((await inKafka()) >= acked) return;
}

/**
 * @param {string} name of CASES @param {KafkaCluster} cluster
 * @param {import('../runs/measure').Profile} profile @param {number[]} rates @param {number} step s
 */
async function run(name, cluster, profile, rates, step) {
  const { acknowledge, kafka } = CASES[name];
  const stage = new Stage(profile);
  const client = new KafkaClient(cluster.addresses);
  try {
    await stage.open();
    const { openFiles } = stage;
    const cloud = /** @type {import('../harness/cloud').Cloud} */ (stage.cloud);
    const gatewayEnv = { ...profile.gatewayEnv, SEGANET_ACKNOWLEDGE: acknowledge };
    const context = { ...profile, cloud, openFiles, cpus: profile.gatewayCpus, gatewayEnv };
    const system = kafka
      ? await startKafkaGateway(context, cluster.addresses)
      : await systems.seganet(context);
    stage.system = system;
    const had = await client.count(TOPICS, PARTITIONS);
    const steps = rates.flatMap((rate) => [rate, rate]);
    const load = await stage.startLoad({ steps: steps.join(','), 'step-seconds': step }).started();
    const look = () => ({
      ms: Date.now(),
      gateway: readCpu(system.children[0].pid),
      brokers: cluster.brokers.reduce((sum, { child }) => sum + processCpu(child?.pid ?? 0), 0),
      harness: [...stage.tools, cloud.child].reduce((sum, child) => sum + (child ? readCpu(child.pid) : 0), 0)
    });
    const windows = [];
    for (let i = 1; i < steps.length; i += 2) {
      await sleep(load.startMs + i * step * 1000 - Date.now());
      const from = look();
      await sleep(load.startMs + (i + 1) * step * 1000 - LAST_MS - Date.now());
      windows.push([from, look()]);
    }
    const { acked, steps: found, connectionLosses } = await load.result();
    const inKafka = async () => (await client.count(TOPICS, PARTITIONS)) - had;
    if (kafka) await settle(inKafka, acked);
    else await stage.settle(acked, profile.quietMs);
    const arrived = kafka ? await inKafka() : stage.arrivedSoFar().unique;
    const { cleanEnd } = await stage.finish();
    const results = windows.map(([from, to], index) => {
      const { sent, late, ackUs } = found[index * 2 + 1];
      const seconds = (to.ms - from.ms) / 1000;
      const cores = (/** @type {'gateway' | 'brokers' | 'harness'} */ part) =>
        (to[part] - from[part]) / seconds;
      return {
        rate: rates[index],
        p50: ackUs.p50 / 1000,
        p99: ackUs.p99 / 1000,
        cpuUs: (cores('gateway') * 1e6) / rates[index],
        gateway: cores('gateway'),
        brokers: cores('brokers'),
        harness: cores('harness'),
        late: late / sent
      };
    });
    return { name, results, acked, missing: Math.max(0, acked - arrived), connectionLosses, cleanEnd };
  } finally {
    await client.close();
    await stage.close();
  }
}

/** @typedef {Awaited<ReturnType<typeof run>> & { round: number }} Run */
/** @typedef {Run['results'][number]} Found */

/** @type {[string, (found: Found) => number, number][]} */
const columns = [
  ['PUBACK p50 ms', ({ p50 }) => p50, 1],
  ['p99 ms', ({ p99 }) => p99, 1],
  ['CPU µs/record', ({ cpuUs }) => cpuUs, 1],
  ['cores: gateway', ({ gateway }) => gateway, 2],
  ['brokers', ({ brokers }) => brokers, 2],
  ['generator and cloud', ({ harness }) => harness, 2],
  ['late sends %', ({ late }) => late * 100, 1]
];

/** @param {Run[]} runs @param {string[]} names @param {number[]} rates */
function table(runs, names, rates) {
  const rows = rates.flatMap((rate, index) =>
    names.map((name) => {
      const some = runs.filter((each) => each.name === name);
      const ratio = some.map((each) => {
        const base = runs.find((other) => other.name === names[0] && other.round === each.round);
        return base && each.results[index].cpuUs / base.results[index].cpuUs;
      });
      return [
        rate,
        CASES[name].title,
        ...columns.map(([, value, digits]) =>
          spread(
            some.map(({ results }) => value(results[index])),
            digits
          )
        ),
        spread(ratio, 2),
        some.reduce((sum, { missing }) => sum + missing, 0)
      ];
    })
  );
  const head = ['records/s', 'acknowledge, uplink', ...columns.map(([title]) => title)];
  return markdown([...head, `CPU a record ÷ ${names[0]}`, 'acknowledged, did not arrive'], rows);
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { warmup: '0', systems: '', pin: 'none' },
    numbers: { step: ['3', 1, 60, 's: a rate lasts twice as long'] },
    texts: {
      cases: [Object.keys(CASES).join(','), 'some of them; ratios compare with the first one'],
      rates: ['2000,10000', 'messages per second of all devices together, one after the other']
    }
  });
  const names = own.cases.split(',');
  for (const name of names) if (!CASES[name]) fail(`--cases: '${name}' is not known. See --help.`);
  const rates = own.rates.split(',').map(Number);
  if (!rates.every((/** @type {number} */ rate) => rate >= 1 && rate <= 1e6))
    fail('--rates must be messages per second such as 2000,10000');
  const missing = [...kafkaTools(), 'mosquitto'].filter((tool) => !haveTool(tool));
  if (missing.length > 0) fail(`needs ${missing.join(', ')}`);
  const cluster = new KafkaCluster(3);
  /** @type {Run[]} */
  const runs = [];
  try {
    await cluster.start();
    const client = new KafkaClient(cluster.addresses);
    await client.createTopics(TOPICS, PARTITIONS, [], 3).finally(() => client.close());
    await run('replicated', cluster, profile, rates, own.step); // Java compiles what it runs often
    console.error('three brokers run');
    const told = {
      ...conditions(profile, repeat),
      load: `${profile.devices} devices, QoS 1, ${profile.payload} B, every ${profile.alarmEvery}th an alarm; ${own.step} s measured; interleaved rounds: ${repeat}`
    };
    for (let round = 0; round < repeat; round += 1) {
      for (const name of turned(names, round)) {
        const found = await run(name, cluster, profile, rates, own.step);
        runs.push({ ...found, round });
        const last = found.results[rates.length - 1];
        console.error(
          `round ${round + 1}/${repeat} ${name}: PUBACK p99 ${last.p99.toFixed(1)} ms at ${last.rate}/s`
        );
      }
    }
    console.log(`${list(told)}\n\n${table(runs, names, rates)}`);
    save(out, { conditions: told, profile, runs });
  } finally {
    await cluster.stop();
  }
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
