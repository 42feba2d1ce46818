'use strict';
// Seeded faults of a cluster under a steady load, one in each run.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { KafkaClient } = require('../../../bench/harness/kafka/client');
const { eventually } = require('../../../bench/harness/net');
const { draws } = require('../../fixtures/random');
const { load } = require('../kafka/chaos/gateway-process');
const { Arrivals, Stored } = require('./arrivals');
const { Machines, PARTITIONS, TOPICS } = require('./machines');

/**
 * burn: gateway and broker of a machine are killed, and their folders removed. burn gateway: the broker stays. freeze:
 * both stand still, and go on after the takeover. freeze gateway: the broker works. drain: the gateway hands its
 * devices over, ends and starts again, as in planned work.
 */
const FAULTS = /** @type {const} */ (['burn', 'burn gateway', 'freeze', 'freeze gateway', 'drain']);
const DEVICES = 60;
const LOAD_S = 14;
/** From the fault to the thaw: longer than the sessions of the consumer groups. */
const FROZEN_MS = 7000;
const ARRIVE_MS = 180000;

/**
 * @typedef {object} Result of one run
 * @property {string} fault
 * @property {number} acked
 * @property {string[]} lost readings that were acknowledged and are not in the cloud
 * @property {number} copies
 * @property {number} backMs until the devices of the gateway were back, p99
 * @property {number} beganMs from the fault until other gateways have sent a record of each device and class of the
 *   gateway that has records more than a second old; 0 = none has
 * @property {number} drainedMs until they have sent all of these
 * @property {number} longestMs of a record from its first gateway to the cloud
 */

/**
 * @param {Machines} machines
 * @param {import('./machines').Machine} machine
 * @param {typeof FAULTS[number]} fault
 */
async function strike(machines, machine, fault) {
  const { balancer } = machines;
  if (fault !== 'drain') balancer.lost(/** @type {any} */ (machine));
  if (fault === 'burn') await machine.burn();
  if (fault === 'burn gateway') await machine.burnGateway();
  if (fault === 'freeze' || fault === 'freeze gateway') {
    machine.signal('SIGSTOP', fault === 'freeze');
    await sleep(FROZEN_MS);
    machine.signal('SIGCONT', fault === 'freeze');
    return;
  }
  if (fault === 'drain') {
    const { code, output } = await machine.drain();
    if (code !== 0) throw new Error(`drain ended with ${code}: ${output}`);
    const end = await machine.stop();
    if (end !== 0) throw new Error(`the gateway ended with ${end}`);
  } else await sleep(4000);
  if (fault === 'burn') await machine.broker.replace();
  await machine.start();
}

/**
 * @param {{ runs: number, rate: number, random: ReturnType<typeof import('../../fixtures/random').seeded>,
 *   log?: (line: string) => void, faults?: readonly typeof FAULTS[number][] }} options
 */
async function runFaults({ runs, rate, random, log = () => {}, faults = FAULTS }) {
  const { shuffled } = draws(random);
  const arrivals = new Arrivals();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-cluster-'));
  const machines = await Machines.start((line, gateway) => arrivals.add(line, gateway));
  /** @type {Result[]} */
  const results = [];
  /** @type {typeof FAULTS[number][]} */
  let next = [];
  try {
    for (let run = 0; run < runs; run++) {
      if (next.length === 0) next = shuffled(faults);
      const fault = /** @type {typeof FAULTS[number]} */ (next.pop());
      const machine = machines.all[random.integer(machines.all.length)];
      const gapsFrom = machines.balancer.gaps.length;
      const copiesFrom = arrivals.copies;
      const sending = load({
        port: machines.balancer.port,
        devices: DEVICES,
        'first-device': run * DEVICES,
        rate: rate / DEVICES,
        seconds: LOAD_S,
        payload: 120,
        arrivals: 'poisson',
        shares: '1:10,2:10,3:60,4:20',
        drain: 30,
        seed: 1 + random.integer(1e6),
        out: path.join(folder, 'load.json')
      });
      sending.catch(() => {}); // awaited below
      await sleep(2500 + random.integer(2500));
      arrivals.lost(machine.name);
      await strike(machines, machine, fault);
      const { streams } = await sending;
      /** @type {ReturnType<Arrivals['compare']>} */
      let seen = { acked: 0, lost: [] };
      await eventually(() => (seen = arrivals.compare(streams)).lost.length === 0, {
        timeoutMs: ARRIVE_MS,
        everyMs: 200
      }).catch(() => {});
      const { beganMs, drainedMs } = arrivals.waits;
      await machines.whole();
      const gaps = machines.balancer.gaps.slice(gapsFrom).sort((a, b) => a - b);
      const backMs = Math.round(gaps[Math.floor(gaps.length * 0.99)] ?? 0);
      const copies = arrivals.copies - copiesFrom;
      const { longestMs } = arrivals;
      results.push({ fault, ...seen, copies, backMs, beganMs, drainedMs, longestMs });
      log(
        `${run + 1}: ${fault} of ${machine.name}, ${seen.acked} acknowledged, ${seen.lost.length} lost, ${copies} copies, ` +
          `${gaps.length} devices back (p99 ${backMs} ms), partitions taken over after ${beganMs} ms, drained after ${drainedMs} ms, longest way ${longestMs} ms`
      );
    }
    const stored = await readAll(machines);
    const backward = await machines.backwardCommits();
    return {
      results,
      arrivals,
      stored,
      backward,
      gaps: machines.balancer.gaps,
      ...stored.compare(arrivals)
    };
  } finally {
    await machines.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {Machines} machines */
async function readAll({ kafka, client }) {
  const stored = new Stored();
  const reader = new KafkaClient(kafka.addresses);
  const total = await client.count(TOPICS, PARTITIONS);
  let seen = 0;
  try {
    await reader.read(TOPICS, (records) => {
      for (const record of records) stored.add(record);
      seen += records.length;
    });
    await eventually(() => seen >= total, {
      timeoutMs: 600000,
      everyMs: 200,
      what: `${total} records of Kafka`
    });
    return stored;
  } finally {
    await reader.close();
  }
}

module.exports = { FAULTS, runFaults };
