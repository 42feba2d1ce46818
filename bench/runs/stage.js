'use strict';
// The setup of every command: a cloud, a sink, a system and load. Each command is a schedule on a stage.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../harness/child');
const { startCloud } = require('../harness/cloud');
const { build } = require('../harness/build');
const { compareStreams } = require('../harness/compare');
const { readCpu } = require('../harness/proc');
const { readSamples } = require('../stats/latency');
const { standAside } = require('../harness/stand-aside');
const { systems } = require('../options/systems');

/** The parameter of an adapter's start(). @typedef {import('../systems').Context} Context */

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** @param {Record<string, string | number>} values @returns {string[]} */
const flags = (values) => Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);

/** A running generator. */
class Load {
  /** @param {string} file @param {Child} child */
  constructor(file, child) {
    this.file = file;
    this.child = child;
    /** Intended time of the first message, ms. */
    this.startMs = 0;
  }

  /** Waits until it sends. */
  async started() {
    const start = await this.child.until(
      () => this.child.jsonLines().find((line) => line.event === 'start'),
      90000
    );
    this.startMs = start.us / 1000;
    return this;
  }

  /** Returns its reports so far (option progress-ms). @returns {{us: number, sent: number, acked: number}[]} */
  progress() {
    return this.child.jsonLines().filter((line) => line.event === 'progress');
  }

  /** Waits for the end of the load. @returns {Promise<any>} its result, with the streams */
  async result() {
    const { code } = await this.child.exited;
    if (code !== 0) throw new Error(`loadgen failed:\n${this.child.output}`);
    return JSON.parse(fs.readFileSync(this.file, 'utf8'));
  }
}

class Stage {
  /** @param {import('./measure').Profile} profile */
  constructor(profile) {
    this.profile = profile;
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-run-'));
    this.openFiles = profile.openFiles ?? profile.devices * 2 + 1024;
    this.sinkFile = path.join(this.folder, 'sink.json');
    this.samplesFile = path.join(this.folder, 'samples');
    /** @type {Child[]} */
    this.tools = [];
    /** @type {Load[]} */
    this.loads = [];
    /** Acknowledged records that no generator sent. @type {import('../harness/compare').SentStream[]} */
    this.made = [];
    /** Lets this process use its former cores again. */
    this.comeBack = () => {};
  }

  /** Starts the cloud and its sink. @param {Record<string, string | number>} [sinkOptions] */
  async open(sinkOptions = {}) {
    const { harnessCpus: cpus, warmup, cloudAt } = this.profile;
    this.comeBack = standAside(cpus);
    this.cloud = await startCloud({ cpus, openFiles: this.openFiles, ...cloudAt });
    const options = {
      port: this.cloud.plainPort,
      clean: 0, // a persistent session keeps records until the sink is back after an outage
      'max-seconds': 7200,
      'skip-ms': warmup * 1000,
      out: this.sinkFile,
      samples: this.samplesFile,
      'history-suffix': (this.profile.gatewayEnv.SEGANET_HISTORY ?? 'suffix') === 'suffix' ? '/history' : '',
      ...this.profile.sinkOptions,
      ...sinkOptions
    };
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== ''));
    this.sink = new Child(build('sink'), flags(given), {
      name: 'sink',
      cpus,
      within: cloudAt?.sinkWithin ?? cloudAt?.within
    });
    this.tools.push(this.sink);
    await this.sink.until((output) => output.includes('"ready"'));
    return this;
  }

  /** @param {string} name of the system @param {typeof systems} [known] all systems by name */
  async startSystem(name, known = systems) {
    const { profile, openFiles } = this;
    const cloud = /** @type {import('../harness/cloud').Cloud} */ (this.cloud);
    this.system = await known[name]({ ...profile, cloud, openFiles, cpus: profile.gatewayCpus });
    return this.system;
  }

  /**
   * Starts a generator according to the profile.
   * @param {Record<string, string | number>} [more] additional options of loadgen
   */
  startLoad(more = {}) {
    const { profile } = this;
    const file = path.join(this.folder, `load-${this.loads.length}.json`);
    const options = {
      port: this.system ? this.system.port : 0,
      devices: profile.devices,
      rate: profile.rate,
      seconds: profile.seconds,
      payload: profile.payload,
      inflight: profile.inflight,
      drain: profile.drain,
      'alarm-every': profile.alarmEvery,
      'skip-ms': profile.warmup * 1000,
      out: file,
      ...more
    };
    const child = new Child(build('loadgen'), flags(options), {
      name: 'loadgen',
      cpus: profile.harnessCpus,
      openFiles: this.openFiles
    });
    this.tools.push(child);
    const load = new Load(file, child);
    this.loads.push(load);
    return load;
  }

  /** Returns the sink's last report. @returns {{records: number, unique: number, historical: number}} */
  arrivedSoFar() {
    const lines = this.sink ? this.sink.jsonLines().filter((line) => line.event === 'progress') : [];
    return lines.pop() || { records: 0, unique: 0, historical: 0 };
  }

  /** Waits until the sink is subscribed (again). @param {number} [timeoutMs] */
  async sinkBack(timeoutMs = 20000) {
    if (this.cloud) await this.cloud.waitForClient(/^bench-sink$/, timeoutMs);
  }

  /**
   * Waits until `expected` records have arrived, or no new one has for `quietMs`.
   * @param {number} expected @param {number} quietMs @param {number} [timeoutMs]
   */
  async settle(expected, quietMs, timeoutMs = 120000) {
    let last = -1;
    let since = Date.now();
    const deadline = Date.now() + timeoutMs;
    while (Date.now() < deadline && this.sink && !this.sink.exit) {
      const { unique } = this.arrivedSoFar();
      if (unique !== last) since = Date.now();
      last = unique;
      // Also waits after all have arrived, because a duplicate may be in flight.
      if (Date.now() - since > (unique >= expected ? 1200 : quietMs)) return;
      await sleep(100);
    }
  }

  /** Returns the CPU time of each process group of the system so far, in seconds. @returns {number[]} */
  cpu() {
    return this.system ? this.system.children.map((child) => readCpu(child.pid)) : [];
  }

  /** Stops the system and the sink, and joins their results. */
  async finish() {
    const sent = [];
    for (const load of this.loads) sent.push(await load.result());
    const { system, sink } = this;
    const cleanEnd = system ? await system.stop() : true;
    if (sink) await sink.stop('SIGTERM', 60000);
    const arrived = JSON.parse(fs.readFileSync(this.sinkFile, 'utf8'));
    const streams = [...this.made, ...sent.flatMap((each) => each.streams)];
    const forwards = system ? system.forwards : true;
    const verdict = forwards ? compareStreams(streams, arrived.streams) : undefined;
    /** One per generator. */
    const verdicts = sent.map((each) => compareStreams(each.streams, arrived.streams));
    for (const each of [...sent, arrived]) delete each.streams;
    const samples = readSamples(this.samplesFile);
    return { sent, arrived, verdict, verdicts, cleanEnd, forwards, samples };
  }

  async close() {
    this.comeBack();
    if (this.system) await this.system.close();
    for (const tool of this.tools) await tool.stop();
    if (this.cloud) await this.cloud.close();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { Stage, Load, sleep };
