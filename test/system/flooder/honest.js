'use strict';
// Devices that follow the rules. Each sends one record after the other and measures the time to its acknowledgement.

const dgram = require('node:dgram');
const net = require('node:net');
const mqtt = require('mqtt');
const packets = require('./packets');

const PAUSE_MS = 100;
/** A record without an acknowledgement after this time counts as unanswered. */
const ANSWER_MS = 20000;
/** RFC 7252, 4.8: 2 s at first, then twice as long. */
const FIRST_TIMEOUT_MS = 2000;
const ACK = 2;

/** @typedef {(n: number) => Promise<boolean>} Send false: the record was refused, and does not count */
/** @typedef {{ send: Send, close: () => void }} Device */
/** @typedef {{ at: number, ms: number }} Sample */

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const body = (/** @type {number} */ n) => `{"n":${n}}`;

class Honest {
  /** @type {Device[]} */
  #devices;

  constructor() {
    /** Acknowledged numbers, by device. @type {Map<string, number[]>} */
    this.acknowledged = new Map();
    /** @type {Sample[]} */
    this.samples = [];
    /** Failures. @type {string[]} */
    this.findings = [];
    this.isOver = false;
    /** @type {Promise<void>[]} */
    this.songs = [];
    this.#devices = [];
  }

  /** @param {string} id @param {Device} device */
  start(id, device) {
    this.acknowledged.set(id, []);
    this.#devices.push(device);
    this.songs.push(this.#sing(id, device));
  }

  /** @param {string} id @param {Device} device */
  async #sing(id, device) {
    for (let n = 1; !this.isOver; n++) {
      const at = performance.now();
      /** @type {NodeJS.Timeout | undefined} */
      let timer;
      const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer in ${ANSWER_MS} ms`)), ANSWER_MS);
      });
      try {
        const isTaken = await Promise.race([device.send(n), late]);
        if (isTaken) this.acknowledged.get(id)?.push(n);
        this.samples.push({ at, ms: performance.now() - at });
      } catch (error) {
        if (!this.isOver) this.findings.push(`${id}, record ${n}: ${/** @type {Error} */ (error).message}`);
        return;
      } finally {
        clearTimeout(timer);
      }
      await pause(PAUSE_MS);
    }
  }

  async stop() {
    this.isOver = true;
    await Promise.all(this.songs);
    for (const device of this.#devices) device.close();
  }
}

/** @param {string} url @param {string} id @param {4 | 5} protocolVersion @returns {Promise<Device>} */
async function mqttDevice(url, id, protocolVersion) {
  const client = await mqtt.connectAsync(url, {
    clientId: id,
    protocolVersion,
    reconnectPeriod: 0,
    keepalive: 60
  });
  /** @type {(error: Error) => void} */
  let fail = () => {};
  const lost = new Promise((_, reject) => (fail = reject));
  lost.catch(() => {});
  client.on('error', fail);
  client.on('close', () => fail(new Error('its connection was closed')));
  return {
    send: async (n) => {
      await Promise.race([client.publishAsync(`d/${id}/t`, body(n), { qos: 1 }), lost]);
      return true;
    },
    close: () => client.end(true)
  };
}

/**
 * Each packet comes in two pieces.
 * @param {number} port
 * @param {string} id
 * @param {number} bytes
 * @returns {Promise<Device>}
 */
async function splitDevice(port, id, bytes) {
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true);
  /** @type {(error: Error) => void} */
  let fail = () => {};
  /** @type {() => void} */
  let acknowledged = () => {};
  let received = Buffer.alloc(0);
  const lost = new Promise((_, reject) => (fail = reject));
  lost.catch(() => {});
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('its connection was closed')));
  socket.on('data', (data) => {
    received = Buffer.concat([received, data]);
    for (; received.length >= 4; received = received.subarray(4)) acknowledged();
  });
  const answer = () => Promise.race([new Promise((resolve) => (acknowledged = () => resolve(true))), lost]);
  socket.write(packets.connect(id));
  await answer();
  return {
    send: async (n) => {
      const filler = 'x'.repeat(bytes);
      const packet = packets.publish(`d/${id}/t`, `{"n":${n},"x":"${filler}"}`, (n % 65535) + 1);
      const half = packet.length >> 1;
      socket.write(packet.subarray(0, half));
      await pause(30);
      socket.write(packet.subarray(half));
      return Boolean(await answer());
    },
    close: () => socket.destroy()
  };
}

/** @param {number} port @param {string} id @returns {Promise<Device>} */
async function coapDevice(port, id) {
  const socket = dgram.createSocket('udp4');
  await new Promise((resolve) => socket.connect(port, '127.0.0.1', () => resolve(0)));
  /** @type {(message: Buffer) => void} */
  let heard = () => {};
  socket.on('message', (message) => heard(message));
  socket.on('error', () => {});
  return {
    send: (n) =>
      new Promise((resolve, reject) => {
        const message = packets.coap({ id: n & 0xffff, path: ['r', id, 't'], payload: body(n) });
        let waitMs = FIRST_TIMEOUT_MS;
        /** @type {NodeJS.Timeout} */
        let timer;
        const transmit = () => {
          socket.send(message);
          timer = setTimeout(transmit, waitMs);
          waitMs *= 2;
        };
        heard = (answer) => {
          // An empty acknowledgement announces the answer in a later message.
          const isMine = ((answer[0] >> 4) & 3) === ACK && answer.readUInt16BE(2) === (n & 0xffff);
          if (!isMine || answer[1] === 0) return;
          clearTimeout(timer);
          // 5.03: retry later.
          if (answer[1] === 0x44 || answer[1] === 0xa3) resolve(answer[1] === 0x44);
          else reject(new Error(`answered ${answer[1] >> 5}.${answer[1] & 31}`));
        };
        transmit();
      }),
    close: () => socket.close()
  };
}

/** @param {number} port @param {string} id @returns {Device} */
function httpDevice(port, id) {
  return {
    send: async (n) => {
      const response = await fetch(`http://127.0.0.1:${port}/r/${id}/t`, {
        method: 'POST',
        body: body(n),
        headers: { 'Content-Type': 'application/json' }
      });
      await response.arrayBuffer();
      if (response.status !== 200 && response.status !== 503) throw new Error(`answered ${response.status}`);
      return response.status === 200;
    },
    close: () => {}
  };
}

module.exports = { Honest, mqttDevice, splitDevice, coapDevice, httpDevice };
