'use strict';
// Controllers of an OCF cloud: each observes the topics of all devices, or asks devices through the cloud. Controllers
// and devices are several processes each, so that no generator is the limit.

const path = require('node:path');
const { readMemory } = require('../harness/memory');
const { processCpu, processRss, readCpu, readGroup, readThreads, threadUse } = require('../harness/proc');
const { FORMAT } = require('../../nodes/lib/ocf/cloud/coap');
const { mergeBuckets } = require('../stats/buckets');
const { sleep } = require('../runs/stage');
const { writeList } = require('./coap-bytes');
const { hello, makeTopic, observe, publish, signIn, signUp } = require('./fleet');

/**
 * @typedef {import('./ocf-stage').OcfStage} OcfStage @typedef {import('./fleet').Account} Account
 * @typedef {import('../runs/coapgen').CoapLoad} CoapLoad
 */

/** Most processes of the controllers, and of the devices. */
const PROCESSES = { controllers: 4, devices: 2 };
/** Devices that post before a measurement, to topics that the controllers observe, too. */
const WARM = { devices: 4, first: 40000, rate: 200 };
/** Of a request, as in the paper. */
const REQUEST_BYTES = 109;
const WINDOW = 1000;
const DRAIN_S = 10;
/** Requests per second that only JavaScript answers, meanwhile. */
const PROBES = 20;
/** Time without a notification after which none follows; longest wait for that. */
const QUIET_MS = 1000;
const LONGEST_MS = 20000;

/** Links of a device; the first one is asked for. */
const LINKS = 1;
const RESOURCE = 'resource/0';

/** @template T @param {T[]} all @param {number} most @returns {T[][]} parts of nearly the same size */
function split(all, most) {
  const count = Math.max(1, Math.min(most, all.length));
  return Array.from({ length: count }, (_, i) =>
    all.slice(Math.floor((all.length * i) / count), Math.floor((all.length * (i + 1)) / count))
  );
}

/** @param {number} first @param {number} count */
const numbers = (first, count) => Array.from({ length: count }, (_, i) => first + i);

/** @param {any[]} results @param {string} field */
const sum = (results, field) => results.reduce((all, each) => all + each[field], 0);

/** Signed-up devices and controllers of one user, and an account for probes. */
class Fleet {
  /** @param {OcfStage} stage @param {Account[]} devices @param {Account[]} controllers @param {Account} probe */
  constructor(stage, devices, controllers, probe) {
    this.stage = stage;
    this.devices = devices;
    this.controllers = controllers;
    this.probe = probe;
    this.files = 0;
  }

  /**
   * @param {OcfStage} stage
   * @param {{ devices: number, controllers: number, firsts: number[] }} options firsts: number of the first device of
   *   each measurement, which has topics of its own
   */
  static async make(stage, { devices, controllers, firsts }) {
    const count = devices + controllers + 1;
    const { accounts } = await signUp(stage, count, { ofUser: count });
    const [own, probe] = [accounts.slice(0, devices), accounts[devices + controllers]];
    const fleet = new Fleet(stage, own, accounts.slice(devices, devices + controllers), probe);
    await hello(
      stage,
      own.map((account, i) => [
        signIn(account),
        publish(account.di, LINKS),
        ...firsts.map((first) => makeTopic(first + i))
      ])
    );
    await hello(stage, [[signIn(probe), ...numbers(WARM.first, WARM.devices).map(makeTopic)]]);
    return fleet;
  }

  /** @param {Buffer[]} messages */
  list(messages) {
    return writeList(path.join(this.stage.folder, `hellos-${this.files++}`), messages);
  }

  /** Connections that send `hellos` and then wait. @param {Buffer[][]} hellos @param {number} most processes */
  async hold(hellos, most) {
    const loads = split(hellos, most).map((own) =>
      this.stage.load({
        mode: 'hold',
        seconds: 3600,
        drain: 0,
        devices: own.length,
        hellos: this.list(own.flat()),
        'hello-steps': own[0].length,
        'hello-seconds': 120,
        'notices-below': WARM.first
      })
    );
    for (const load of loads) await load.reached('start', 180000);
    return loads;
  }

