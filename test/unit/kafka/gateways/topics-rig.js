'use strict';
// Gateways over topics in memory: each reads all records in one order, when the test lets it.

const { Commands } = require('../../../../nodes/lib/commands');
const { Gateways } = require('../../../../nodes/lib/kafka/gateways/gateways');

const TOPICS = { devices: 'devices', commands: 'commands' };
const OFFLINE = 1;

/** What all gateways read. Compaction keeps the last record of each key. */
class Topics {
  constructor() {
    /** @type {{ topic: string, key: string, value: string | null, headers?: Record<string, string>, at: number }[]} */
    this.records = [];
    this.isAway = false;
  }

  /** @param {string} topic @param {string} key */
  last(topic, key) {
    return this.records.findLast((each) => each.topic === topic && each.key === key);
  }

  compact() {
    this.records = this.records.filter((each) => this.last(each.topic, each.key) === each);
  }
}

/** A gateway with one engine, whose devices the test connects. */
class Gateway {
  /** @param {Topics} topics @param {string} name @param {string} [boot] */
  constructor(topics, name, boot = `boot of ${name}`) {
    this.topics = topics;
    this.name = name;
    this.read = 0;
    this.isFrozen = false;
    this.time = 1e12;
    /** @type {string[]} */
    this.said = [];
    /** @type {any[]} */
    this.reports = [];
    /** @type {string[]} */
    this.ended = [];
    /** @type {any[]} */
    this.unwritten = [];
    /** What the devices got. @type {string[]} */
    this.got = [];
    /** Results of the engine's commands, by device; null: no answer yet. @type {Record<string, number | null>} */
    this.devices = {};
    /** @type {number[]} */
    this.results = [];
    this.lastTicket = 0;
    const engine = /** @type {any} */ ({
      command: (ticket, device, _topic, payload) => {
        this.lastTicket = ticket;
        const end = device in this.devices ? this.devices[device] : OFFLINE;
        if (end !== OFFLINE) this.got.push(`${device} ${payload}`);
        if (end !== null) this.results.push(ticket, end);
        return 0;
      },
      takeCommandResults: () => this.results.splice(0),
      agents: () =>
        Object.keys(this.devices).map((device) => ({ device, connected: true, address: '10.0.0.1:1' })),
      takeOverDevice: (device) => {
        if (!(device in this.devices)) return false;
        this.ended.push(device);
        this.leave(device);
        return true;
      }
    });
    this.commands = this.#commandsOf(engine);
    this.commands.reportTo('cloud', (report) => this.reports.push({ device: report.device, ...report.body }));
    this.host = /** @type {any} */ ({
      gatewayId: name,
      engine,
      commands: this.commands,
      isClosed: false,
      deviceEvents: {
        follow: (fn) => {
          this.tell = fn;
          return () => (this.tell = () => {});
        }
      }
    });
    this.boot = boot;
    this.join();
  }

  /** Joins the cluster, also again as after a deploy of the Kafka cluster node. */
  join() {
    const { boot } = this;
    this.shared = new Gateways({
      topics: TOPICS,
      boot,
      now: () => this.time,
      warn: (sentence) => this.said.push(sentence),
      open: (_gateway, hooks) => {
        this.hooks = hooks;
        this.thread = {
          start() {},
          publish: (records) => this.unwritten.push(...records),
          stop: async () => {},
          state: 'connected',
          reason: '',
          isCaughtUp: true,
          waiting: 0
        };
        return this.thread;
      }
    });
    this.leaveCluster = this.shared.join(this.host);
  }

  /** @param {any} engine */
  #commandsOf(engine) {
    return new Commands({
      engine,
      directory: '/none',
      warn() {},
      store: /** @type {any} */ ({ load: () => [], flush() {}, close() {} }),
      now: () => this.time,
      wall: () => this.time
    });
  }

  /** Adds an engine without devices, as that of the uplink in the preset. */
  second() {
    const commands = this.#commandsOf({});
    this.shared.join({ ...this.host, commands, deviceEvents: { follow: () => () => {} } });
    return commands;
  }

  /** Reads the topics from their start. */
  start() {
    this.read = 0;
    this.take();
    this.hooks.caughtUp();
    return this;
  }

  /** Kafka is lost and found again. */
  again() {
    this.hooks.lost();
    return this.start();
  }

  take() {
    const records = this.topics.records.slice(this.read);
    this.read = this.topics.records.length;
    if (records.length > 0) this.hooks.records(records, true);
  }

  /** Writes what it has published. */
  write() {
    const at = this.time;
    for (const record of this.unwritten.splice(0)) {
      this.topics.records.push({ ...record, at });
      this.hooks.written([record]);
    }
  }

  /** @param {string} device @param {number | null} [end] result of its commands */
  connect(device, end = 0) {
    this.devices[device] = end;
    this.tell({ kind: 'connected', device });
  }

  /** @param {string} device */
  leave(device) {
    delete this.devices[device];
    this.tell({ kind: 'disconnected', device });
  }

  /** The device answers the command that it got last. @param {number} end */
  answer(end) {
    this.results.push(this.lastTicket, end);
    this.commands.ring();
  }

  /** @param {string} device @param {string} id @param {object} [more] @returns {string[]} first status, later */
  come(device, id, more = {}) {
    const safe = [];
    const given = { device, rest: '', payload: Buffer.from(id), qos: 1, id, ...more };
    this.commands.fromCloud('cloud', /** @type {any} */ (given), (status) => safe.push(status));
    return safe;
  }
}

/**
 * Lets all that are not frozen write and read until nothing more happens.
 * @param {Gateway[]} gateways in the order in which they write
 */
async function settle(...gateways) {
  const awake = gateways.filter(({ isFrozen }) => !isFrozen);
  for (let quiet = 0; quiet < 2; quiet++) {
    await new Promise((resolve) => setImmediate(resolve));
    for (const gateway of awake) gateway.commands.ring();
    for (const gateway of awake) {
      if (gateway.unwritten.length > 0 && !gateway.topics.isAway) {
        quiet = -1;
        gateway.write();
      }
    }
    for (const gateway of awake) {
      if (gateway.read < gateway.topics.records.length) quiet = -1;
      gateway.take();
    }
  }
}

module.exports = { Gateway, TOPICS, Topics, settle };
