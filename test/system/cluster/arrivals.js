'use strict';
// Compares what arrived in the cloud with what devices sent and what Kafka has. The generator (bench/loadgen) numbers
// the records of each device and kind from 0.

/** Class of each kind of the generator. */
const CLASSES = [3, 1, 2, 4];
const LATE_MS = 1000;
const NAMES = ['', 'critical', 'high', 'normal', 'bulk'];

/**
 * What a receiver recognizes a record by: its device, class, time and number.
 * @param {{ d: string, c: number | string, ts: number | string, s: number | string }} record
 */
const idOf = ({ d, c, ts, s }) => `${d} ${c} ${ts} ${s}`;

/** @param {{ device: string, k: number, seq: number }} sent by the generator */
const nameOf = ({ device, k, seq }) => `${device} ${k} ${seq}`;

class Arrivals {
  constructor() {
    /** The reading of each record that arrived, by id. @type {Map<string, string>} */
    this.records = new Map();
    /** Readings that arrived. @type {Set<string>} */
    this.readings = new Set();
    /** The latest number of each device and kind. @type {Map<string, number>} */
    this.last = new Map();
    this.total = 0;
    this.copies = 0;
    /** Readings that a device sent again and that are records of their own. */
    this.again = 0;
    this.disorder = 0;
    /** Two readings with one id. */
    this.clashes = 0;
    this.wrongClass = 0;
    this.foreign = 0;
    /** The longest way of a record from its first gateway, ms. */
    this.longestMs = 0;
    /** Which gateway has sent the last first copy of each device and kind. @type {Map<string, string>} */
    this.senders = new Map();
    /**
     * Of a gateway that is lost: devices and kinds whose waiting records have not all arrived, and those of them that
     * others send. @type {{ name: string, at: number, lanes: Set<string>, begun: Set<string> }}
     */
    this.orphans = { name: '', at: 0, lanes: new Set(), begun: new Set() };
    /** From lost() until others had begun to send all orphans, and until none of these was late any more. */
    this.waits = { beganMs: 0, drainedMs: 0 };
  }

  /** A gateway is lost: its devices and kinds are orphans from now on. @param {string} name */
  lost(name) {
    const own = [...this.senders].filter(([, sender]) => sender === name).map(([lane]) => lane);
    this.orphans = { name, at: Date.now(), lanes: new Set(own), begun: new Set() };
    this.waits = { beganMs: 0, drainedMs: 0 };
    this.longestMs = 0;
  }

  /** @param {string} lane @param {string} gateway @param {number} wayMs */
  #adopt(lane, gateway, wayMs) {
    const { name, at, lanes, begun } = this.orphans;
    if (gateway === name || !lanes.has(lane)) return;
    if (wayMs <= LATE_MS) return void lanes.delete(lane);
    const ms = Date.now() - at;
    if (!begun.has(lane)) this.waits.beganMs = ms;
    begun.add(lane);
    this.waits.drainedMs = ms;
  }

  /** @param {string} line of an envelope @param {string} gateway that has sent it */
  add(line, gateway) {
    this.total++;
    /** @type {{ d: string, c: number, ts: number, s: number, p: { device: string, k: number, seq: number } }} */
    const record = JSON.parse(line);
    const { c, ts, p } = record;
    if (p?.device !== record.d) return void this.foreign++;
    if (CLASSES[p.k] !== c) this.wrongClass++;
    const [id, reading] = [idOf(record), nameOf(p)];
    const known = this.records.get(id);
    if (known !== undefined) {
      this.copies++;
      if (known !== reading) this.clashes++;
      return;
    }
    this.records.set(id, reading);
    if (this.readings.has(reading)) return void this.again++;
    this.readings.add(reading);
    const lane = `${p.device} ${p.k}`;
    if (p.seq <= (this.last.get(lane) ?? -1)) this.disorder++;
    this.last.set(lane, p.seq);
    this.senders.set(lane, gateway);
    const wayMs = Date.now() - ts;
    this.#adopt(lane, gateway, wayMs);
    this.longestMs = Math.max(this.longestMs, wayMs);
  }

  /**
   * @param {{ device: number, kind: number, issued: number, unacked: [number, number][] }[]} streams of the generator
   * @returns {{ acked: number, lost: string[] }}
   */
  compare(streams) {
    const result = { acked: 0, lost: /** @type {string[]} */ ([]) };
    for (const { device, kind, issued, unacked } of streams) {
      const open = new Set(unacked.map(([number]) => number));
      for (let seq = 0; seq < issued; seq++) {
        if (open.has(seq)) continue;
        result.acked++;
        const reading = nameOf({ device: `dev-${String(device).padStart(5, '0')}`, k: kind, seq });
        if (!this.readings.has(reading)) result.lost.push(reading);
      }
    }
    return result;
  }
}

/** What Kafka has. */
class Stored {
  constructor() {
    /** Keys of the records, by id. @type {Map<string, string>} */
    this.keys = new Map();
    this.twice = 0;
    /** Records whose id is also that of a record with another key. */
    this.clashes = 0;
    this.wrongTopic = 0;
  }

  /** @param {import('../../../bench/harness/kafka/client').Read} read */
  add({ key, topic, headers }) {
    const id = idOf({ d: String(key), c: headers.class, ts: headers.ts, s: headers.seq });
    const known = this.keys.get(id);
    if (topic !== `seganet.${NAMES[Number(headers.class)]}`) this.wrongTopic++;
    if (known === undefined) this.keys.set(id, headers.key);
    else if (known === headers.key) this.twice++;
    else this.clashes++;
  }

  /**
   * @param {Arrivals} arrivals
   * @returns {{ unknown: number, missing: number }} records in the cloud that Kafka does not have, so that their sender
   *   changed what a receiver recognizes them by; and the other way round
   */
  compare({ records }) {
    const unknown = [...records.keys()].filter((id) => !this.keys.has(id)).length;
    const missing = [...this.keys.keys()].filter((id) => !records.has(id)).length;
    return { unknown, missing };
  }
}

module.exports = { Arrivals, Stored };
