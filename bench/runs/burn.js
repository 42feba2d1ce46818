'use strict';
// Two machines behind an address that moves: the active one burns under load, the other one takes over, and a new one
// becomes the standby.

const { startBridge } = require('../harness/bridge');
const { KafkaClient } = require('../harness/kafka/client');
const { KafkaCluster } = require('../harness/kafka/cluster');
const { startKafkaGateway } = require('../harness/kafka/gateway');
const { readAll } = require('../harness/kafka/verdict');
const { persistence } = require('../harness/local-broker');
const { MovingAddress } = require('../harness/moving-address');
const { systems } = require('../options/systems');
const { Stage, sleep } = require('./stage');

/**
 * @typedef {import('../systems').System} System
 * @typedef {import('./measure').Profile} Profile
 *
 * @typedef {object} Burn ms after the start of the load
 * @property {number} at @property {number} [awayFrom] when the cloud stops; absent = it stays
 *
 * @typedef {object} Judged
 * @property {{ acked: number, lost: number, longestMs: number }[]} loads
 * @property {number} outOfOrder @property {number} copies @property {number} sameKey copies with the key of the first
 */

const TOPICS = ['seganet.critical', 'seganet.normal'];
const PARTITIONS = 4;
/** From the burn to the return of the cloud. */
const AWAY_MS = 2000;
const QUIET_MS = 2500;
/** A bridge may wait for five seconds before it connects again. */
const BACK_MS = 8000;

/** A mosquitto, with a receiver that keeps its session. */
class MqttCloud {
  /** @param {Profile} profile */
  constructor(profile) {
    this.stage = new Stage(profile);
  }

  async open() {
    await this.stage.open();
    return this;
  }

  get #cloud() {
    return /** @type {import('../harness/cloud').Cloud} */ (this.stage.cloud);
  }

  /** Returns what a system needs. @param {Record<string, string>} gatewayEnv @returns {import('../systems').Context} */
  context(gatewayEnv) {
    return {
      cloud: this.#cloud,
      cpus: undefined,
      openFiles: this.stage.openFiles,
      datatype: 'buffer',
      gatewayEnv
    };
  }

  away() {
    return this.#cloud.stop();
  }

  async back() {
    await this.#cloud.start();
    await this.stage.sinkBack();
  }

  /** @param {number} acked records that should be there @param {boolean} wasAway */
  settle(acked, wasAway) {
    return this.stage.settle(acked, wasAway ? BACK_MS : QUIET_MS);
  }

  /** @returns {Promise<Judged>} */
  async judge() {
    const { sent, arrived, verdicts } = await this.stage.finish();
    const loads = sent.map(({ acked, ackUs }, i) => ({
      acked,
      lost: verdicts[i].lost,
      longestMs: ackUs.max / 1000
    }));
    const { outOfOrder, duplicates, duplicatesSameKey } = arrived;
    return { loads, outOfOrder, copies: duplicates, sameKey: duplicatesSameKey };
  }

  close() {
    return this.stage.close();
  }
}

/** Three Kafka brokers; while two of them are dead, they take nothing. */
class KafkaCloud {
  /** @param {Profile} profile */
  constructor(profile) {
    this.stage = new Stage(profile); // for the generators
    this.cluster = new KafkaCluster(3);
  }

  async open() {
    await this.cluster.start();
    const client = new KafkaClient(this.cluster.addresses);
    await client.createTopics(TOPICS, PARTITIONS, [], 3).finally(() => client.close());
    return this;
  }

  /** @param {Record<string, string>} gatewayEnv @returns {any} */
  context(gatewayEnv) {
    return {
      cloud: { url: 'mqtts://unused.invalid', files: { ca: '' } },
      openFiles: this.stage.openFiles,
      gatewayEnv
    };
  }

