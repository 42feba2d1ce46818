'use strict';
// Compares what the generator sent with what Kafka has. The generator (bench/loadgen) numbers the records of each
// device and kind from 0.

const { eventually } = require('../net');

/** Kafka has everything that it will get if nothing came for this time. */
const QUIET_MS = 5000;
const READ_MS = 600000;
const NUMBER = /^\{"device":"([^"]+)","seq":(\d+),"k":(\d)/;

class Verdict {
  constructor() {
    /** Numbers that have arrived, by device and kind. @type {Map<string, Set<number>>} */
    this.arrived = new Map();
    /** The latest number, by device, kind, and whether it is historical. @type {Map<string, number>} */
    this.last = new Map();
    this.records = 0;
    this.distinct = 0;
    this.twice = 0;
    this.disorder = 0;
    this.historical = 0;
    this.foreign = 0;
    /** Records without a sequence number of their own. */
    this.bare = 0;
    /** Second copies with another key than the first. */
    this.otherKey = 0;
    /** Keys of the records. @type {Map<string, string>} */
    this.keys = new Map();
  }

  /** @param {{ value: Uint8Array, headers: Record<string, string> }} read in the order of their partition */
  add({ value, headers }) {
    this.records++;
    const [, device, text, kind] = NUMBER.exec(Buffer.from(value).toString('latin1')) ?? [];
    if (device === undefined) return void this.foreign++;
    if (headers.seq === undefined) this.bare++;
    const lane = `${device} ${kind}`;
    const number = Number(text);
    let numbers = this.arrived.get(lane);
    if (!numbers) this.arrived.set(lane, (numbers = new Set()));
    const name = `${lane} ${text}`;
    if (numbers.has(number)) {
      this.twice++;
      if (this.keys.get(name) !== headers.key) this.otherKey++;
      return;
    }
    numbers.add(number);
    this.keys.set(name, headers.key);
    this.distinct++;
    if (headers.history) this.historical++;
    // Live records overtake those from the log, on purpose.
    const queue = `${lane} ${headers.history ?? 'live'}`;
    if (number <= (this.last.get(queue) ?? -1)) this.disorder++;
    this.last.set(queue, number);
  }

  /** Returns the acknowledged records that are not in Kafka, at least. @param {{ sent: number, acked: number }} load */
  lost({ sent, acked }) {
    return Math.max(0, acked - this.distinct) || (acked === sent ? sent - this.distinct : 0);
  }

  /**
   * Compares record by record.
   * @param {import('../compare').SentStream[]} streams of the generator
   * @returns {{ acked: number, lost: string[] }}
   */
  compare(streams) {
    const result = { acked: 0, lost: /** @type {string[]} */ ([]) };
    for (const { device, kind, issued, unacked } of streams) {
      const name = `dev-${String(device).padStart(5, '0')} ${kind}`;
      const open = new Set(unacked.map(([number]) => number));
      for (let number = 0; number < issued; number++) {
        if (open.has(number)) continue;
        result.acked++;
        if (!this.arrived.get(name)?.has(number)) result.lost.push(`${name} ${number}`);
      }
    }
    return result;
  }
}

/**
 * Reads topics from their start, until nothing more comes.
 * @param {import('./client').KafkaClient} client @param {string[]} topics
 * @returns {Promise<Verdict>}
 */
async function readAll(client, topics) {
  const verdict = new Verdict();
  let at = Date.now();
  await client.read(topics, (records) => {
    for (const record of records) verdict.add(record);
    at = Date.now();
  });
  await eventually(() => Date.now() - at > QUIET_MS, {
    timeoutMs: READ_MS,
    everyMs: 500,
    what: 'the end of the topics'
  });
  return verdict;
}

module.exports = { Verdict, readAll };
