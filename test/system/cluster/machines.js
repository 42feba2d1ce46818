'use strict';
// Three machines on loopback, each with a Kafka broker and a gateway of the preset "cluster"; a load balancer for the
// devices in front of them, and a broker that is the cloud.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { Child } = require('../../../bench/harness/child');
const { startCloud } = require('../../../bench/harness/cloud');
const { KafkaClient } = require('../../../bench/harness/kafka/client');
const { eventually, freePort } = require('../../../bench/harness/net');
const { KafkaCluster } = require('../../../bench/harness/kafka/cluster');
const { Balancer } = require('./balancer');

const ROOT = path.join(__dirname, '../../..');
const RUN = path.join(ROOT, 'native/node/run.js');
const TOPICS = ['seganet.critical', 'seganet.high', 'seganet.normal', 'seganet.bulk'];
const PARTITIONS = 6;
const SIZE = 3;
const READY_MS = 300000;
/** Beside those of KafkaCluster: a lost broker and a lost gateway are each replaced within two seconds. */
const LINES = [
  'broker.session.timeout.ms=2000',
  'broker.heartbeat.interval.ms=250',
  'group.min.session.timeout.ms=1000'
];
const RULES = [
  { topic: 'd/+/alarm', class: 1 },
  { topic: 'd/+/high', class: 2 },
  { topic: 'd/+/bulk', class: 4 }
];

/** A machine: its gateway, and its Kafka broker. */
class Machine {
  /** @param {string} name @param {import('../../../bench/harness/kafka/broker').KafkaBroker} broker @param {NodeJS.ProcessEnv} env */
  constructor(name, broker, env) {
    this.name = name;
    this.broker = broker;
    this.env = env;
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), `seganet-${name}-`));
    this.port = 0;
    this.statusPort = 0;
    /** @type {Child | null} */
    this.gateway = null;
  }

  async start() {
    this.port ||= await freePort();
    this.statusPort ||= await freePort();
    fs.mkdirSync(this.home, { recursive: true, mode: 0o700 });
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    this.gateway = new Child(
      process.execPath,
      ['--max-semi-space-size=1', RUN, path.join(ROOT, 'flows/launcher/start.js')],
      {
        name: this.name,
        cwd: ROOT,
        env: {
          ...Object.fromEntries(clean),
          ...this.env,
          SEGANET_HOME: this.home,
          SEGANET_GATEWAY_ID: this.name,
          SEGANET_MQTT_PORT: String(this.port),
          SEGANET_EDITOR_PORT: String(this.statusPort)
        }
      }
    );
  }

  /** @returns {Promise<string>} why the gateway is not ready, '' = it is */
  async problem() {
    try {
      const signal = AbortSignal.timeout(2000);
      const answer = await fetch(`http://127.0.0.1:${this.statusPort}/seganet/readyz`, { signal });
      return answer.ok ? '' : (await answer.json()).reason || 'not ready';
    } catch {
      return 'no answer';
    }
  }

  /** Ends the gateway at once, and removes its folder. */
  async burnGateway() {
    await this.gateway?.stop('SIGKILL');
    fs.rmSync(this.home, { recursive: true, force: true });
  }

  async burn() {
    await Promise.all([this.burnGateway(), this.broker.burn()]);
  }

  /** @param {NodeJS.Signals} signal @param {boolean} withBroker */
  signal(signal, withBroker) {
    this.gateway?.kill(signal);
    if (withBroker) this.broker.child?.kill(signal);
  }

  /** Ends the gateway in order. @returns {Promise<number | null>} its exit code */
  async stop() {
    const { code } = (await this.gateway?.stop('SIGTERM', 40000)) ?? { code: null };
    return code;
  }

  /** Hands its devices over, as before planned work. @returns {Promise<{ code: number | null, output: string }>} */
  async drain() {
    const command = path.join(ROOT, 'flows/cli/seganet-gateway.js');
    const args = [RUN, command, 'drain', '--home', this.home, '--rate', '200', '--wait', '20', '--json'];
    const child = new Child(process.execPath, args);
    const { code } = await child.exited;
    return { code, output: child.output };
  }
}

