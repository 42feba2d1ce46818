'use strict';
// The running gateway as a service: it answers the commands of its user, and notifies the service manager.

const { onRuntimeEvent } = require('../../nodes/lib/base/runtime-events');
const { ControlSocket, removeCopies } = require('./control-socket');
const { ServiceManager, takeManager } = require('./service-manager');
const { gatewayState, ownNodes, summary } = require('./view');

/** Events of one answer. */
const MOST_EVENTS = 50;
/** Between two looks at whether the gateway is ready, ms. */
const LOOK_MS = 200;

class GatewayService {
  #home;
  #report;
  #hasEditor;
  /** @type {any} */
  #RED;
  /** @type {Map<string, import('./view').Shown>} by node id */
  #statuses;
  #isStarted;
  #startedAt;
  #manager;
  /** @type {import('./service-manager').ServiceManager | null} */
  #service;
  /** @type {import('./control-socket').ControlSocket | null} */
  #control;

  /**
   * @param {{ home: string, hasEditor: boolean, report: (sentence: string) => void, env?: NodeJS.ProcessEnv }} parts
   *   hasEditor: an engine that does not start can be repaired in the editor
   */
  constructor({ home, hasEditor, report, env = process.env }) {
    this.#home = home;
    this.#hasEditor = hasEditor;
    this.#report = report;
    this.#statuses = new Map();
    this.#isStarted = false;
    this.#startedAt = performance.now();
    this.#manager = takeManager(env);
    this.#service = null;
    this.#control = null;
  }

  /**
   * Follows Node-RED. Call it before Node-RED starts.
   * @param {any} RED the node-red module
   */
  async follow(RED) {
    this.#RED = RED;
    onRuntimeEvent(RED.events, 'node-status', (event) => this.#onStatus(event), this.#report);
    onRuntimeEvent(RED.events, 'flows:started', () => this.#onStarted(), this.#report);
    if (this.#manager) this.#serve(this.#manager);
    this.#control = new ControlSocket({
      home: this.#home,
      state: () => this.state(),
      engines: () => this.#copied(),
      why: (name) => this.#why(name),
      events: {
        list: (isOpen) => this.#book()?.page({ limit: MOST_EVENTS, isOpen }) ?? [],
        acknowledge: (id) => this.#book()?.acknowledge(id, 'seganet-gateway') ?? null
      },
      drain: {
        start: (how) => this.#hosts().forEach(({ handover }) => handover.start(how)),
        view: () => this.#left()
      },
      ask: (kind, asked) => this.#ask(kind, asked),
      report: this.#report
    });
    await this.#control.open();
  }

  /** @returns {import('./view').GatewayState} */
  state() {
    const seen = { statuses: this.#statuses, isStarted: this.#isStarted, startedAt: this.#startedAt };
    return gatewayState(this.#RED, seen);
  }

  /** Call it when the gateway begins to end. */
  stopping() {
    this.#service?.stopping();
    this.#control?.close();
  }

  /** @param {{ id: string, status?: import('./view').Shown }} event without a status for a removed node */
  #onStatus({ id, status }) {
    if (status?.fill) this.#statuses.set(id, status);
    else this.#statuses.delete(id);
  }

  #onStarted() {
    if (this.#isStarted) return;
    this.#isStarted = true;
    for (const { directory } of this.#copied()) removeCopies(directory);
  }

  /** @param {import('./service-manager').Manager} manager */
  #serve(manager) {
    /** @type {typeof import('../../native')} */
    let native;
    try {
      native = require('../../native');
    } catch {
      // The engine's node reports the reason, and this gateway can serve no device.
      return;
    }
    const service = new ServiceManager(manager, {
      send: native.notify,
      report: this.#report,
      read: () => ({ engines: this.#readings(), status: summary(this.state()) })
    });
    service.start();
    const look = setInterval(() => {
      if (!this.#isReady()) return;
      clearInterval(look);
      service.ready();
    }, LOOK_MS);
    look.unref();
    this.#service = service;
  }

  /** @returns {boolean} true if devices are served, or the editor can repair what prevents it */
  #isReady() {
    const { ready, engines, listeners } = this.state();
    if (!ready) return false;
    const isServing =
      engines.some(({ running }) => running) &&
      (listeners.length === 0 || listeners.some(({ fill }) => fill !== 'red'));
    return isServing || this.#hasEditor;
  }

  /**
   * Asks each node that has a method why().
   * @param {string} about
   * @returns {Promise<object[]>}
   */
  #why(about) {
    const nodes = this.#isStarted ? ownNodes(this.#RED) : [];
    const able = nodes.filter(({ node }) => typeof node?.why === 'function');
    return Promise.all(
      able.map(async ({ id, name, node }) => ({ node: id, name, ...(await node.why(about)) }))
    );
  }

  /**
   * Asks the first node of a kind that has a method control().
   * @param {string} kind such as shadow
   * @param {import('./control-socket').Asked} asked
   * @returns {Promise<{ status: number, text: string }>}
   */
  async #ask(kind, asked) {
    const nodes = this.#isStarted ? ownNodes(this.#RED) : [];
    const able = nodes.find(
      ({ type, node }) => type === `seganet-${kind}` && typeof node?.control === 'function'
    );
    if (able) return able.node.control(asked);
    const error = `The flow has no ${kind} node that runs.`;
    return { status: 404, text: JSON.stringify({ error }) };
  }

  /** @returns {import('../../nodes/lib/events/event-book').EventBook | undefined} */
  #book() {
    const nodes = this.#isStarted ? ownNodes(this.#RED) : [];
    return nodes.find(({ type, node }) => type === 'seganet-engine' && node?.events)?.node.events.book;
  }

  /** @returns {{ devices: number, moved: number, records: number }} of all engines */
  #left() {
    const left = { devices: 0, moved: 0, records: 0 };
    for (const { handover } of this.#hosts()) {
      const { devices, moved, records } = handover.view();
      left.devices += devices;
      left.moved += moved;
      left.records += records;
    }
    return left;
  }

  /** @returns {any[]} the hosts of the running engines */
  #hosts() {
    if (!this.#isStarted) return [];
    const engines = ownNodes(this.#RED).filter(({ type }) => type === 'seganet-engine');
    return engines.flatMap(({ node }) => (node?.host && !node.host.closing ? [node.host] : []));
  }

  /** @returns {import('./progress').Reading[]} */
  #readings() {
    return this.#hosts().map((host) => ({
      name: host.id,
      silentMs: host.engine
        .stats()
        .placement.workers.map((/** @type {{ silentMs: number }} */ row) => row.silentMs)
    }));
  }

  /** @returns {import('./control-socket').Copied[]} */
  #copied() {
    return this.#hosts().map((host) => ({
      id: host.id,
      directory: host.directory,
      // One in a database is backed up with the database.
      log: host.log && !host.log.isShared ? (/** @type {string} */ file) => host.log.backup(file) : null,
      commands: (/** @type {string} */ file) => host.commands.backup(file)
    }));
  }
}

exports.GatewayService = GatewayService;
