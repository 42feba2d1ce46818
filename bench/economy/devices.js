'use strict';
// Entry of a process: devices that publish records of one shape at QoS 1, in phases with a rate each. Arguments:
//   SHAPE PORT PHASES [HOST CA]   PHASES: JSON, [{rate: records a second, seconds}]
// With HOST and CA, one connection over TLS publishes the records of all devices, each with a write of its own.
// Prints a JSON line when a phase starts, and one with the counts at the end.

const fs = require('node:fs');
const net = require('node:net');
const tls = require('node:tls');
const { Frames, TYPE, connect, publish } = require('./frames');
const { DEVICES, recordsOf } = require('./shapes');

/** Records that are made before the start and sent again and again. */
const RECORDS = 20000;
/** Most unacknowledged records of a connection. An identifier is free again long before its turn. */
const MOST_OPEN = 200;
const MOST_OPEN_ALONE = 10000;
/** More unsent bytes than this stop a connection. */
const MOST_UNSENT = 65536;
const TICK_MS = 4;
const LAST_ID = 65535;

const [shape, port, phasesText, host = '127.0.0.1', ca = ''] = process.argv.slice(2);
/** @type {{ rate: number, seconds: number }[]} */
const phases = JSON.parse(phasesText);
const isAlone = ca !== '';

class Device {
  #frames = new Frames();
  #id = 0;

  /** @param {string} name */
  constructor(name) {
    this.open = 0;
    this.acked = 0;
    this.mostOpen = isAlone ? MOST_OPEN_ALONE : MOST_OPEN;
    const where = { host, port: Number(port) };
    this.socket = isAlone ? tls.connect({ ...where, ca: fs.readFileSync(ca) }) : net.connect(where);
    this.socket.setNoDelay(true);
    this.socket.on('error', (error) => {
      console.error(`${name}: ${error.message}`);
      process.exit(1);
    });
    this.ready = new Promise((resolve) => {
      this.socket.on('data', (/** @type {Buffer} */ chunk) => {
        for (const { type } of this.#frames.push(chunk)) {
          if (type === TYPE.CONNACK) resolve(undefined);
          else if (type === TYPE.PUBACK) {
            this.acked++;
            this.open--;
          }
        }
      });
    });
    this.socket.write(connect(name));
  }

  get isFull() {
    return this.open >= this.mostOpen || this.socket.writableLength > MOST_UNSENT;
  }

  /** @param {ReturnType<typeof publish>} record */
  send({ bytes, idAt }) {
    this.#id = (this.#id % LAST_ID) + 1;
    bytes.writeUInt16BE(this.#id, idAt);
    if (!isAlone && this.socket.writableCorked === 0) this.socket.cork();
    this.socket.write(bytes);
    this.open++;
  }

  flush() {
    if (this.socket.writableCorked > 0) this.socket.uncork();
  }
}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function main() {
  const records = recordsOf(shape, RECORDS).map(([topic, payload]) =>
    publish(`d/${topic}`, Buffer.from(JSON.stringify(payload)))
  );
  const devices = Array.from({ length: isAlone ? 1 : DEVICES }, (_, i) => new Device(`device-${i}`));
  await Promise.all(devices.map(({ ready }) => ready));
  let sent = 0;
  /** @param {number} until index of the record @returns {boolean} true: a device is full */
  const sendTo = (until) => {
    while (sent < until) {
      const device = devices[sent % devices.length];
      if (device.isFull) break;
      device.send(records[sent % RECORDS]);
      sent++;
    }
    for (const device of devices) device.flush();
    return sent < until;
  };
  for (const [phase, { rate, seconds }] of phases.entries()) {
    let [startedAt, startedWith] = [performance.now(), sent];
    const endsAt = startedAt + seconds * 1000;
    console.log(JSON.stringify({ event: 'phase', phase, ms: Date.now() }));
    for (let now = startedAt; now < endsAt; now = performance.now()) {
      const isBehind = sendTo(startedWith + Math.floor(((now - startedAt) * rate) / 1000));
      // What the system does not take now is not sent in a burst later.
      if (isBehind) [startedAt, startedWith] = [now, sent];
      await sleep(TICK_MS);
    }
  }
  const acked = devices.reduce((sum, device) => sum + device.acked, 0);
  console.log(JSON.stringify({ event: 'end', sent, acked }));
  process.exit(0);
}

main();
