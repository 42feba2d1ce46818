'use strict';
// The commands of one engine (`host.commands`): their sources, the carriers that deliver them, and the reports on their
// results.

const { randomInt } = require('node:crypto');
const { isGlob, matchesGlob } = require('../base/glob');
const { Carriers } = require('./command-carriers');
const { DEFAULT_EXPIRY_S, commandProblem, deviceTopic, restOf } = require('./command');
const { CommandQueues, NOT_SHARED } = require('./command-queues');
const { DeviceTopics } = require('./device-topics');
const { NativeCarrier } = require('./native-carrier');
const { Reports } = require('./command-reports');
const { CommandStore } = require('./command-store');

/** Longest wait for a device's acknowledgement. */
const TIMEOUT_MS = 10000;
const TICK_MS = 1000;
/** How long a shared command with QoS 0 waits for the gateway of its device. */
const SHARED_QOS0_S = 10;

/**
 * @typedef {import('./command').Command} Command
 * @typedef {import('./command').Status} Status
 * @typedef {import('./command').Origin} Origin
 *
 * @typedef {{ status: 'taken' | 'refused' | 'full', reason: string, body?: object }} Served body: more for the report
 * @typedef {(command: Command & { origin: Origin }) => Promise<Served | null> | null} Serve null: it is an ordinary
 *   command. Must not throw or reject
 *
 * @typedef {object} CloudCommand a command from the uplink's thread
 * @property {string} [id] chosen by the sender
 * @property {string} device
 * @property {string} rest
 * @property {Uint8Array} payload
 * @property {0 | 1} qos
 * @property {number} [expiryS] MQTT 5
 * @property {string} [responseTopic]
 * @property {Uint8Array} [correlation]
 * @property {string} [tenant] that sent it, whose commands have a limit of their own
 *
 * @typedef {Pick<CommandStore, 'load' | 'add' | 'remove' | 'flush' | 'backup' | 'close'> & { onFound?: () => void }} Store
 *   onFound: set here; to be called when load() has something
 *
 * @typedef {{ status: Status, reason: string }} Outcome
 *
 * @typedef {{ row: string, command: Command }} Shared
 *
 * @typedef {object} SharedStore has commands that several gateways deliver
 * @property {() => Shared[]} load returns those that may be delivered
 * @property {(command: Command, done: (error: (Error & { status?: Status }) | null) => void) => string} add returns
 *   the row; done: called later, when the command is kept, or cannot be
 * @property {(row: string, outcome: Outcome) => void} remove this engine has found the outcome; it counts when the
 *   store calls Seat.ended()
 * @property {(command: Command) => 'all' | 'device' | 'none'} reach who may get a command of the cloud here: its device
 *   or a flow; its device alone; no one, because another gateway has the device
 *
 * @typedef {object} Seat of the engine in a SharedStore
 * @property {(shared: Shared[]) => void} found more may be delivered
 * @property {(row: string, device: string, outcome: Outcome) => void} ended
 * @property {(row: string) => boolean} has true if the engine may be delivering it
 * @property {(broker: string) => boolean} reportsTo true if the broker belongs to this engine
 * @property {(command: Command, outcome: Outcome) => void} report to the broker from which it came
 * @property {(device: string) => void} wake
 * @property {() => void} leave ends it
 *
 * @typedef {object} CommandsParts
 * @property {import('./native-carrier').CommandEngine} engine
 * @property {string} directory of the log
 * @property {Store} [store] that replaces the file there
 * @property {(sentence: string) => void} warn
 * @property {() => void} [began] called when isIdle ends: ring() must be called within a second
 * @property {() => number} [now] ms, monotonic
 * @property {() => number} [wall] ms since 1970
 */

class Commands {
  #now;
  #wall;
  #native;
  #carriers;
  #topics = new DeviceTopics();
  /** @type {Set<Serve>} */
  #servers = new Set();
  /** @type {Store} */
  #store;
  /** @type {SharedStore | null} */
  #shared = null;
  /** Rows of the shared store that the queues have. @type {Set<string>} */
  #rows = new Set();
  /**
   * Adds a command again to the next shared store, or keeps it here, null. For those that a store has not answered for:
   * it may have been closed by a deploy.
   * @type {Set<(store: SharedStore | null) => void>}
   */
  #adding = new Set();
  /** A deploy has closed the shared store, and may open the next one. */
  #awaitsStore = false;
  #reports;
  #desk;
  #lastId;
  #tickedAt;
  #closed;

