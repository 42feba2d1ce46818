'use strict';
// Hands the devices of an engine over to other gateways before planned work: it accepts no more, and ends their
// connections at a chosen rate, so that they come back elsewhere. The records that it has leave as always.

const { sum } = require('./drain');

const SECOND_MS = 1000;
const STEP_MS = 100;
const PAGE = 1000;
/** Pause after a pass over all devices that found none: connections that were being accepted may still appear. */
const PAUSE_MS = 1000;
const MAX_PER_S = 100000;
/** As in the engine. */
const MAX_SERVER_BYTES = 120;

/**
 * @typedef {object} HandoverView
 * @property {boolean} isOn
 * @property {number} devices with an open connection, as far as they are known
 * @property {number} moved connections that were ended
 * @property {number} records that wait for a cloud, in memory and on disk
 */

class Handover {
  #host;
  #now;
  #perS = 0;
  #server = '';
  #moved = 0;
  /** Devices of the last whole pass that the engine counts without a connection: a source pushes their records. */
  #pushed = 0;
  /** The same, of the pass that goes on. */
  #pushedSoFar = 0;
  /** @type {Set<() => void>} */
  #starts = new Set();
  /** Devices that may be moved by now, times SECOND_MS. */
  #owed = 0;
  /** Where the pass over the devices goes on. */
  #after = '';
  #pausedUntil = 0;
  /** @type {NodeJS.Timeout | null} */
  #timer = null;

  /** @param {import('./host').EngineHost} host @param {() => number} [now] ms, monotonic */
  constructor(host, now = () => performance.now()) {
    this.#host = host;
    this.#now = now;
  }

  get isOn() {
    return this.#timer !== null;
  }

  /**
   * Begins to hand the devices over, or goes on at another rate.
   * @param {{ perS: number, server: string }} how perS: devices a second; server: address of another gateway, which
   *   MQTT 5 devices get as Server Reference, '' = none
   * @throws {RangeError} with a sentence
   */
  start({ perS, server }) {
    if (!Number.isInteger(perS) || perS < 1 || perS > MAX_PER_S)
      throw new RangeError(`The rate must be a whole number from 1 to ${MAX_PER_S}.`);
    if (Buffer.byteLength(server) > MAX_SERVER_BYTES || /[\s\p{Cc}]/u.test(server))
      throw new RangeError(`The other server must be an address of at most ${MAX_SERVER_BYTES} bytes.`);
    this.#perS = perS;
    this.#server = server;
    if (this.#timer) return;
    this.#host.stopAccepting();
    this.#timer = setInterval(() => this.#step(), STEP_MS);
    this.#timer.unref();
    for (const call of this.#starts) call();
  }

  /**
   * Calls when the handover begins, for what takes records from elsewhere.
   * @param {() => void} call
   * @returns {() => void} ends it
   */
  onStart(call) {
    this.#starts.add(call);
    return () => void this.#starts.delete(call);
  }

  #step() {
    const { engine } = this.#host;
    this.#owed = Math.min(this.#perS * SECOND_MS, this.#owed + this.#perS * STEP_MS);
    if (this.#now() < this.#pausedUntil) return;
    const before = this.#moved;
    while (this.#owed >= SECOND_MS) {
      const page = engine.agents(this.#after, PAGE);
      for (const { device, connected, address } of page) {
        if (this.#owed < SECOND_MS) return;
        this.#after = device;
        if (connected && address === '') this.#pushedSoFar++;
        if (!connected || !engine.dismissDevice(device, this.#server)) continue;
        this.#moved++;
        this.#owed -= SECOND_MS;
      }
      if (page.length === PAGE) continue;
      this.#after = '';
      [this.#pushed, this.#pushedSoFar] = [this.#pushedSoFar, 0];
      if (this.#moved === before) this.#pausedUntil = this.#now() + PAUSE_MS;
      return;
    }
  }

  /** @returns {HandoverView} */
  view() {
    const { devices, heldRecords, backlogRecords } = this.#host.engine.stats();
    const records = sum(heldRecords) + sum(backlogRecords);
    return { isOn: this.isOn, devices: Math.max(0, devices - this.#pushed), moved: this.#moved, records };
  }

  close() {
    if (this.#timer) clearInterval(this.#timer);
  }
}

exports.Handover = Handover;