  get #dead() {
    return this.cluster.brokers.slice(1);
  }

  async away() {
    await Promise.all(this.#dead.map((broker) => broker.kill()));
  }

  async back() {
    await Promise.all(this.#dead.map((broker) => broker.again()));
  }

  /** Nothing that is acknowledged is still under way. */
  async settle() {}

  /** @returns {Promise<Judged>} */
  async judge() {
    const client = new KafkaClient(this.cluster.addresses);
    const verdict = await readAll(client, TOPICS).finally(() => client.close());
    const loads = [];
    for (const load of this.stage.loads) {
      const { streams, ackUs } = await load.result();
      const { acked, lost } = verdict.compare(streams);
      loads.push({ acked, lost: lost.length, longestMs: ackUs.max / 1000 });
    }
    const { disorder, twice, otherKey } = verdict;
    return { loads, outOfOrder: disorder, copies: twice, sameKey: twice - otherKey };
  }

  async close() {
    await this.stage.close();
    await this.cluster.stop();
  }
}

/** @param {string} acknowledge @param {number} number */
const gatewayEnv = (acknowledge, number) => ({
  SEGANET_ACKNOWLEDGE: acknowledge,
  SEGANET_GATEWAY_ID: `gw-${number}`
});

/**
 * The pairs. start: a machine, by its number.
 * @type {Record<string, { title: string, cloud: (profile: Profile) => MqttCloud | KafkaCloud,
 *   start: (cloud: any, number: number) => Promise<System> }>}
 */
const PAIRS = {
  mosquitto: {
    title: 'mosquitto, persistence saved each second, bridge with a persistent session',
    cloud: (profile) => new MqttCloud(profile),
    start: (cloud, number) => {
      const context = cloud.context({});
      const how = [`address ${context.cloud.host}:${context.cloud.tlsPort}`, 'restart_timeout 1 5'];
      return startBridge(context, how, (folder) => persistence('saved', folder), `bridge-${number}`);
    }
  },
  safe: {
    title: 'gateway, `safe`',
    cloud: (profile) => new MqttCloud(profile),
    start: (cloud, number) => systems.seganet(cloud.context(gatewayEnv('safe', number)))
  },
  replicated: {
    title: 'gateway, `replicated` by the cloud',
    cloud: (profile) => new MqttCloud(profile),
    start: (cloud, number) => systems.seganet(cloud.context(gatewayEnv('replicated', number)))
  },
  kafka: {
    title: 'gateway, `replicated` by three Kafka brokers',
    cloud: (profile) => new KafkaCloud(profile),
    start: (cloud, number) =>
      startKafkaGateway(cloud.context(gatewayEnv('replicated', number)), cloud.cluster.addresses)
  }
};

/**
 * Burns the active machine of a pair once for each entry of the schedule.
 * @param {string} name of PAIRS @param {Burn[]} schedule
 * @param {{ profile: Profile, takeoverMs: number, told: (text: string) => void }} given
 * @returns {Promise<Judged>} loads: in the order of the schedule
 */
async function burnAll(name, schedule, { profile, takeoverMs, told }) {
  const { cloud: make, start } = PAIRS[name];
  const cloud = make(profile);
  const address = await new MovingAddress().listen();
  /** @type {System[]} */
  const machines = [];
  let started = 0;
  const add = async () => machines.push(await start(cloud, ++started));
  let acked = 0;
  try {
    await cloud.open();
    await add();
    address.moveTo(machines[0].port);
    for (const [round, { at, awayFrom }] of schedule.entries()) {
      await add();
      const first = round * profile.devices;
      const load = await cloud.stage
        .startLoad({ port: address.port, clean: 0, 'first-device': first })
        .started();
      const until = (/** @type {number} */ ms) => sleep(load.startMs + ms - Date.now());
      if (awayFrom !== undefined) {
        await until(awayFrom);
        await cloud.away();
      }
      await until(at);
      await /** @type {System} */ (machines.shift()).close();
      address.moveTo(0);
      await sleep(takeoverMs);
      address.moveTo(machines[0].port);
      await until(at + AWAY_MS);
      if (awayFrom !== undefined) await cloud.back();
      acked += (await load.result()).acked;
      await cloud.settle(acked, awayFrom !== undefined);
      told(`${name}: burn ${round + 1} of ${schedule.length}, ${acked} acknowledged so far`);
    }
    return await cloud.judge();
  } finally {
    for (const machine of machines) await machine.close();
    await address.close();
    await cloud.close();
  }
}

module.exports = { PAIRS, burnAll };
