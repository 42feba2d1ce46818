'use strict';
// Seeded faults of a cluster of gateways.  node native/node/run.js test/system/cluster/run.js --help

const { readArguments } = require('../../../bench/harness/arguments');
const { kafkaTools } = require('../../../bench/harness/kafka/broker');
const { haveTool } = require('../../../bench/harness/tools');
const { seeded } = require('../../fixtures/random');
const { FAULTS, runFaults } = require('./scenario');

const intro = `Usage: SEGANET_KAFKA=$(.ci/kafka) node native/node/run.js test/system/cluster/run.js [options]

Three machines, each with a gateway of the preset "cluster" and a Kafka broker; devices behind a load balancer; a broker
as the cloud. In each run a machine fails under load (${FAULTS.join(', ')}) and comes back. Exit code 1 if a record that
a device has an acknowledgement for is not in the cloud, if the first copies of a device and class are out of order, if
a copy has another device, class, time or number than its record in Kafka, or if an offset is committed by a gateway
that no longer has the partition.`;

/** @param {number[]} values @param {number} part */
function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
}

async function main() {
  const given = readArguments(intro, {
    numbers: {
      runs: ['20', 1, 10000, 'faults'],
      rate: ['600', 1, 100000, 'messages per second of all devices together'],
      seed: [String(Date.now() % 2 ** 31), 0, 2 ** 31, 'of the faults and their moments']
    },
    texts: { fault: ['all', `all, or one of ${FAULTS.join(', ')}`] }
  });
  const missing = ['mosquitto', ...kafkaTools()].filter((tool) => !haveTool(tool));
  if (missing.length > 0) throw new Error(`needs ${missing.join(', ')}`);
  const [runs, rate, seed] = ['runs', 'rate', 'seed'].map((name) => given.number(name));
  const wanted = given.text('fault');
  const faults = wanted === 'all' ? FAULTS : FAULTS.filter((fault) => fault === wanted);
  if (faults.length === 0)
    throw new Error(`There is no fault '${wanted}'; it is one of ${FAULTS.join(', ')}.`);
  console.log(`seed ${seed}`);
  const {
    results,
    arrivals,
    stored,
    backward,
    gaps,
    unknown,
    missing: absent
  } = await runFaults({
    runs,
    rate,
    random: seeded(seed),
    log: (line) => console.log(line),
    faults
  });
  const sum = (/** @type {(result: typeof results[number]) => number} */ of) =>
    results.reduce((all, each) => all + of(each), 0);
  const lost = sum((each) => each.lost.length);
  const waits = (/** @type {'beganMs' | 'drainedMs'} */ name) =>
    Object.fromEntries(
      faults.map((fault) => {
        const of = results.filter((each) => each.fault === fault).map((each) => each[name]);
        return [fault, { p50: quantile(of, 0.5), max: Math.max(0, ...of) }];
      })
    );
  const report = {
    seed,
    runs,
    acked: sum((each) => each.acked),
    lost,
    outOfOrder: arrivals.disorder,
    copies: arrivals.copies,
    sentAgainByDevices: arrivals.again,
    inKafka: stored.keys.size,
    twiceInKafka: stored.twice,
    changed: unknown,
    notDelivered: absent,
    clashes: arrivals.clashes + stored.clashes,
    wrongClass: arrivals.wrongClass + stored.wrongTopic + arrivals.foreign,
    lateCommits: backward.late,
    resumedBehind: backward.resumed,
    devicesBackMs: { p50: quantile(gaps, 0.5), p99: quantile(gaps, 0.99), max: quantile(gaps, 1) },
    takenOverMs: waits('beganMs'),
    drainedMs: waits('drainedMs')
  };
  console.log(JSON.stringify(report));
  if (lost > 0)
    console.log(
      `lost: ${results
        .flatMap((each) => each.lost)
        .slice(0, 5)
        .join(', ')}`
    );
  const bad =
    lost + report.outOfOrder + unknown + absent + report.clashes + report.wrongClass + backward.late;
  process.exitCode = bad > 0 || report.acked === 0 ? 1 : 0;
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
