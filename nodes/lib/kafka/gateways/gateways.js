'use strict';
// What the gateways of a cluster know of each other: where each device is, and the commands that wait for devices. Two
// compacted topics, which each gateway reads whole, make that one table everywhere.

const { randomUUID } = require('node:crypto');
const { Complaints } = require('../../base/complaints');
const { CompactedThread } = require('../compacted/compacted-thread');
const { MOST_BYTES, keyOf } = require('./command-record');
const { CommandTable } = require('./command-table');
const { DeviceTable, MOST_DEVICES } = require('./device-table');

/**
 * @typedef {import('../../commands/command').Command} Command
 * @typedef {import('../compacted/compacted-log').Published} Published
 * @typedef {Pick<import('../../engine/host').EngineHost, 'gatewayId' | 'engine' | 'commands' | 'deviceEvents' | 'isClosed'>} Host
 * @typedef {{ devices: string, commands: string }} Topics
 *
 * @typedef {object} Thread see CompactedThread
 * @property {() => void} start
 * @property {(records: Published[]) => void} publish
 * @property {() => Promise<void>} stop
 * @property {string} state
 * @property {string} reason
 * @property {boolean} isCaughtUp
 * @property {number} waiting
 * @typedef {(gateway: string, hooks: import('../compacted/compacted-thread').ThreadHooks) => Thread} Open
 *
 * An engine that takes part. users: nodes that joined.
 * @typedef {{ users: number, seat: import('../../commands').Seat | null, unfollow: () => void, devices: Set<string> }} Part
 */

/** Of this process, also for later deploys: what an earlier deploy published is its own. */
const BOOT = randomUUID();
/** Begins the key of a marker. No device id has it. */
const MARKER = '\0';
const TICK_MS = 1000;
const PAGE = 1000;
/** What an earlier deploy has written and not read, by process and topic. @type {Map<string, Set<string>>} */
const left = new Map();

/** A SharedStore of commands. */
class Gateways {
  #topics;
  #writer;
  #open;
  #warn;
  /** @type {Thread | null} */
  #thread = null;
  #devices;
  #commands;
  /** @type {Map<Host, Part>} */
  #parts = new Map();
  /** @type {Published[]} */
  #out = [];
  /** Commands that the engines do not have yet. @type {import('../../commands').Shared[]} */
  #offers = [];
  #isCaughtUp = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #takenOver = 0;
  /** In `left`. */
  #place;

  /**
   * @param {{ topics: Topics, open: Open, warn: (sentence: string) => void, boot?: string, now?: () => number }} parts
   *   open: opens the topics for a gateway; now: ms, monotonic
   */
  constructor({ topics, open, warn, boot = BOOT, now = () => performance.now() }) {
    this.#topics = topics;
    this.#open = open;
    const complaints = new Complaints(warn);
    this.#warn = (/** @type {string} */ sentence) => complaints.tell(sentence, sentence);
    /** This gateway, whose name the first engine gives. */
    const writer = { gateway: '', boot };
    this.#writer = writer;
    this.#devices = new DeviceTable({ writer });
    this.#place = `${boot} ${topics.commands}`;
    this.#commands = new CommandTable({
      writer,
      unread: left.get(this.#place),
      publish: (records) => this.#publish(topics.commands, records),
      offer: (row, command) => void this.#offers.push({ row, command }),
      ended: (row, command, outcome, isReporter) => {
        for (const { seat } of this.#parts.values()) seat?.ended(row, command.device, outcome);
        if (isReporter) this.#report(command, outcome);
      },
      now,
      wall: Date.now
    });
  }

