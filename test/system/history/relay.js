'use strict';
// One connection of the gateway through the proxy: passes packets on under the conditions, and records those that the
// broker took.

const packets = require('mqtt-packet');
const net = require('node:net');
const { Frames, typeOf, type } = require('./frames');
const { readPublish } = require('./devices/reading');

/**
 * A PUBLISH that the gateway waits for.
 * @typedef {object} Pending
 * @property {import('./devices/reading').Reading} reading @property {number} bytes @property {number} sent @property {Buffer | null} answer
 * @property {number} due
 * @property {number} refused code, 0 = the broker's own answer
 */

const PACE_MS = 20;
/** Above this the proxy stops reading: a slow broker shows as a full socket. */
const QUEUE_BYTES = 4096;

class Relay {
  /** @param {net.Socket} client @param {import('./proxy').Proxy} proxy */
  constructor(client, proxy) {
    this.client = client;
    this.proxy = proxy;
    this.broker = net.connect({ port: proxy.target, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    this.version = 4;
    this.isFrozen = false;
    this.hadSession = false;
    this.isDisrupted = false;
    /** Of its CONNECT. */
    this.clientId = '';
    /** Breaks in the middle of the next packet of this type; 0 = not. */
    this.breakAt = 0;
    this.receiveMaximum = proxy.window;
    this.maximumPacketSize = 0;
    /** In the order of sending, by packet id. @type {Map<number, Pending>} */
    this.pending = new Map();
    /** @type {Buffer[]} */
    this.queue = [];
    this.queued = 0;
    this.budget = 0;
    this.pace = setInterval(() => this.#forwardPaced(), PACE_MS);
    this.#wire(client, (frame) => this.#fromGateway(frame));
    this.#wire(this.broker, (frame) => this.#fromBroker(frame));
    // Opened during a hole: nothing of it passes before the end, as with retransmissions.
    if (proxy.conditions.frozen) client.pause();
  }

  /** @param {net.Socket} socket @param {(frame: Buffer) => void} handle */
  #wire(socket, handle) {
    const frames = new Frames();
    socket.on('data', (bytes) => {
      this.proxy.awake();
      if (this.isFrozen) return;
      try {
        for (const frame of frames.push(bytes)) if (!this.isFrozen) handle(frame);
      } catch (error) {
        this.proxy.problem('protocol', /** @type {Error} */ (error).message);
        this.close();
      }
    });
    socket.on('error', () => {});
    // A frozen link signals no end: the broker's is kept from the gateway.
    socket.on('close', () => {
      if (socket === this.client || !this.isFrozen) this.close();
    });
  }

  /** From now on nothing passes, in either direction, without notice. */
  freeze() {
    this.isFrozen = true;
  }

  /** The hole has ended: data sent in it passes. */
  thaw() {
    if (!this.isFrozen) this.client.resume();
  }

  close() {
    clearInterval(this.pace);
    this.client.destroy();
    this.broker.destroy();
    this.disrupted();
    this.proxy.relays.delete(this);
  }

  /** Ends it by RST. */
  reset() {
    if (!this.client.destroyed) this.client.resetAndDestroy();
    this.close();
  }

  disrupted() {
    if (this.hadSession && !this.isDisrupted) this.proxy.disruption();
    this.isDisrupted = true;
  }

  /** @param {Buffer} frame */
  #fromGateway(frame) {
    const packetType = typeOf(frame);
    if (packetType === type.CONNECT) {
      // mosquitto's bridge sets the highest bit of the version.
      this.version = frame[frame.indexOf('MQTT') + 4] & 0x7f || 4;
      this.clientId = clientIdOf(frame);
      this.proxy.opened(this);
      const refusal = this.proxy.conditions.connack;
      if (refusal) {
        const code = { cmd: 'connack', reasonCode: refusal, returnCode: 3, sessionPresent: false };
        const answer = packets.generate(/** @type {any} */ (code), { protocolVersion: this.version });
        this.client.end(answer);
        return;
      }
    }
    if (packetType === type.PUBLISH && !this.#takePublish(frame)) return;
    this.queue.push(frame);
    this.queued += frame.length;
    if (this.proxy.conditions.bytesPerSecond === 0) this.#forward(Infinity);
    else if (this.queued > QUEUE_BYTES) this.client.pause();
    if (packetType === this.breakAt) this.reset();
  }

  #forwardPaced() {
    this.proxy.awake();
    const { bytesPerSecond } = this.proxy.conditions;
    if (bytesPerSecond === 0) this.#forward(Infinity);
    else {
      this.budget += (bytesPerSecond * PACE_MS) / 1000;
      this.#forward(this.budget);
    }
    this.release();
  }

  /** @param {number} budget bytes */
  #forward(budget) {
    while (this.queue.length > 0 && this.queue[0].length <= budget) {
      const frame = /** @type {Buffer} */ (this.queue.shift());
      this.queued -= frame.length;
      budget -= frame.length;
      const isLast = this.breakAt === type.PUBLISH && typeOf(frame) === type.PUBLISH;
      this.broker.write(isLast ? frame.subarray(0, frame.length >> 1) : frame);
    }
    this.budget = Number.isFinite(budget) && this.queue.length > 0 ? budget : 0;
    const isOpen = this.queued <= QUEUE_BYTES && !this.proxy.conditions.frozen;
    if (isOpen && this.client.isPaused()) this.client.resume();
  }