  /** Controllers that observe the topics of all devices. @param {number} first number of the first device */
  watch(first) {
    const topics = [...numbers(first, this.devices.length), ...numbers(WARM.first, WARM.devices)];
    const hellos = topics.map((number, i) => observe(number, i));
    return this.hold(
      this.controllers.map((account) => [signIn(account), ...hellos]),
      PROCESSES.controllers
    );
  }

  /**
   * Devices that post to their topics.
   * @param {Account[]} accounts @param {number} first @param {number} rate of all @param {number} seconds
   */
  post(accounts, first, rate, seconds) {
    let next = first;
    return split(accounts, PROCESSES.devices).map((own, i) => {
      const load = this.stage.load({
        path: 'oic/ps/{id}',
        body: 'cbor',
        'content-format': FORMAT.OCF,
        'request-bytes': REQUEST_BYTES,
        drain: DRAIN_S,
        window: WINDOW,
        devices: own.length,
        first: next,
        rate: (rate * own.length) / accounts.length,
        seconds,
        seed: 1 + i * 1000,
        hellos: this.list(own.map(signIn))
      });
      next += own.length;
      return load;
    });
  }

  /** Asks the control plane meanwhile. @param {number} seconds */
  ask(seconds) {
    return this.stage.load({
      method: 'get',
      body: 'none',
      path: 'oic/ping',
      rate: PROBES,
      drain: DRAIN_S,
      devices: 1,
      seconds,
      hellos: this.list([signIn(this.probe)])
    });
  }
}

/**
 * Returns the process ids of the parts. The account server and the directory are threads of the gateway.
 * @param {OcfStage} stage @returns {Record<string, number>}
 */
function partsOf({ pid, stage, kafka }) {
  const broker = kafka?.child?.pid;
  if (broker) return { gateway: pid, kafka: broker };
  return { gateway: pid, mosquitto: /** @type {number} */ (stage.cloud?.child?.pid) };
}

/** Reads CPU and memory of each part, and the CPU of generators, between two moments. */
class Usage {
  /** @param {OcfStage} stage @param {CoapLoad[]} loads */
  constructor(stage, loads) {
    this.stage = stage;
    this.parts = partsOf(stage);
    this.loads = loads;
    /** @type {Record<string, number>} */
    this.rss = {};
    this.#look();
    this.timer = setInterval(() => this.#look(), 500);
    this.cpu = this.#cpu();
    this.threads = readThreads([this.parts.gateway]);
    this.since = performance.now();
  }

  #look() {
    for (const [name, pid] of Object.entries(this.parts)) {
      const bytes = name === 'gateway' ? readGroup(pid).rssBytes : processRss(pid);
      this.rss[name] = Math.max(this.rss[name] ?? 0, bytes);
    }
  }

  #cpu() {
    return {
      parts: Object.fromEntries(
        Object.entries(this.parts).map(([name, pid]) => [
          name,
          name === 'gateway' ? readCpu(pid) : processCpu(pid)
        ])
      ),
      loads: this.loads.map(({ child }) => readCpu(child.pid))
    };
  }

  end() {
    clearInterval(this.timer);
    this.#look();
    const seconds = (performance.now() - this.since) / 1000;
    const after = this.#cpu();
    const cores = Object.fromEntries(
      Object.keys(this.parts).map((name) => [name, (after.parts[name] - this.cpu.parts[name]) / seconds])
    );
    const loads = after.loads.map((value, i) => (value - this.cpu.loads[i]) / seconds);
    const threads = threadUse(this.threads, readThreads([this.parts.gateway]), seconds);
    return {
      cores,
      rssMB: Object.fromEntries(Object.entries(this.rss).map(([name, bytes]) => [name, bytes / 1e6])),
      threads: threads.slice(0, 8).map(({ name, cores: own }) => ({ name, cores: own })),
      generatorCores: Math.max(0, ...loads)
    };
  }
}

