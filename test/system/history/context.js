'use strict';
// All parts of one run, for the faults to act on.

const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { CloudBroker } = require('./cloud');
const { Fleet } = require('./fleet');
const { Image, SmallDisk } = require('./disks/image');
const { takePorts } = require('./ports');
const { Proxy } = require('./proxy');
const { Sampler } = require('./sampler');
const { followReports } = require('./set-aside');
const { ClockShim, IoShim } = require('./shim');
const { systems } = require('./systems');

const SMALL_DISK_MIB = 24;

/** @typedef {import('./schedule').Schedule} Schedule */

/** @param {Schedule} schedule @returns {Record<string, string>} */
function environment({ gateway }) {
  return {
    SEGANET_ACKNOWLEDGE: gateway.acknowledge,
    'seganet-batch.flush': 'limits',
    SEGANET_BATCH_MODE: gateway.batchMode,
    'seganet-batch.minDevices': String(gateway.batchDevices),
    'seganet-batch.maxBytes': String(gateway.batchBytes),
    'seganet-batch.maxDelayMs': String(gateway.batchMs),
    'seganet-uplink-broker.inflight': String(gateway.inflight),
    SEGANET_MEMORY_MIB: String(gateway.memoryMiB),
    SEGANET_LOG_MIB: String(gateway.logMiB),
    'seganet-engine.whenFull': gateway.whenFull,
    'seganet-engine.oddTopics': gateway.oddTopics,
    ...(gateway.format && { SEGANET_BATCH_FORMAT: gateway.format }),
    ...(gateway.ackTimeoutMs && { 'seganet-uplink-broker.ackTimeoutMs': String(gateway.ackTimeoutMs) })
  };
}

class Context {
  /** @param {Schedule} schedule @param {{peer: string, folder: string}} options */
  static async make(schedule, { peer, folder }) {
    const context = new Context(schedule, folder);
    context.#build(peer, await takePorts(4));
    return context;
  }

  /** @param {Schedule} schedule @param {string} folder */
  constructor(schedule, folder) {
    const started = performance.now();
    this.schedule = schedule;
    this.folder = folder;
    this.clock = () => performance.now() - started;
    /** @type {import('./history').History} */
    this.history = {
      devices: [],
      arrivals: [],
      refusals: [],
      setAside: [],
      dead: [],
      faults: [],
      disruptions: [],
      samples: [],
      stats: [],
      pauses: [],
      findings: []
    };
    /** @type {{close: () => void}[]} */
    this.closing = [];
  }

  /** @param {string} peer @param {number[]} ports */
  #build(peer, [devicePort, uplinkPort, brokerPort, editorPort]) {
    const { schedule, folder, history, clock } = this;
    const { isOurs, isLying = false, isUnordered = false, env: more = {}, make } = systems[peer];
    const has = (/** @type {string} */ kind) => schedule.faults.some((fault) => fault.kind === kind);
    this.image = isOurs && has('power-cut') ? this.#closes(new Image(folder)) : null;
    this.smallDisk = isOurs && has('disk-full') ? this.#closes(new SmallDisk(folder, SMALL_DISK_MIB)) : null;
    this.clockShim = isOurs && has('clock') ? this.#closes(new ClockShim(folder)) : null;
    this.ioShim =
      isOurs && (isLying || has('write-failures')) ? this.#closes(new IoShim(folder, 'log.db')) : null;
    if (isLying) this.ioShim?.set({ lie: 1 });
    const home = path.join(this.image?.root ?? folder, 'home');
    fs.mkdirSync(home, { recursive: true, mode: 0o700 });
    this.logFolder = path.join(this.smallDisk?.root ?? home, 'log');
    const shims = [this.clockShim, this.ioShim].filter((shim) => shim !== null);
    const preload = shims.length > 0 ? { LD_PRELOAD: shims.map(({ library }) => library).join(':') } : {};
    const env = Object.assign(environment(schedule), more, preload, ...shims.map((shim) => shim.env));
    const { logFolder } = this;
    this.isOurs = isOurs;
    this.isUnordered = isUnordered;
    this.system = make({ home, devicePort, uplinkPort, editorPort, logFolder, env });
    this.system.onStart = (child) => followReports(child, history, clock);
    this.broker = new CloudBroker(folder, brokerPort);
    const window = isOurs ? schedule.gateway.inflight : 65535;
    this.proxy = new Proxy({ port: uplinkPort, target: brokerPort, window, history, clock });
    const { devices, rate, shape } = schedule;
    this.fleet = new Fleet({ port: devicePort, devices, rate, shape, history, clock });
  }

  /** @template {{close: () => void}} T @param {T} part @returns {T} */
  #closes(part) {
    this.closing.push(part);
    return part;
  }

  async open() {
    this.system.prepare();
    await Promise.all([this.broker.start(), this.proxy.open()]);
    this.system.start();
    await this.system.ready();
    const { system, logFolder, history, clock } = this;
    this.sampler = new Sampler({ system, logFolder, history, clock });
    await eventually(() => this.proxy.connects > 0, { timeoutMs: 20000, what: 'the uplink to the cloud' });
    await this.fleet.connect();
  }

  /** @param {number} ms */
  wait(ms) {
    return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
  }

  /** The gateway is about to end: reads its counters for the last time. */
  ending() {
    return this.sampler?.look();
  }

  /** The gateway has ended, or its engine has. */
  crashed() {
    this.history.disruptions.push({ kind: 'process', time: this.clock() });
    if (!this.system.isAlive) this.sampler?.ended();
  }

  /** Waits until SIGSTOP has reached every thread. @param {any} system */
  async stopped(system) {
    const states = () =>
      system.children.flatMap((/** @type {any} */ { pid }) =>
        fs.readdirSync(`/proc/${pid}/task`).map((task) => {
          const stat = fs.readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8');
          return stat.slice(stat.lastIndexOf(')') + 2)[0];
        })
      );
    await eventually(() => states().every((state) => state === 'T'), {
      everyMs: 2,
      what: 'a stopped gateway'
    });
  }

  /** @param {string} what @param {string} text */
  problem(what, text) {
    this.history.findings.push({ what, text });
  }

  async close() {
    this.sampler?.stop();
    this.fleet.stop();
    this.system.signal('SIGKILL');
    await this.system.kill();
    await this.proxy.close();
    await this.broker.stop('SIGKILL');
    for (const part of this.closing.reverse()) part.close();
  }
}

module.exports = { Context };