  /** @param {CommandsParts} parts */
  constructor({ engine, directory, warn, began, store, now = () => performance.now(), wall = Date.now }) {
    this.#now = now;
    this.#wall = wall;
    this.#native = new NativeCarrier(engine, TIMEOUT_MS, (command) => this.#topics.of(command));
    this.#carriers = new Carriers(this.#native, (pattern) => this.wake(pattern));
    this.#store = store ?? new CommandStore(directory, warn);
    this.#store.onFound = () => this.#restore();
    this.#reports = new Reports();
    this.#desk = new CommandQueues({
      attempt: (command, done) => this.#attempt(command, done),
      storage: {
        add: (command, done) =>
          this.#shared || this.#awaitsStore ? this.#addShared(command, done) : this.#store.add(command, done),
        remove: (row, outcome) =>
          typeof row === 'string' ? this.#endShared(row, outcome) : this.#store.remove(row)
      },
      now,
      wall,
      began
    });
    // Gateways that share commands give different ids.
    this.#lastId = randomInt(2 ** 40);
    this.#tickedAt = -Infinity;
    this.#closed = false;
    this.#restore();
  }

  /** Restores the commands that an earlier run stored, and tries again later if the file cannot be read now. */
  #restore() {
    for (const { row, command } of this.#store.load()) {
      this.#desk.restore(command, row, (status, reason) => this.#notifyCloud(command, status, reason));
    }
  }

  /**
   * Keeps commands in a store that several gateways have, instead of the file.
   * @param {SharedStore} store
   * @returns {Seat | null} null: another one is in use
   */
  share(store) {
    if (this.#shared) return null;
    this.#shared = store;
    this.#awaitsStore = false;
    const found = (/** @type {Shared[]} */ shared) => this.#restoreShared(shared);
    found(store.load());
    for (const add of [...this.#adding]) add(store);
    return {
      found,
      ended: (row, device, { status, reason }) => {
        this.#rows.delete(row);
        this.#desk.endShared(device, row, status, reason);
      },
      has: (row) => this.#rows.has(row),
      reportsTo: (broker) => this.#reports.reachesBroker(broker),
      report: (command, { status, reason }) => this.#notifyCloud(command, status, reason),
      wake: (device) => void this.#desk.wake(device),
      leave: () => {
        if (this.#shared !== store) return;
        this.#shared = null;
        this.#awaitsStore = true;
        this.#rows.clear();
        this.#desk.endAllShared();
      }
    };
  }

  /** @param {Shared[]} shared */
  #restoreShared(shared) {
    if (this.#closed) return;
    for (const { row, command } of shared) {
      if (this.#rows.has(row)) continue;
      this.#rows.add(row);
      // The store decides which gateway reports.
      this.#desk.restore(command, row, () => {});
      this.#desk.wake(command.device);
    }
  }

  /**
   * @param {Command} command of a flow
   * @param {(error: Error | null, row: import('./command-queues').Row) => void} done
   */
  #addShared(command, done) {
    const add = (/** @type {SharedStore | null} */ store) => {
      if (!store) {
        this.#adding.delete(add);
        return this.#store.add(command, done);
      }
      const row = store.add(command, (error) => {
        if (!this.#adding.delete(add)) return;
        if (error) this.#rows.delete(row);
        done(error, row);
        // The next store has it.
        if (this.#shared !== store) this.#desk.endShared(command.device, row, 'closed', NOT_SHARED);
      });
      this.#rows.add(row);
    };
    this.#adding.add(add);
    if (this.#shared) add(this.#shared);
  }

  /** @param {string} row @param {Outcome} outcome */
  #endShared(row, outcome) {
    this.#rows.delete(row);
    this.#shared?.remove(row, outcome);
  }

  /** @param {Command} command @param {(outcome: import('./command-queues').Outcome) => void} done */
  #attempt(command, done) {
    const reach = command.origin && this.#shared ? this.#shared.reach(command) : 'all';
    if (reach === 'none') done({ end: 'offline', reason: 'The device is at another gateway.' });
    else this.#carriers.attempt(command, done, reach === 'all');
  }

  /** Makes commands of the cloud wait until resume(). Call it before the flows start. */
  hold() {
    this.#carriers.hold();
  }

  /** Call it when the flows have started, also after each deploy. */
  resume() {
    this.#awaitsStore = false;
    if (!this.#shared) for (const add of [...this.#adding]) add(null);
    this.#carriers.resume();
  }

  /**
   * Delivers commands to devices that JavaScript serves: `const stop = host.commands.carry('aa:bb:*', write)`. Call
   * `stop.ready(device)` when such a device becomes reachable again.
   * @param {string} pattern device id or glob
   * @param {import('./command-carriers').Carrier} fn
   * @returns {import('./command-carriers').Carrying}
   */
  carry(pattern, fn) {
    return this.#carriers.carry(pattern, fn);
  }

  /**
   * Sends commands to devices at topics of their own. Of several rules for a device, the one that was added first
   * applies.
   * @param {readonly import('./device-topics').TopicRule[]} rules
   * @returns {() => void} removes them
   */
  mapTopics(rules) {
    const remove = this.#topics.add(rules);
    this.wake('*');
    return remove;
  }

  /**
   * Passes commands of the cloud to a flow. A command that the flow receives counts as taken.
   * @param {import('./command-carriers').Listener} listener
   * @returns {() => void} removes the listener
   */
  listen(listener) {
    return this.#carriers.listen(listener);
  }

  /**
   * Sends a command of a flow.
   * @param {{ device: string, topic: string, payload: Buffer, qos: 0 | 1, expiryS?: number }} given with the whole
   *   topic
   * @param {import('./command-queues').Watch} watch
   * @throws {Error} with a sentence
   */
  send({ device, topic, payload, qos, expiryS = DEFAULT_EXPIRY_S }, watch) {
    const problem = commandProblem({ device, topic });
    if (problem) throw new Error(problem);
    if (this.#closed) return watch('closed', 'The engine stopped.');
    const expiresAt = this.#wall() + expiryS * 1000;
    // Copied, because the flow may change its Buffer later, and the Buffer may be part of a larger one.
    const own = Buffer.from(payload);
    this.#desk.submit({ id: this.#id(), device, topic, payload: own, qos, expiresAt, origin: null }, watch);
  }

  /**
   * Sends a command before all others that wait for the device, for a desired state that its sender keeps: it waits for
   * the device in memory only, and the sender's next one replaces it unless it is in flight.
   * @param {{ device: string, topic: string, payload: Buffer }} given with the whole topic
   * @param {import('./command-queues').Leading} follower
   * @throws {Error} with a sentence
   */
  lead({ device, topic, payload }, follower) {
    const problem = commandProblem({ device, topic });
    if (problem) throw new Error(problem);
    if (this.#closed) return;
    const command = { id: this.#id(), device, topic, payload, qos: /** @type {const} */ (1), expiresAt: 0 };
    this.#desk.lead({ ...command, origin: null }, follower);
  }

  /**
   * Withdraws a leading command.
   * @param {string} device
   * @param {string} [sender]
   * @returns {boolean} false: it is in flight, and stays
   */
  retract(device, sender) {
    return this.#desk.retract(device, sender);
  }

  /**
   * Lets a capability answer commands of the cloud that are meant for the gateway, such as one that sets what a device
   * shall do when it returns. They do not wait in the queue of the device.
   * @param {Serve} serve
   * @returns {() => void} ends that
   */
  serve(serve) {
    this.#servers.add(serve);
    return () => void this.#servers.delete(serve);
  }

  /**
   * Sends a command of the cloud.
   * @param {string} broker id of the broker node
   * @param {CloudCommand} given
   * @param {(status: Status) => void} safe called once, with the first status: the command may be acknowledged, and was
   *   kept if this is 'taken' or 'queued'. Not called if the engine stops before
   */
  fromCloud(broker, given, safe) {
    const { device, rest, qos, responseTopic, correlation, tenant, expiryS = DEFAULT_EXPIRY_S } = given;
    const command = {
      id: given.id || this.#id(),
      device,
      topic: deviceTopic(device, rest),
      payload: bytes(given.payload),
      qos,
      expiresAt: this.#wall() + expiryS * 1000,
      origin: { broker, rest, responseTopic, tenant, ...(correlation && { correlation: bytes(correlation) }) }
    };
    let isSafe = false;
    /** @type {(status: Status | 'closed', reason: string, more?: object) => void} */
    const watch = (status, reason, more) => {
      this.#notifyCloud(command, status, reason, more);
      if (!isSafe && status !== 'closed') safe(status);
      isSafe = true;
    };
    const problem = commandProblem(command);
    if (problem) watch('refused', problem);
    else if (!this.#closed) void this.#accept(command, watch);
  }

  /**
   * @param {Command & { origin: Origin }} command
   * @param {(status: Status | 'closed', reason: string, more?: object) => void} watch
   */
  async #accept(command, watch) {
    for (const serve of this.#servers) {
      const serving = serve(command);
      const served = serving && (await serving);
      // Without a report, the cloud sends it again.
      if (this.#closed) return;
      if (served) return watch(served.status, served.reason, served.body);
    }
    if (this.#shared || this.#awaitsStore) this.#share(this.#shared, command, watch);
    else this.#desk.submit(command, watch);
  }

  /**
   * @param {SharedStore | null} store null: the next one
   * @param {Command} command
   * @param {import('./command-queues').Watch} watch
   */
  #share(store, command, watch) {
    const now = this.#wall();
    if (command.expiresAt <= now) return watch('expired', 'The command had expired when it arrived.');
    const expiresAt = command.qos === 0 ? Math.min(command.expiresAt, now + SHARED_QOS0_S * 1000) : command.expiresAt; // prettier-ignore
    const add = (/** @type {SharedStore | null} */ to) => {
      if (!to) {
        this.#adding.delete(add);
        return this.#desk.submit(command, watch);
      }
      to.add({ ...command, expiresAt }, (error) => {
        if (!this.#adding.delete(add)) return;
        if (error) watch(error.status ?? 'full', error.message);
        else watch('queued', 'The gateways have the command.');
      });
    };
    this.#adding.add(add);
    if (store) add(store);
  }

  /**
   * Call it when the broker accepts reports. Waiting reports are published first.
   * @param {string} broker id of the broker node
   * @param {import('./command-reports').Publish} publish
   * @returns {() => void} stops the reports
   */
  reportTo(broker, publish) {
    return this.#reports.open(broker, publish);
  }

  /** @param {string} pattern devices that may be reachable now: id or glob */
  wake(pattern) {
    if (this.#desk.wake(pattern) || !isGlob(pattern)) return;
    this.#desk.wakeAll((device) => matchesGlob(pattern, device));
  }

  /** True if there is no command whose time may end. */
  get isIdle() {
    return this.#desk.isEmpty;
  }

  /** Call it at each doorbell, and once a second unless isIdle. */
  ring() {
    this.#native.take();
    if (this.#now() - this.#tickedAt < TICK_MS) return;
    this.#tickedAt = this.#now();
    this.#restore();
    this.#desk.tick();
  }

  /**
   * Copies the commands on disk into a new file.
   * @param {string} file absolute; must not exist
   * @returns {Promise<boolean>} false: there is nothing to copy
   */
  backup(file) {
    return this.#store.backup(file);
  }

  /** Closes the queues. Stored commands stay on disk. The others are not acknowledged, so the cloud still has them. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#store.flush();
    this.#desk.close();
    this.#store.close();
  }

  view() {
    return { ...this.#desk.view(), reportsDropped: this.#reports.dropped };
  }

  /**
   * @param {Command} command
   * @param {Status | 'closed'} status
   * @param {string} reason
   * @param {object} [more] for the report
   */
  #notifyCloud({ id, device, origin, topic }, status, reason, more) {
    if (!origin || status === 'closed') return;
    const { broker, rest = restOf({ device, topic }), responseTopic, correlation } = origin;
    const ts = this.#wall();
    this.#reports.add(broker, {
      device,
      rest,
      responseTopic,
      correlation,
      body: { status, id, ts, reason, ...more }
    });
  }

  #id() {
    return `${this.#wall().toString(36)}-${(++this.#lastId).toString(36)}`;
  }
}

/**
 * Returns a Buffer over the same memory. A Buffer from another thread arrives as Uint8Array.
 * @param {Uint8Array} array
 */
function bytes({ buffer, byteOffset, byteLength }) {
  return Buffer.from(buffer, byteOffset, byteLength);
}

exports.Commands = Commands;