/** @param {CoapLoad} load @param {number} us @returns {number} notifications until then */
function noticesAt(load, us) {
  const lines = load.child.jsonLines().filter(({ event, us: at }) => event === 'notices' && at <= us);
  return lines.at(-1)?.count ?? 0;
}

/** @param {CoapLoad[]} watchers */
const noticesOf = (watchers) => watchers.reduce((all, load) => all + noticesAt(load, Infinity), 0);

/** Waits until no further notification arrives. @param {CoapLoad[]} watchers */
async function quiet(watchers) {
  const deadline = performance.now() + LONGEST_MS;
  for (let before = -1, now = noticesOf(watchers); now !== before && performance.now() < deadline;) {
    before = now;
    await sleep(QUIET_MS);
    now = noticesOf(watchers);
  }
}

/**
 * Devices post while the controllers observe all of them.
 * @param {Fleet} fleet
 * @param {{ first: number, rate: number, seconds: number, warmup: number }} options rate: posts per second of all
 */
async function observed(fleet, { first, rate, seconds, warmup }) {
  const { stage, devices, controllers } = fleet;
  const before = readMemory([stage.pid]);
  const watchers = controllers.length > 0 ? await fleet.watch(first) : [];
  await sleep(300);
  const after = readMemory([stage.pid]);
  if (warmup > 0) await warmUp(fleet, warmup);
  const posters = fleet.post(devices, first, rate, seconds);
  const probes = fleet.ask(seconds);
  await Promise.all([...posters, probes].map((load) => load.reached('start')));
  const startUs = Math.max(...posters.map(({ child }) => startOf(child)));
  const usage = new Usage(stage, [...watchers, ...posters]);
  await sleep(startUs / 1000 + seconds * 1000 - Date.now());
  const used = usage.end();
  const posted = await Promise.all(posters.map((load) => load.result()));
  const probed = await probes.result();
  await quiet(watchers);
  const endUs = startUs + seconds * 1e6;
  const inTime = watchers.reduce((all, load) => all + noticesAt(load, endUs), 0);
  const seen = await Promise.all(watchers.map((load) => load.stop()));
  for (const each of posted) stage.stage.made.push(...each.streams);
  const sent = sum(posted, 'sent');
  return {
    ...used,
    seconds,
    sent,
    unsent: sum(posted, 'unsent'),
    answered: sum(posted, 'answered'),
    answeredInTime: sum(posted, 'answeredInTime'),
    refused: sum(posted, 'refused'),
    answerUs: worstOf(posted.map(({ answerUs }) => answerUs)),
    probeUs: probed.answerUs,
    probesLost: probed.sent + probed.unsent - probed.answered,
    notices: sum(seen, 'notices'),
    noticesInTime: inTime,
    expected: sent * controllers.length,
    noticeUs: seen.length > 0 ? mergeBuckets(seen.map(({ noticeUs }) => noticeUs.buckets)) : undefined,
    skipped: sum(seen, 'skipped'),
    backward: sum(seen, 'backward'),
    unreadable: sum(seen, 'unreadable'),
    failed: sum(seen, 'failedNotices'),
    stale: staleOf(posted, seen, controllers.length),
    connectionLosses: sum([...posted, ...seen], 'connectionLosses'),
    observationBytes: perObservation(fleet, before, after),
    rssMBBefore: before.rss / 1e6,
    rssMBObserved: after.rss / 1e6
  };
}

/** @param {Fleet} fleet @param {number} seconds */
async function warmUp({ stage, probe }, seconds) {
  const load = stage.load({
    path: 'oic/ps/{id}',
    body: 'cbor',
    'content-format': FORMAT.OCF,
    'request-bytes': REQUEST_BYTES,
    drain: DRAIN_S,
    devices: WARM.devices,
    connections: 1,
    first: WARM.first,
    rate: WARM.rate,
    seconds,
    hellos: writeList(path.join(stage.folder, 'hellos-warm'), [signIn(probe)])
  });
  stage.stage.made.push(...(await load.result()).streams);
}

