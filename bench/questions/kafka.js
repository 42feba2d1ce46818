'use strict';
// How soon and at which cost are records in Kafka, acknowledged by all replicas?
//   node bench/questions/kafka.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readArguments } = require('../harness/arguments');
const { KafkaBroker, kafkaTools } = require('../harness/kafka/broker');
const { createTopics } = require('../harness/kafka/client');
const { Gateway, load } = require('../harness/kafka/gateway-process');
const { haveTool } = require('../harness/tools');
const { markdown, save } = require('../report/report');

const intro = `Usage: SEGANET_KAFKA=$(.ci/kafka) node bench/questions/kafka.js [options]

Devices publish with QoS 1 at random times (Poisson) to an engine whose kafka uplink writes to a real broker (one node,
KRaft, on this machine) with acks=all. A PUBACK leaves when Kafka has acknowledged the record, or when it is on disk,
whichever is first; so the latency is that from the intended sending time to safe. CPU is that of the gateway's process,
without the broker and the generator, which share the machine: latencies are upper bounds.`;

/**
 * @param {KafkaBroker} broker
 * @param {{ devices: number, perSecond: number, seconds: number, payload: number }} profile
 * @param {string} mode
 */
async function once(broker, { devices, perSecond, seconds, payload }, mode) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-kafka-bench-'));
  const gateway = new Gateway(broker.address, path.join(folder, 'log'), mode);
  try {
    const { port } = await gateway.next();
    const common = { port, devices, payload, arrivals: 'poisson', rate: perSecond / devices };
    await load({ ...common, seconds: 3, out: path.join(folder, 'warm') });
    const before = await gateway.read();
    const sent = await load({ ...common, seconds, out: path.join(folder, 'load') });
    const after = await gateway.read();
    const cpu = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1e6 / seconds;
    const acknowledged = after.state.acknowledged - before.state.acknowledged;
    return { mode, devices, sent, cpu, acknowledged, rssKiB: after.rssKiB, counters: after.counters };
  } finally {
    await gateway.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function main() {
  const given = readArguments(intro, {
    numbers: {
      rate: ['15000', 1, 1000000, 'messages per second of all devices together'],
      seconds: ['60', 1, 3600, 'length of the load'],
      payload: ['109', 0, 65536, 'bytes of a message'],
      partitions: ['4', 1, 1000, 'of each topic']
    },
    texts: {
      devices: ['1,10,100,500,1000', 'numbers of devices, each with its own connection'],
      modes: ['records', 'batch modes: records, envelope'],
      out: ['', 'file for the full results as JSON']
    }
  });
  const [perSecond, seconds, payload, partitions] = ['rate', 'seconds', 'payload', 'partitions'].map(
    given.number
  );
  const missing = kafkaTools().filter((tool) => !haveTool(tool));
  if (missing.length > 0) throw new Error(`needs ${missing.join(', ')}`);
  const broker = await new KafkaBroker().start();
  const runs = [];
  try {
    await createTopics(broker.address, ['seganet.critical', 'seganet.normal'], partitions);
    for (const mode of given.text('modes').split(',')) {
      for (const devices of given.text('devices').split(',').map(Number)) {
        const run = await once(broker, { devices, perSecond, seconds, payload }, mode);
        runs.push(run);
        console.error(`${mode}, ${devices} devices: ${run.cpu.toFixed(2)} cores`);
      }
    }
  } finally {
    await broker.stop();
  }
  const ms = (/** @type {number} */ us) => (us / 1000).toFixed(1);
  const titles = ['mode', 'devices', 'msg/s', 'p50 ms', 'p99 ms', 'max ms', 'cores', 'MiB', 'without PUBACK'];
  const rows = runs.map(({ mode, devices, sent, cpu, rssKiB }) => [
    mode,
    String(devices),
    String(Math.round(sent.acked / seconds)),
    ms(sent.ackUs.p50),
    ms(sent.ackUs.p99),
    ms(sent.ackUs.max),
    cpu.toFixed(2),
    String(Math.round(rssKiB / 1024)),
    String(sent.sent - sent.acked)
  ]);
  console.log(markdown(titles, rows));
  save(given.text('out'), { profile: { perSecond, seconds, payload, partitions }, runs });
}

void main();
