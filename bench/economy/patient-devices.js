'use strict';
// Entry of a process: devices of several classes that publish at QoS 1 and measure how long each PUBACK takes, which
// the gateway sends when the cloud has the record. Arguments: SHAPE PORT PLAN
//   PLAN: JSON, {classes: [{class, rate (records a second), patienceMs, everyS}], seconds, fromS}
//   everyS: the records of this time are sent at once at its end, default: evenly; fromS: earlier records do not count
// Topics begin with the class, such as c3/…. Prints a JSON line at the end, after the longest patience and half a
// second: for each class the records sent, those in time, mean and longest time. A record without a PUBACK is not in
// time.

const net = require('node:net');
const { Frames, TYPE, connect, publish } = require('./frames');
const { recordsOf } = require('./shapes');

const DEVICES = 5;
const RECORDS = 2000;
const TICK_MS = 4;
const LAST_ID = 65535;
/** Time for acknowledgements after the longest patience. */
const REST_MS = 500;

/** @typedef {{ class: number, rate: number, patienceMs: number, everyS?: number }} ClassLoad */

const [shape, port, planText] = process.argv.slice(2);
/** @type {{ classes: ClassLoad[], seconds: number, fromS?: number }} */
const plan = JSON.parse(planText);

/** Devices of one class, which take turns. A device has records of one class: its PUBACKs leave in order. */
class Patients {
  #devices;
  #records;
  #id = 0;

  /** @param {ClassLoad} load */
  constructor(load) {
    this.load = load;
    this.sent = 0;
    this.counted = 0;
    this.inTime = 0;
    this.acknowledged = 0;
    this.sumMs = 0;
    this.worstMs = 0;
    this.#records = recordsOf(shape, RECORDS).map(([topic, payload]) =>
      publish(`c${load.class}/${topic}`, Buffer.from(JSON.stringify(payload)))
    );
    this.#devices = Array.from({ length: DEVICES }, (_, i) => this.#connect(`c${load.class}-${i}`));
    this.ready = Promise.all(this.#devices.map(({ ready }) => ready));
  }

  /** @param {string} name */
  #connect(name) {
    const socket = net.connect(Number(port), '127.0.0.1');
    /** When a record was sent, by its identifier. @type {Map<number, number>} */
    const sentAt = new Map();
    const frames = new Frames();
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      console.error(`${name}: ${error.message}`);
      process.exit(1);
    });
    const ready = new Promise((resolve) => {
      socket.on('data', (chunk) => {
        for (const { type, body } of frames.push(/** @type {Buffer} */ (chunk))) {
          if (type === TYPE.CONNACK) resolve(undefined);
          if (type === TYPE.PUBACK) this.#acknowledged(sentAt, body.readUInt16BE(0));
        }
      });
    });
    socket.write(connect(name));
    return { socket, sentAt, ready };
  }

  /** @param {Map<number, number>} sentAt @param {number} id */
  #acknowledged(sentAt, id) {
    const sent = sentAt.get(id);
    if (sent === undefined) return;
    const ms = performance.now() - sent;
    sentAt.delete(id);
    this.acknowledged++;
    this.sumMs += ms;
    this.worstMs = Math.max(this.worstMs, ms);
    if (ms <= this.load.patienceMs) this.inTime++;
  }

  /** @param {number} seconds since the start */
  sendUntil(seconds) {
    const { rate, everyS = 0 } = this.load;
    const due = everyS > 0 ? Math.floor(seconds / everyS) * everyS : seconds;
    for (const until = Math.floor(due * rate); this.sent < until; this.sent++) {
      const { socket, sentAt } = this.#devices[this.sent % DEVICES];
      const { bytes, idAt } = this.#records[this.sent % RECORDS];
      this.#id = (this.#id % LAST_ID) + 1;
      bytes.writeUInt16BE(this.#id, idAt);
      if (seconds >= (plan.fromS ?? 0)) {
        sentAt.set(this.#id, performance.now());
        this.counted++;
      }
      socket.write(Buffer.from(bytes));
    }
  }
}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function main() {
  const all = plan.classes.map((load) => new Patients(load));
  await Promise.all(all.map(({ ready }) => ready));
  const startedAt = performance.now();
  console.log(JSON.stringify({ event: 'start', ms: Date.now() }));
  for (let seconds = 0; seconds < plan.seconds; seconds = (performance.now() - startedAt) / 1000) {
    for (const each of all) each.sendUntil(seconds);
    await sleep(TICK_MS);
  }
  await sleep(Math.max(...plan.classes.map(({ patienceMs }) => patienceMs)) + REST_MS);
  const classes = all.map(({ load, counted, inTime, acknowledged, sumMs, worstMs }) => ({
    ...{ class: load.class, patienceMs: load.patienceMs },
    ...{ sent: counted, inTime, meanMs: sumMs / acknowledged, worstMs }
  }));
  console.log(JSON.stringify({ event: 'end', classes }));
  process.exit(0);
}

main();
