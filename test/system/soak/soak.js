'use strict';
// One long run: devices, the gateway, a link that is slow for most of the time, and small faults.

const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { draws, seeded } = require('../../fixtures/random');
const { CloudBroker } = require('../history/cloud');
const { Fleet } = require('../history/fleet');
const { takePorts } = require('../history/ports');
const { CALM, Proxy } = require('../history/proxy');
const { systems } = require('../history/systems');
const { FAULTS } = require('./faults');
const { Ledger } = require('./ledger');
const { memoryOf } = require('./memory');

const MINUTE_MS = 60000;
/** No part of a soak takes longer to answer. */
const LOOK_MS = 5000;
/** Without an arrival for this time in the calm end, what is missing does not come any more. */
const QUIET_MS = 30000;

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** @param {number[] | undefined} byClass */
const sum = (byClass = []) => byClass.reduce((total, each) => total + each, 0);

/**
 * @typedef {object} SoakOptions
 * @property {number} minutes of load @property {number} devices @property {number} rate records a second
 * @property {number} seed @property {number} every minutes between two rows @property {string} folder
 * @property {number} backlog the cloud is slow until this many records wait, then quick until half of them are left
 */

class Soak {
  /** @param {SoakOptions} options @param {(row: Row) => void} onRow */
  constructor(options, onRow) {
    this.options = options;
    this.onRow = onRow;
    this.ledger = new Ledger();
    this.isOver = false;
    /** @type {Record<string, number>} */
    this.faults = {};
    this.look = async (/** @type {string} */ url) => {
      const signal = AbortSignal.timeout(LOOK_MS);
      const answer = await fetch(`http://127.0.0.1:${this.editorPort}${url}`, { signal }).catch(() => null);
      return (await answer?.text().catch(() => '')) ?? '';
    };
  }

  async open() {
    const { folder, devices, rate, seed } = this.options;
    const [devicePort, uplinkPort, brokerPort, editorPort] = await takePorts(4);
    const started = performance.now();
    const clock = () => performance.now() - started;
    const history = /** @type {any} */ (this.ledger.history);
    this.editorPort = editorPort;
    const home = path.join(folder, 'home');
    fs.mkdirSync(home, { recursive: true, mode: 0o700 });
    const logFolder = path.join(home, 'log');
    this.system = systems.gateway.make({ home, devicePort, uplinkPort, editorPort, logFolder, env: {} });
    this.broker = new CloudBroker(folder, brokerPort);
    this.proxy = new Proxy({ port: uplinkPort, target: brokerPort, window: 65535, history, clock });
    const shape = { seed, minPad: 20, maxPad: 200, bigEvery: 0, bigPad: 0 };
    this.fleet = new Fleet({ port: devicePort, devices, rate, shape, history, clock });
    this.system.prepare();
    await Promise.all([this.broker.start(), this.proxy.open()]);
    this.system.start();
    await this.system.ready(60000);
    await eventually(() => this.proxy.connects > 0, { timeoutMs: 30000, what: 'the uplink' });
    await this.fleet.connect();
  }

  /** @returns {Promise<{ rows: Row[], missing: number, findings: string[], faults: Record<string, number> }>} */
  async run() {
    const { minutes, every } = this.options;
    /** @type {Row[]} */
    const rows = [];
    const begin = performance.now();
    const end = begin + minutes * MINUTE_MS;
    const row = async () => {
      const next = await this.#row((performance.now() - begin) / MINUTE_MS);
      rows.push(next);
      this.onRow(next);
    };
    this.fleet.start();
    const faults = this.#haveFaults();
    const cloud = this.#bePaced();
    await row();
    for (let at = begin + every * MINUTE_MS; at <= end + 500; at += every * MINUTE_MS) {
      await wait(at - performance.now());
      await row();
    }
    this.isOver = true;
    this.fleet.quiet();
    await Promise.all([faults, cloud]);
    await this.#drain();
    await row();
    this.#check();
    return { rows, missing: this.ledger.owed.size, findings: this.ledger.findings, faults: this.faults };
  }

  /** @param {number} minute @returns {Promise<Row>} */
  async #row(minute) {
    this.ledger.forgetCopies();
    const stats = await this.system.stats();
    const metrics = await this.look('/seganet/metrics');
    const stalls = [...metrics.matchAll(/^seganet_stalls_total\S* (\d+)/gm)];
    return {
      minute,
      ...memoryOf(this.system.children.map((/** @type {any} */ { pid }) => pid)),
      waiting: stats ? sum(stats.heldRecords) + sum(stats.backlogRecords) : NaN,
      acknowledged: this.ledger.acknowledged,
      owed: this.ledger.owed.size,
      stalls: stalls.reduce((total, [, count]) => total + Number(count), 0)
    };
  }

  async #haveFaults() {
    const draw = draws(seeded(this.options.seed));
    while (!this.isOver) {
      const pause = draw.between(5000, 25000);
      for (let ms = 0; ms < pause && !this.isOver; ms += 500) await wait(500);
      if (this.isOver) return;
      const name = draw.pick(Object.keys(FAULTS));
      this.faults[name] = (this.faults[name] ?? 0) + 1;
      await FAULTS[name](this, draw);
    }
  }

  /** The cloud is too slow for the load until enough waits, then quick, and so on. */
  async #bePaced() {
    let isSlow = true;
    while (!this.isOver) {
      const waiting = this.ledger.owed.size;
      if (isSlow && waiting >= this.options.backlog) isSlow = false;
      else if (!isSlow && waiting < this.options.backlog / 2) isSlow = true;
      const { delayMs, receiveMaximum } = this.proxy.conditions;
      const wanted = isSlow ? { delayMs: 300, receiveMaximum: 3 } : { delayMs: 0, receiveMaximum: 0 };
      if (delayMs !== wanted.delayMs || receiveMaximum !== wanted.receiveMaximum) {
        Object.assign(this.proxy.conditions, wanted);
        this.proxy.reset();
      }
      await wait(1000);
    }
  }

  /** Nothing arrives at the gateway any more, and the cloud is quick: everything must reach it. */
  async #drain() {
    Object.assign(this.proxy.conditions, CALM);
    this.proxy.reset();
    let moved = performance.now();
    for (let last = -1; this.ledger.owed.size + this.fleet.unacked > 0; await wait(200)) {
      if (this.ledger.arrived !== last) moved = performance.now();
      last = this.ledger.arrived;
      if (performance.now() - moved > QUIET_MS || !this.system.isAlive) return;
    }
  }

  #check() {
    const { ledger, system, fleet } = this;
    if (!system.isAlive) ledger.findings.push('exit: the gateway ended by itself');
    if (fleet.unacked > 0) ledger.findings.push(`device: ${fleet.unacked} records were never acknowledged`);
  }

  async close() {
    this.isOver = true;
    this.fleet?.stop();
    this.system?.signal('SIGCONT');
    await this.system?.kill();
    await this.proxy?.close();
    await this.broker?.stop('SIGKILL');
  }
}

/**
 * @typedef {object} Row memory in bytes
 * @property {number} minute @property {number} rss @property {number} anonymous @property {number} threads
 * @property {number} descriptors @property {number} cpuSeconds @property {number} waiting records, by its counters
 * @property {number} acknowledged @property {number} owed acknowledged, and not arrived @property {number} stalls
 */

module.exports = { Soak };