/** @param {import('../harness/child').Child} child of a load @returns {number} µs, when it began */
const startOf = (child) => child.jsonLines().find(({ event }) => event === 'start').us;

/** @typedef {{ p50: number, p99: number, max: number }} Quantiles µs */

/** Returns the largest of each quantile. @param {Quantiles[]} all @returns {Quantiles} */
const worstOf = (all) => ({
  p50: Math.max(...all.map(({ p50 }) => p50)),
  p99: Math.max(...all.map(({ p99 }) => p99)),
  max: Math.max(...all.map(({ max }) => max))
});

/**
 * Returns the number of devices whose last post has not reached each controller (RFC 7641, 1.3: eventual consistency).
 * @param {any[]} posted results of the devices @param {any[]} seen results of the controllers
 * @param {number} controllers
 */
function staleOf(posted, seen, controllers) {
  if (controllers === 0) return 0;
  /** @type {Map<number, { connections: number, seq: number }>} */
  const reached = new Map();
  for (const [device, connections, seq] of seen.flatMap((each) => each.reached)) {
    const before = reached.get(device) ?? { connections: 0, seq: Infinity };
    reached.set(device, {
      connections: before.connections + connections,
      seq: Math.min(before.seq, seq)
    });
  }
  const streams = posted.flatMap((each) => each.streams).filter(({ issued }) => issued > 0);
  return streams.filter(({ device, issued }) => {
    const found = reached.get(device);
    return !found || found.connections < controllers || found.seq < issued - 1;
  }).length;
}

/**
 * Returns the growth of the gateway by an observation, with its part of the controller's session.
 * @param {Fleet} fleet @param {{ rss: number }} before @param {{ rss: number }} after
 */
function perObservation({ devices, controllers }, before, after) {
  const count = controllers.length * (devices.length + WARM.devices);
  return count > 0 ? (after.rss - before.rss) / count : undefined;
}

/**
 * Controllers ask devices through the cloud, at random times (Poisson). Each device is asked, and each controller asks.
 * @param {Fleet} fleet @param {{ rate: number, seconds: number, warmup: number }} options
 */
async function asked(fleet, { rate, seconds, warmup }) {
  const { stage, devices, controllers } = fleet;
  const holders = await fleet.hold(
    devices.map((account) => [signIn(account)]),
    PROCESSES.devices
  );
  const targets = fleet.list(devices.map(({ di }) => Buffer.from(di)));
  const ask = (/** @type {number} */ length) =>
    split(controllers, PROCESSES.controllers).map((own, i) =>
      stage.load({
        method: 'get',
        body: 'none',
        path: `oic/route/{to}/${RESOURCE}`,
        targets,
        drain: DRAIN_S,
        devices: Math.max(own.length, devices.length),
        connections: own.length,
        rate: (rate * own.length) / controllers.length,
        seconds: length,
        seed: 1 + i * 1000,
        hellos: fleet.list(own.map(signIn))
      })
    );
  if (warmup > 0) await Promise.all(ask(warmup).map((load) => load.result()));
  const loads = ask(seconds);
  await Promise.all(loads.map((load) => load.reached('start')));
  const usage = new Usage(stage, [...loads, ...holders]);
  await sleep(seconds * 1000);
  const used = usage.end();
  const results = await Promise.all(loads.map((load) => load.result()));
  const served = await Promise.all(holders.map((load) => load.stop()));
  const sent = sum(results, 'sent');
  return {
    ...used,
    seconds,
    sent,
    unsent: sum(results, 'unsent'),
    answered: sum(results, 'answered'),
    answeredInTime: sum(results, 'answeredInTime'),
    refused: sum(results, 'refused'),
    answerUs: worstOf(results.map(({ answerUs }) => answerUs)),
    served: sum(served, 'requestsAnswered'),
    connectionLosses: sum([...results, ...served], 'connectionLosses')
  };
}

module.exports = { Fleet, observed, asked };
