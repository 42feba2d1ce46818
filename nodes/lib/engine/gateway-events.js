'use strict';
// The events and the audit log of the gateway, from its first engine to its last.

const os = require('node:os');
const path = require('node:path');
const { Complaints } = require('../base/complaints');
const { EventBook, EventStore, auditHandler } = require('../events');
const { EventWatch } = require('./event-watch');
const { readNotifications } = require('../settings/notifications');
const { version } = require('../../../package.json');

/** @typedef {import('./join').EngineNode} EngineNode */

class GatewayEvents {
  #RED;
  #store;
  #complaints;
  /** True after the first engine of the process. */
  #wasStarted = false;
  /** @type {EventWatch | null} null = there is no engine */
  #watch = null;
  /** @type {Set<EngineNode>} all deployed engines, running or not */
  #engines;

  /**
   * @param {import('node-red').NodeAPI} RED
   * @param {Set<EngineNode>} engines all deployed engines, running or not
   */
  constructor(RED, engines) {
    this.#RED = RED;
    this.#engines = engines;
    const { userDir } = RED.settings;
    const file = userDir ? path.join(userDir, 'seganet-events', 'events.db') : '';
    this.#complaints = new Complaints((sentence) => RED.log.warn(sentence));
    const warn = (/** @type {string} */ sentence) => this.#complaints.tell('events', sentence);
    this.#store = new EventStore(file, { warn });
    this.book = new EventBook(this.#store);
    const log = /** @type {any} */ (RED.log);
    log.addHandler(
      auditHandler({
        level: log.AUDIT,
        add: (line) => this.#store.add({ ...line, id: this.#store.nextId(), at: Date.now() }),
        wrongLogin: (user) => {
          if (this.#watch)
            this.book.happens({ kind: 'login', subject: '', key: 'loginEditor', params: { user } });
        }
      })
    );
  }

  /**
   * Call it for each engine node that is created.
   * @param {EngineNode} node
   * @param {object} config of it
   */
  follow(node, config) {
    this.#engines.add(node);
    node.events = this;
    const { watchDevices, notifications, problem } = readNotifications(config, node.credentials);
    node.watchDevices = watchDevices;
    if (problem) node.warn(`Nobody is notified of events: ${problem}`);
    if (notifications) this.#notify(node, config, notifications);
    node.on('close', () => {
      this.#engines.delete(node);
      // The next engine of a deploy may be there before this one has closed.
      if (this.#engines.size === 0) this.#stop();
    });
    if (!this.#watch) this.#start();
  }

  /** @param {{ before: number, limit: number }} page @returns {import('../events/event-store').AuditLine[]} */
  audit(page) {
    return this.#store.audit(page);
  }

  /**
   * @param {EngineNode} node
   * @param {{ gatewayId?: string }} config
   * @param {import('../settings/notifications').Notifications} notifications
   */
  #notify(node, { gatewayId }, notifications) {
    const { Notifier } = require('../events/notify/notifier');
    const complaints = new Complaints((sentence) => node.warn(sentence));
    const notifier = new Notifier(notifications, {
      gateway: gatewayId || process.env.SEGANET_GATEWAY_ID || os.hostname(),
      // A message differs each time, its beginning does not.
      warn: (sentence) => complaints.tell(sentence.slice(0, 60), sentence)
    });
    const unfollow = this.follower(node.id, (event, change) => notifier.follow(event, change));
    node.on('close', () => {
      unfollow();
      notifier.close();
    });
  }

  /**
   * Adds a follower of the events of an engine and of the whole gateway.
   * @param {string} engine id of the node
   * @param {import('../events/event-book').Follower} follower
   * @returns {() => void} removes it
   */
  follower(engine, follower) {
    return this.book.follow((event, change) => {
      if (event.engine === '' || event.engine === engine) follower(event, change);
    });
  }

  #start() {
    const isClean = this.book.begin();
    // When all engines are there, with those whom they notify.
    if (!this.#wasStarted) setImmediate(() => this.#watch && this.#report(isClean));
    this.#wasStarted = true;
    const onFault = (/** @type {Error} */ { message, stack = message }) =>
      this.#complaints.tell(message, `Internal error in the events. Please report it: ${stack}`);
    this.#watch = new EventWatch(this.#RED, this.#engines, this.book, { onFault });
  }

  /** @param {boolean | null} isClean */
  #report(isClean) {
    const key = isClean === false ? 'restartUnclean' : 'restart';
    const severity = isClean === false ? 'error' : 'info';
    this.book.happened({ kind: 'restart', subject: '', key, severity, params: { version } });
  }

  #stop() {
    this.#watch?.close();
    this.#watch = null;
    this.book.end();
  }
}

exports.GatewayEvents = GatewayEvents;
