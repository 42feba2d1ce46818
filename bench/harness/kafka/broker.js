'use strict';
// A real Kafka broker (KRaft) from the jars that .ci/kafka gets. SEGANET_KAFKA names their folder. It is a cluster of
// its own, or a member of a KafkaCluster (cluster.js).

const { execFile, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { freePort } = require('../broker');
const { orphansEnd } = require('../child');
const { waitForPort } = require('../net');

const run = promisify(execFile);
/** A record of a consumer group, as DumpLogSegments prints it; not its deletion. */
const RECORD = /^\| .* key: (\{.*\}) payload: (\{.*\})$/gm;
const START_MS = 120000;
/** A cluster id is 16 bytes in base64url. */
const CLUSTER = 'c2VnYW5ldC1rYWZrYS10ZQ';

/**
 * @typedef {object} BrokerOptions
 * @property {string[]} [lines] of server.properties; they replace the harness's own
 * @property {number} [port] default: a free one
 * @property {string} [heap] of Java, such as 1g; default 384m, which is enough for tests
 * @property {{ user: string, password: string, mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' }} [login]
 * @property {{ pem: string }} [tls] file with the private key and the certificates of the broker, in PEM
 * @property {{ id: number, port: number, voters: string }} [member] of a cluster: its node id, the port of its
 *   controller and all voters
 */

/** The names of the tools that a test needs: `needs(...kafkaTools())`. @returns {string[]} */
function kafkaTools() {
  const { SEGANET_KAFKA: folder } = process.env;
  return ['java', folder ? path.join(folder, 'complete') : '/jars of Kafka (SEGANET_KAFKA=$(.ci/kafka))'];
}

class KafkaBroker {
  /** @param {BrokerOptions} [options] */
  constructor(options = {}) {
    this.options = options;
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-kafka-'));
    /** @type {import('node:child_process').ChildProcess | null} */
    this.child = null;
    this.port = 0;
    /** Without a login and TLS. */
    this.plainPort = 0;
    this.log = path.join(this.folder, 'broker.log');
  }

  /** The address for clients. */
  get address() {
    return `127.0.0.1:${this.port}`;
  }

  /** The address without a login and TLS, for tests that check what arrived. */
  get plainAddress() {
    return `127.0.0.1:${this.plainPort}`;
  }

  /** Formats the storage and starts the broker. @returns {Promise<this>} */
  async start() {
    this.plainPort = this.options.port ?? (await freePort());
    const member = this.options.member ?? (await lone());
    const isPlain = !this.options.login && !this.options.tls;
    this.port = isPlain ? this.plainPort : await freePort();
    await this.#format(member, isPlain);
    await this.again();
    return this;
  }

  /** @param {NonNullable<BrokerOptions['member']>} member @param {boolean} isPlain */
  async #format(member, isPlain) {
    fs.writeFileSync(path.join(this.folder, 'server.properties'), this.#properties(member, isPlain));
    const { login } = this.options;
    const scram =
      login && login.mechanism !== 'PLAIN'
        ? ['--add-scram', `${login.mechanism}=[name=${login.user},password=${login.password}]`]
        : [];
    await run('java', [
      ...this.#java('64m'),
      'kafka.tools.StorageTool',
      'format',
      '-t',
      CLUSTER,
      '-c',
      path.join(this.folder, 'server.properties'),
      ...scram
    ]);
  }

  /** Kills the process and removes its storage, as if its machine burned. */
  async burn() {
    await this.kill();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** Starts it at the same ports with an empty storage. REQUIRES: burn(); member of a cluster, no login, no TLS. */
  async replace() {
    fs.mkdirSync(this.folder);
    await this.#format(/** @type {NonNullable<BrokerOptions['member']>} */ (this.options.member), true);
    await this.again();
  }

  /** Starts the broker with the storage that it has. */
  async again() {
    const { heap = '384m' } = this.options;
    // The generation of young objects has its part of the heap from the beginning.
    const size = this.options.heap ? [`-Xms${heap}`] : [];
    const out = fs.openSync(this.log, 'a');
    const java = ['java', ...size, ...this.#java(heap), 'kafka.Kafka'];
    const [command, ...args] = [...orphansEnd('KILL'), ...java, path.join(this.folder, 'server.properties')];
    this.child = spawn(command, args, { stdio: ['ignore', out, out], cwd: this.folder });
    fs.closeSync(out);
    await waitForPort(this.port, '127.0.0.1', START_MS);
  }

  /**
   * Reads topics from their start with Kafka's own console consumer.
   * @param {string} pattern regular expression of their names
   * @param {number} count of records; it waits for them for a minute at most
   * @returns {Promise<string[]>} their values
   */
  async consoleConsumer(pattern, count) {
    const { stdout } = await run(
      'java',
      [
        ...this.#java('128m'),
        'org.apache.kafka.tools.consumer.ConsoleConsumer',
        '--bootstrap-server',
        this.plainAddress,
        '--include',
        pattern,
        '--from-beginning',
        '--max-messages',
        String(count),
        '--timeout-ms',
        '60000'
      ],
      { maxBuffer: 64 * 1024 * 1024 }
    );
    return stdout.split('\n').slice(0, -1);
  }

  /**
   * Reads all commits of consumer groups in their order from the log of the broker.
   * @returns {Promise<{ group: string, topic: string, partition: number, offset: number, generation: number }[]>}
   *   generation: of the group when the broker took the commit
   */
  async commits() {
    const file = path.join(this.folder, 'data/__consumer_offsets-0/00000000000000000000.log');
    const dump = ['kafka.tools.DumpLogSegments', '--offsets-decoder', '--files', file];
    const { stdout } = await run('java', [...this.#java('256m'), ...dump], { maxBuffer: 1 << 30 });
    /** @type {Map<string, number>} */
    const generations = new Map();
    return [...stdout.matchAll(RECORD)].flatMap(([, key, payload]) => {
      const [about, { data }] = [JSON.parse(key).data, JSON.parse(payload)];
      if (data.offset !== undefined)
        return [{ ...about, offset: data.offset, generation: generations.get(about.group) ?? 0 }];
      if (data.generation !== undefined) generations.set(about.group, data.generation);
      return [];
    });
  }

  /** Kills the process as `kill -9` does. */
  async kill() {
    await this.#end('SIGKILL');
  }

  /** Ends the broker and removes its storage. */
  async stop() {
    await this.#end('SIGKILL');
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** @param {NodeJS.Signals} signal */
  async #end(signal) {
    const { child } = this;
    this.child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  /** @param {string} heap */
  #java(heap) {
    const config = path.join(this.folder, 'log4j2.yaml');
    if (!fs.existsSync(config)) fs.writeFileSync(config, LOGGING);
    return [
      `-Xmx${heap}`,
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      `-Dlog4j2.configurationFile=${config}`,
      '-cp',
      path.join(process.env.SEGANET_KAFKA ?? '', 'lib', '*')
    ];
  }

  /** @param {NonNullable<BrokerOptions['member']>} member @param {boolean} isPlain */
  #properties(member, isPlain) {
    const { lines = [], login, tls } = this.options;
    const kind = `${login ? 'SASL_' : ''}${tls ? 'SSL' : 'PLAINTEXT'}`;
    const names = isPlain ? ['PLAIN'] : ['PLAIN', 'CLIENT'];
    const at = { PLAIN: this.plainPort, CLIENT: this.port };
    const listeners = names.map((name) => `${name}://127.0.0.1:${at[/** @type {keyof typeof at} */ (name)]}`);
    const all = [
      'process.roles=broker,controller',
      `node.id=${member.id}`,
      `listeners=${[...listeners, `CONTROLLER://127.0.0.1:${member.port}`].join(',')}`,
      `advertised.listeners=${listeners.join(',')}`,
      'controller.listener.names=CONTROLLER',
      'inter.broker.listener.name=PLAIN',
      `controller.quorum.voters=${member.voters}`,
      `listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT,CLIENT:${kind}`,
      `log.dirs=${path.join(this.folder, 'data')}`,
      'offsets.topic.replication.factor=1',
      'offsets.topic.num.partitions=1',
      'transaction.state.log.replication.factor=1',
      'transaction.state.log.min.isr=1',
      'group.initial.rebalance.delay.ms=0',
      'auto.create.topics.enable=false',
      // A lone broker is fenced until its session of before its death has ended.
      'broker.session.timeout.ms=3000',
      'broker.heartbeat.interval.ms=500',
      ...(login ? loginLines(login) : []),
      ...(tls ? tlsLines(tls) : []),
      ...lines
    ];
    // The last line of a name counts.
    const byName = new Map(all.map((line) => [line.slice(0, line.indexOf('=')), line]));
    return `${[...byName.values()].join('\n')}\n`;
  }
}

/** Returns the only member of a cluster. @returns {Promise<NonNullable<BrokerOptions['member']>>} */
async function lone() {
  const port = await freePort();
  return { id: 1, port, voters: `1@127.0.0.1:${port}` };
}

/** @param {NonNullable<BrokerOptions['login']>} login */
function loginLines({ user, password, mechanism }) {
  const listener = 'listener.name.client';
  const jaas =
    mechanism === 'PLAIN'
      ? `org.apache.kafka.common.security.plain.PlainLoginModule required user_${user}="${password}";`
      : 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
  return [
    `sasl.enabled.mechanisms=${mechanism}`,
    `${listener}.sasl.enabled.mechanisms=${mechanism}`,
    `${listener}.${mechanism.toLowerCase()}.sasl.jaas.config=${jaas}`
  ];
}

/** @param {{ pem: string }} tls */
function tlsLines({ pem }) {
  return ['ssl.keystore.type=PEM', `ssl.keystore.location=${pem}`, 'ssl.client.auth=none'];
}

const LOGGING = `Configuration:
  status: "error"
  Appenders:
    Console:
      name: "out"
      PatternLayout:
        pattern: "%d %p %m%n"
  Loggers:
    Root:
      level: "WARN"
      AppenderRef:
        - ref: "out"
`;

module.exports = { KafkaBroker, kafkaTools };