  /** @param {Buffer} frame @returns {boolean} true if it is passed on to the broker */
  #takePublish(frame) {
    const { proxy } = this;
    const packet = this.#parse(frame);
    if (packet.cmd !== 'publish' || packet.qos === 0) return true;
    const id = /** @type {number} */ (packet.messageId);
    const reading = readPublish(packet);
    if (reading.problem) proxy.problem('key', reading.problem);
    if (this.maximumPacketSize > 0 && frame.length > this.maximumPacketSize) {
      const text = `a packet of ${frame.length} bytes, and the broker takes ${this.maximumPacketSize}`;
      proxy.problem('maximum-packet-size', text);
    }
    if (this.pending.has(id)) proxy.problem('protocol', `packet id ${id} is used again before its PUBACK`);
    const refused = proxy.refusalOf(reading, this.version);
    const bytes = frame.length;
    this.pending.set(id, { reading, bytes, sent: proxy.clock(), answer: null, due: Infinity, refused });
    if (this.pending.size > this.receiveMaximum) {
      proxy.problem(
        'receive-maximum',
        `${this.pending.size} in flight, and the broker allows ${this.receiveMaximum}`
      );
    }
    if (!refused) return true;
    const answer = { cmd: 'puback', messageId: id, reasonCode: refused };
    this.#answered(id, packets.generate(/** @type {any} */ (answer), { protocolVersion: 5 }));
    return false;
  }

  /** @param {Buffer} frame */
  #fromBroker(frame) {
    const packetType = typeOf(frame);
    if (packetType === type.PUBACK) {
      const id = frame.readUInt16BE(2);
      const entry = this.pending.get(id);
      // The broker has it, whatever happens to its PUBACK.
      if (entry) this.proxy.arrived(entry);
      if (packetType === this.breakAt) {
        this.client.write(frame.subarray(0, 2));
        this.reset();
      } else this.#answered(id, frame);
      return;
    }
    this.client.write(packetType === type.CONNACK ? this.#connack(frame) : frame);
  }

  /** @param {number} id @param {Buffer} answer */
  #answered(id, answer) {
    const entry = this.pending.get(id);
    if (!entry) return;
    entry.answer = answer;
    entry.due = this.proxy.clock() + this.proxy.conditions.delayMs;
    this.release();
  }

  /** PUBACKs go to the gateway in the order of its PUBLISH packets [MQTT-4.6.0-2], refusals too. */
  release() {
    const now = this.proxy.clock();
    for (const [id, entry] of this.pending) {
      if (!entry.answer || entry.due > now || this.isFrozen || this.client.destroyed) return;
      this.pending.delete(id);
      this.client.write(entry.answer);
      this.proxy.answered(entry);
    }
  }

  /** Grants the limits of the conditions. @param {Buffer} frame */
  #connack(frame) {
    this.hadSession = true;
    const { receiveMaximum, maximumPacketSize } = this.proxy.conditions;
    if (this.version < 5 || (!receiveMaximum && !maximumPacketSize)) return frame;
    const packet = /** @type {packets.IConnackPacket} */ (this.#parse(frame));
    packet.properties = { ...packet.properties };
    if (receiveMaximum) {
      packet.properties.receiveMaximum = receiveMaximum;
      this.receiveMaximum = receiveMaximum;
    }
    if (maximumPacketSize) {
      packet.properties.maximumPacketSize = maximumPacketSize;
      this.maximumPacketSize = maximumPacketSize;
    }
    return packets.generate(packet, { protocolVersion: 5 });
  }

  /** @param {Buffer} frame @returns {packets.Packet} */
  #parse(frame) {
    const parser = packets.parser(/** @type {any} */ ({ protocolVersion: this.version }));
    /** @type {packets.Packet | undefined} */
    let packet;
    parser.on('packet', (parsed) => {
      packet = parsed;
    });
    parser.on('error', (error) => {
      throw error;
    });
    parser.parse(frame);
    if (!packet) throw new Error('not an MQTT packet');
    return packet;
  }
}

/** @param {Buffer} connect a CONNECT packet */
function clientIdOf(connect) {
  let id = '';
  const parser = packets.parser();
  parser.on('packet', (packet) => (id = /** @type {any} */ (packet).clientId ?? ''));
  parser.parse(connect);
  return id;
}

module.exports = { Relay };
