'use strict';
// Posts of signed-in devices to their topics: at random times, or all at once. Each becomes a record.

const path = require('node:path');
const { readCpu, readGroup } = require('../harness/proc');
const { writeList } = require('./coap-bytes');
const { FORMAT } = require('../../nodes/lib/ocf/cloud/coap');
const { hello, makeTopic, signIn, signUp } = require('./fleet');
const { kafkaArrivals } = require('./kafka-arrivals');

/** @typedef {import('./ocf-stage').OcfStage} OcfStage */
/** @typedef {import('./fleet').Account} Account */

/** Bytes of a request in the paper. */
const REQUEST_BYTES = 109;
/** Devices that post before the measurement, under topics of their own. */
const WARM = 20;
/** Unanswered requests with which a gateway is asked how many it takes of a connection. */
const PROBE = 128;
/** Unanswered requests: of a connection, if the gateway takes many; of a connection and in all, if it does not. */
const WIDE = 1000;
const NARROW = { connection: 60, all: 1000 };
const DRAIN_S = 30;

const common = {
  path: 'oic/ps/{id}',
  body: 'cbor',
  'content-format': FORMAT.OCF,
  'request-bytes': REQUEST_BYTES,
  drain: DRAIN_S
};

/** Signed-in devices with their topics, on one connection or each on its own. */
class Posters {
  /**
   * @param {OcfStage} stage @param {Account[]} accounts of the connections @param {number} devices
   * @param {number} first number of the first device
   */
  constructor(stage, accounts, devices, first) {
    this.stage = stage;
    this.accounts = accounts;
    this.devices = devices;
    this.first = first;
    /** Most unanswered requests of a connection. */
    this.window = NARROW.connection;
  }

  get warm() {
    return Math.min(WARM, this.accounts.length);
  }

  /**
   * Signs the devices up, and makes a topic for each of them, and for those of the warm-up.
   * @param {OcfStage} stage @param {{ devices: number, shared: boolean, first?: number }} options shared: all use one
   *   connection; first: number of the first device
   */
  static async make(stage, { devices, shared, first = 0 }) {
    const { accounts } = await signUp(stage, shared ? 1 : devices);
    const posters = new Posters(stage, accounts, devices, first);
    const numbers = Array.from({ length: devices }, (_, i) => first + i);
    const extra = accounts.slice(0, posters.warm);
    await hello(
      stage,
      shared
        ? [[signIn(accounts[0]), ...numbers.map(makeTopic)]]
        : accounts.map((account, i) => [signIn(account), makeTopic(numbers[i])])
    );
    await hello(
      stage,
      extra.map((account, i) => [
        signIn(account),
        makeTopic(posters.warmFirst + i),
        makeTopic(posters.probeFirst + i)
      ])
    );
    return posters;
  }

  get warmFirst() {
    return this.first + this.devices;
  }

  get probeFirst() {
    return this.warmFirst + this.warm;
  }

  /** @param {Account[]} accounts */
  #hellos(accounts) {
    return writeList(path.join(this.stage.folder, 'hellos'), accounts.map(signIn));
  }

  /** Finds the window. Its records are records of the run. @param {number} connections */
  async probe(connections) {
    const load = await this.stage.generate({
      ...common,
      mode: 'burst',
      burst: PROBE,
      window: PROBE,
      devices: 1,
      first: this.probeFirst,
      hellos: this.#hellos(this.accounts.slice(0, 1))
    });
    this.stage.stage.made.push(...load.streams);
    const narrow = Math.max(1, Math.min(NARROW.connection, Math.floor(NARROW.all / connections)));
    this.window = load.unavailable > 0 ? narrow : WIDE;
    return load.answered;
  }

  /** Runs code warm, under topics that are not measured. @param {number} rate @param {number} seconds */
  async warmUp(rate, seconds) {
    if (seconds <= 0) return 0;
    const { warm } = this;
    const load = await this.stage.generate({
      ...common,
      rate,
      seconds,
      devices: warm,
      first: this.warmFirst,
      window: Math.min(this.window, NARROW.connection),
      hellos: this.#hellos(this.accounts.slice(0, warm))
    });
    this.stage.stage.made.push(...load.streams);
    return load.answered;
  }

  /**
   * Runs a load, with the gateway's CPU time and memory from its first to its last request.
   * @param {import('../runs/coapgen').LoadOptions} options of coapgen
   */
  async measure(options) {
    const { stage, accounts, devices, first, window } = this;
    const load = stage.load({
      ...common,
      devices,
      first,
      window,
      connections: accounts.length,
      hellos: this.#hellos(accounts),
      ...options
    });
    await load.reached('start');
    const [before, since] = [readCpu(stage.pid), performance.now()];
    let rssBytes = 0;
    const timer = setInterval(() => (rssBytes = Math.max(rssBytes, readGroup(stage.pid).rssBytes)), 1000);
    try {
      const result = await load.result();
      const cpuSeconds = readCpu(stage.pid) - before;
      const cores = cpuSeconds / ((performance.now() - since) / 1000);
      const rssMB = Math.max(rssBytes, readGroup(stage.pid).rssBytes) / 1e6;
      stage.stage.made.push(...result.streams);
      return { ...result, streams: undefined, window, gatewayCpuSeconds: cpuSeconds, cores, rssMB };
    } finally {
      clearInterval(timer);
    }
  }
}

/**
 * @param {OcfStage} stage
 * @param {object} options
 * @param {number} options.devices
 * @param {boolean} [options.shared] all devices use one connection
 * @param {number} [options.rate] requests per second of all devices together, at random times (Poisson)
 * @param {number} [options.burst] requests, all at once
 * @param {number} options.seconds @param {number} options.warmup seconds before the load
 * @param {number} [options.first] number of the first device, if the stage has had others
 */
async function posts(stage, { devices, shared = false, rate = 15000, burst, seconds, warmup, first }) {
  const posters = await Posters.make(stage, { devices, shared, first });
  let answered = await posters.probe(shared ? 1 : devices);
  answered += await posters.warmUp(rate, warmup);
  const load = await posters.measure(burst ? { mode: 'burst', burst } : { rate, seconds });
  return { load, answered: answered + load.answered, first: posters.first, devices };
}

/**
 * Waits for the records, ends the run, and compares what was acknowledged with what has arrived.
 * @param {OcfStage} stage @param {Awaited<ReturnType<typeof posts>>} run
 */
async function settle(stage, { answered, first, devices }) {
  if (stage.kafka) {
    const isMeasured = (/** @type {number} */ device) => device >= first && device < first + devices;
    const arrived = await kafkaArrivals(stage.kafka, stage.stage.made, isMeasured);
    await stage.stage.finish();
    return arrived;
  }
  await stage.stage.settle(answered, 4000, 120000);
  const { verdict, arrived } = await stage.stage.finish();
  const latencyUs = arrived.classes[3]?.latencyUs;
  return {
    lost: verdict?.lost,
    duplicates: arrived.duplicates,
    outOfOrder: arrived.outOfOrder,
    broken: arrived.badLines + arrived.badRecords + arrived.topicMismatches,
    arrivalUs: latencyUs && { ...latencyUs, buckets: undefined }
  };
}

module.exports = { posts, settle };