class Machines {
  /** @param {Awaited<ReturnType<typeof startCloud>>} cloud @param {KafkaCluster} kafka @param {Machine[]} all */
  constructor(cloud, kafka, all) {
    this.cloud = cloud;
    this.kafka = kafka;
    this.all = all;
    this.client = new KafkaClient(kafka.addresses);
    this.balancer = new Balancer(/** @type {any} */ (all));
    /** @type {mqtt.MqttClient | null} */
    this.receiver = null;
  }

  /**
   * Starts all of it, and waits until records can be taken.
   * @param {(line: string, gateway: string) => void} onLine gets each line of an envelope, and who has sent it
   */
  static async start(onLine) {
    const kafka = new KafkaCluster(SIZE, LINES);
    const cloud = await startCloud();
    try {
      await kafka.start();
    } catch (error) {
      await kafka.stop();
      await cloud.close();
      throw error;
    }
    const env = {
      SEGANET_PRESET: 'cluster',
      SEGANET_KAFKA_BROKERS: kafka.addresses,
      SEGANET_KAFKA_SECURITY: 'plaintext',
      SEGANET_UPLINK_URL: cloud.url,
      SEGANET_UPLINK_CA: cloud.files.ca,
      SEGANET_UPLINK_TOPIC: 'gw/{gateway}/{class}',
      SEGANET_RULES: JSON.stringify(RULES)
    };
    const machines = new Machines(
      cloud,
      kafka,
      kafka.brokers.map((broker, i) => new Machine(`gw-${i + 1}`, broker, env))
    );
    try {
      await machines.client.createTopics(TOPICS, PARTITIONS, [], SIZE);
      await machines.#receive(onLine);
      await Promise.all(machines.all.map((machine) => machine.start()));
      await machines.whole();
      await machines.balancer.listen(await freePort());
      return machines;
    } catch (error) {
      await machines.stop();
      throw error;
    }
  }

  /** @param {(line: string, gateway: string) => void} onLine */
  async #receive(onLine) {
    this.receiver = await mqtt.connectAsync(`mqtt://127.0.0.1:${this.cloud.plainPort}`, {
      clientId: 'receiver',
      protocolVersion: 5,
      properties: { receiveMaximum: 65535 }
    });
    this.receiver.on('message', (topic, payload) => {
      const [, gateway] = topic.split('/');
      for (const line of payload.toString().split('\n')) if (line !== '') onLine(line, gateway);
    });
    await this.receiver.subscribeAsync('gw/#', { qos: 1 });
  }

  /** Waits until all gateways are ready, and all replicas of all partitions in sync. */
  async whole() {
    let seen = '';
    await eventually(
      async () => {
        const problems = await Promise.all(this.all.map((machine) => machine.problem()));
        const count = await this.client.inSync([...TOPICS, '__consumer_offsets']).catch(() => 0);
        seen = JSON.stringify({ inSync: count, problems });
        return count === SIZE && problems.every((problem) => problem === '');
      },
      { timeoutMs: READY_MS, everyMs: 300, what: () => `all machines: ${seen}` }
    );
  }

  /**
   * Counts commits behind an earlier one. A new owner of a partition may begin behind the last commit of the owner
   * before: it reads what all replicas have, and the last one may still be on its way to a lost broker. Within a
   * generation of the group, only a gateway that no longer has the partition commits an earlier offset.
   * @returns {Promise<{ late: number, resumed: number }>} late: of such a gateway; resumed: of a new owner
   */
  async backwardCommits() {
    /** @type {Map<string, { offset: number, generation: number }>} */
    const latest = new Map();
    const found = { late: 0, resumed: 0 };
    for (const { group, topic, partition, offset, generation } of await this.kafka.brokers[0].commits()) {
      const name = `${group} ${topic} ${partition}`;
      const last = latest.get(name);
      if (last && offset < last.offset) found[generation === last.generation ? 'late' : 'resumed']++;
      latest.set(name, { offset, generation });
    }
    if (latest.size === 0) throw new Error('There is no commit in the log of the broker.');
    return found;
  }

  async stop() {
    this.balancer.close();
    await Promise.all(
      this.all.map(async (machine) => {
        machine.signal('SIGCONT', true);
        await machine.burnGateway();
      })
    );
    await this.receiver?.endAsync(true);
    await this.client.close();
    await this.kafka.stop();
    await this.cloud.close();
  }
}

module.exports = { Machine, Machines, PARTITIONS, TOPICS };