  /**
   * Lets an engine take part: it delivers commands of the topic, and its connections count.
   * @param {Host} host
   * @returns {() => void} ends it
   */
  join(host) {
    this.#start(host.gatewayId);
    const known = this.#parts.get(host);
    const part = known ?? this.#enter(host);
    part.users++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--part.users === 0) this.#leave(host, part);
    };
  }

  /** @param {string} gateway */
  #start(gateway) {
    if (this.#thread) return;
    this.#writer.gateway = gateway;
    this.#thread = this.#open(gateway, {
      records: (records) => this.#take(records),
      written: (records) => {
        for (const { topic, key } of records)
          if (topic === this.#topics.commands) this.#commands.written(key);
      },
      tooLarge: ({ topic, key }) => topic === this.#topics.commands && this.#commands.tooLarge(key),
      caughtUp: () => this.#caughtUp(),
      lost: () => {
        this.#isCaughtUp = false;
        this.#commands.begin();
      },
      restarted: () => {
        this.#publish(this.#topics.devices, this.#devices.unread());
        this.#commands.repeat();
      },
      report: this.#warn
    });
    this.#commands.begin();
    this.#thread.start();
    this.#timer = setInterval(() => this.#commands.tick(), TICK_MS).unref();
  }

  /** @param {Host} host @returns {Part} */
  #enter(host) {
    /** @type {Part} */
    const part = { users: 0, seat: null, unfollow: () => {}, devices: new Set() };
    this.#parts.set(host, part);
    for (const device of connectedTo(host)) {
      part.devices.add(device);
      this.#devices.found(device);
    }
    part.unfollow = host.deviceEvents.follow(({ kind, device }) => this.#follow(part, kind, device));
    part.seat = host.commands.share(this);
    if (!part.seat)
      this.#warn('Another Kafka cluster node already shares the commands of the engine. Turn them off in one of the two.'); // prettier-ignore
    if (this.#isCaughtUp) this.#check();
    return part;
  }

  /** @param {Host} host @param {Part} part */
  #leave(host, part) {
    this.#parts.delete(host);
    part.unfollow();
    part.seat?.leave();
    for (const device of part.devices) this.#devices.disconnected(device);
  }

  /** @param {Part} part @param {string} kind of a device event @param {string} device */
  #follow(part, kind, device) {
    if (kind === 'disconnected') {
      part.devices.delete(device);
      this.#devices.disconnected(device);
    } else if (kind === 'connected' || !part.devices.has(device)) {
      part.devices.add(device);
      this.#publish(this.#topics.devices, [this.#devices.connected(device)]);
      part.seat?.wake(device);
    }
  }

  /** @param {import('../compacted/compacted-log').Read[]} records */
  #take(records) {
    const { namesakes } = this.#devices;
    for (const record of records) {
      const { topic, key, value } = record;
      if (key.startsWith(MARKER)) continue;
      if (topic === this.#topics.commands) this.#commands.take(record);
      else if (this.#devices.take(key, value, this.#isCaughtUp)) this.#takeOver(key);
    }
    if (this.#devices.namesakes > namesakes)
      this.#warn(`Another gateway of the cluster has the id "${this.#writer.gateway}", too. Give each gateway a SEGANET_GATEWAY_ID of its own.`); // prettier-ignore
    this.#offer();
  }

  #caughtUp() {
    this.#isCaughtUp = true;
    this.#check();
    this.#commands.caughtUp();
    this.#offer();
  }

  /** Compares the connections of this gateway with the topic. */
  #check() {
    const { lost, claims } = this.#devices.caughtUp();
    for (const device of lost) this.#takeOver(device);
    this.#publish(this.#topics.devices, claims);
  }

  /** Ends the connection of a device, as a second CONNECT here would. @param {string} device that is elsewhere now */
  #takeOver(device) {
    for (const [host, { devices }] of this.#parts) {
      if (!devices.has(device) || host.isClosed) continue;
      if (host.engine.takeOverDevice(device)) this.#takenOver++;
    }
  }

  #offer() {
    const offers = this.#offers.splice(0);
    if (offers.length > 0) for (const { seat } of this.#parts.values()) seat?.found(offers);
  }

  /** @param {Command} command @param {import('./command-table').Outcome} outcome */
  #report(command, outcome) {
    const broker = command.origin?.broker;
    if (!broker) return;
    const seats = [...this.#parts.values()].flatMap(({ seat }) => seat ?? []);
    const seat = seats.find((each) => each.reportsTo(broker)) ?? seats[0];
    seat?.report(command, outcome);
  }

  /** Collects what a turn publishes. @param {string} topic @param {readonly Omit<Published, 'topic'>[]} records */
  #publish(topic, records) {
    if (this.#out.length === 0 && records.length > 0) setImmediate(() => this.#flush());
    for (const record of records) this.#out.push({ ...record, topic });
  }

  #flush() {
    this.#thread?.publish(this.#out.splice(0));
  }

  load() {
    return this.#commands.offered().map(([row, command]) => ({ row, command }));
  }

  /** @param {Command} command @param {(error: Error | null) => void} done @returns {string} */
  add(command, done) {
    this.#commands.add(command, (error) => setImmediate(done, error));
    return keyOf(command);
  }

  /** @param {string} row @param {import('./command-table').Outcome} outcome */
  remove(row, outcome) {
    const { device = '' } = this.#commands.get(row) ?? {};
    const isHere = [...this.#parts.values()].some(({ seat }) => seat?.has(row));
    this.#commands.end(row, outcome, isHere || this.#devices.where(device) === 'elsewhere');
  }

  /** @param {Command} command @returns {'all' | 'device' | 'none'} */
  reach(command) {
    const where = this.#devices.where(command.device);
    if (where === 'elsewhere') return 'none';
    return where === 'here' || this.#commands.isOwn(keyOf(command)) ? 'all' : 'device';
  }

  /** What is wrong, '' = nothing. */
  get trouble() {
    const { state, reason, isCaughtUp } = this.#thread ?? { state: '', reason: '', isCaughtUp: true };
    if (state === 'refused') return 'shared commands refused';
    return isCaughtUp ? '' : reason ? 'shared commands stand still' : 'shared commands are being read';
  }

  /** Returns what the metrics show. */
  figures() {
    const { state = 'stopped', reason = '', waiting = 0 } = this.#thread ?? {};
    return {
      state,
      reason,
      unwritten: waiting,
      isReady: this.#isCaughtUp,
      devices: this.#devices.size,
      takenOver: this.#takenOver,
      commands: this.#commands.size,
      commandBytes: this.#commands.bytes,
      outcomes: { ...this.#commands.outcomes },
      late: this.#commands.late,
      invalid: this.#commands.invalid + this.#devices.invalid
    };
  }

  async close() {
    clearInterval(this.#timer);
    for (const [host, part] of [...this.#parts]) this.#leave(host, part);
    this.#flush();
    left.set(this.#place, this.#commands.unread());
    await this.#thread?.stop();
    this.#thread = null;
  }
}

/**
 * Returns what opens the topics in Kafka.
 * @param {import('../settings/kafka-options').ClusterOptions} cluster
 * @param {Topics} topics
 * @returns {Open}
 */
const kafkaTopics = (cluster, topics) => (gateway, hooks) =>
  new CompactedThread(
    'seganet-gateways',
    {
      cluster,
      clientId: `${(cluster.clientId || gateway).replace(/\s/g, '_')}-gateways`,
      topics: [topics.commands, topics.devices],
      marker: { key: `${MARKER}${gateway}`, body: { gateway } },
      what: 'Commands and devices of the cluster',
      forgotten: 'commands that wait, and where devices are',
      mostBytes: MOST_BYTES,
      mostWaiting: { [topics.devices]: MOST_DEVICES },
      strict: true
    },
    hooks
  );

/** @param {Host} host @returns {string[]} devices with a connection */
function connectedTo({ engine }) {
  /** @type {string[]} */
  const devices = [];
  for (let after = ''; ;) {
    const page = engine.agents?.(after, PAGE) ?? [];
    // Without an address, a source pushes its records.
    for (const { device, connected, address } of page) if (connected && address !== '') devices.push(device);
    if (page.length < PAGE) return devices;
    after = page[page.length - 1].device;
  }
}

module.exports = { Gateways, kafkaTopics };
