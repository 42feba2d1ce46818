'use strict';
// What has arrived in a topic of Kafka, and when. The broker notes the time at which it appends a record
// (LogAppendTime), so reading afterwards does not disturb the load. Kafka's own consumer reads, because the client of
// the harness has only the producer's times.

const readline = require('node:readline');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { compareStreams } = require('../harness/compare');

const TOPIC = 'seganet.normal';
/** The consumer ends after this time without a further record, or sooner after the last one that is expected. */
const SILENT_MS = 30000;
const AFTER_LAST_MS = 500;
const LINE = /LogAppendTime:(\d+)\t.*"device":"dev-(\d+)","seq":(\d+),"k":0,"us":(\d+)/;

/** Records of a device, by sequence number. */
class Arrived {
  constructor() {
    /** @type {Uint8Array} */
    this.seen = new Uint8Array(1024);
    this.next = 0;
  }

  /** @param {number} seq @returns {boolean} false: it had arrived */
  add(seq) {
    if (seq >= this.seen.length) {
      const larger = new Uint8Array(Math.max(seq + 1, 2 * this.seen.length));
      larger.set(this.seen);
      this.seen = larger;
    }
    if (this.seen[seq]) return false;
    this.seen[seq] = 1;
    this.next = Math.max(this.next, seq + 1);
    return true;
  }

  /** @returns {[number, number][]} */
  missing() {
    const found = /** @type {[number, number][]} */ ([]);
    for (let seq = 0; seq < this.next; seq++) if (!this.seen[seq]) found.push([seq, seq]);
    return found;
  }
}

/** @param {string} address */
function startConsumer(address) {
  const jvm = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
  const program = [
    ...['-cp', path.join(process.env.SEGANET_KAFKA ?? '', 'lib', '*')],
    'org.apache.kafka.tools.consumer.ConsoleConsumer'
  ];
  const what = ['--bootstrap-server', address, '--topic', TOPIC, '--from-beginning'];
  const how = ['--timeout-ms', String(SILENT_MS), '--property', 'print.timestamp=true'];
  return spawn('java', [...jvm, ...program, ...what, ...how], { stdio: ['ignore', 'pipe', 'pipe'] });
}

/**
 * @param {import('../harness/kafka/broker').KafkaBroker} broker
 * @param {import('../harness/compare').SentStream[]} sent
 * @param {(device: number) => boolean} isMeasured false: its latency does not count
 */
async function kafkaArrivals(broker, sent, isMeasured) {
  /** @type {Map<number, Arrived>} */
  const devices = new Map();
  const result = { records: 0, duplicates: 0, outOfOrder: 0, broken: 0 };
  /** µs; the broker's time is in whole ms, so they may be up to 1 ms too small. @type {number[]} */
  const latencies = [];
  const expected = sent.reduce((sum, { issued, unacked }) => sum + issued - unacked.length, 0);
  const child = startConsumer(broker.address);
  child.stdout.setEncoding('latin1');
  let trouble = '';
  child.stderr.on('data', (bytes) => (trouble = `${trouble}${bytes}`.slice(-2000)));
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const found = LINE.exec(line);
    if (!found) {
      if (line.includes('Time:')) result.broken++;
      continue;
    }
    const [ms, device, seq, us] = found.slice(1).map(Number);
    const own = devices.get(device) ?? new Arrived();
    devices.set(device, own);
    const isLate = seq < own.next;
    result.records++;
    if (!own.add(seq)) result.duplicates++;
    else if (isLate) result.outOfOrder++;
    if (result.records === expected) setTimeout(() => child.kill(), AFTER_LAST_MS);
    if (isMeasured(device)) latencies.push(Math.max(0, ms * 1000 - us));
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  if (result.records === 0 && expected > 0) throw new Error(`Kafka's consumer read no record: ${trouble}`);
  const arrived = [...devices].map(([device, own]) => ({
    device,
    kind: 0,
    next: own.next,
    missing: own.missing()
  }));
  const { lost } = compareStreams(sent, arrived);
  return { ...result, lost, arrivalUs: quantiles(latencies) };
}

/** @param {number[]} values µs */
function quantiles(values) {
  const sorted = Float64Array.from(values).sort();
  const at = (/** @type {number} */ part) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)];
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) };
}

module.exports = { kafkaArrivals };
