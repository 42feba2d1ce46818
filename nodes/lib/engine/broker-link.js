'use strict';
// The thread of one uplink broker or Kafka cluster. It starts when an engine uses the broker, and stops when the broker
// node is closed or the engine has drained. A broker serves one engine at a time, because a session belongs to one
// queue.

const { NetworkWatch } = require('./network-watch');
const parts = require('./modules');
const { anyConnected } = require('./session-summary');

/**
 * @typedef {import('./modules').UplinkThread} UplinkThread
 * @typedef {import('./modules').UplinkState} UplinkState
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {Record<number, import('./broker-links').Topics>} UplinkStages
 */

class BrokerLink {
  #options;
  #threadClass;
  /** @type {EngineHost | null} */
  #owner;
  /** @type {Set<object>} uplink nodes */
  #users;
  /** @type {UplinkThread | null} */
  #thread;
  /** @type {number} Engine.token that the thread is attached to */
  #token;
  /** Why the broker refuses the session for commands, as last reported. */
  #refusedCommands;
  /** Stops the command reports to the thread. */
  #stopReports;
  /** @type {Promise<unknown>} a thread that is stopping */
  #stopping;
  #isStopping;
  /** @type {UplinkStages | null} stages of the latest plan, null = the plan does not use this broker */
  #wanted;
  #closed;
  /** When the thread last reported, ms of performance.now(). */
  #reportedAt;
  #network;
  #energy;

  /**
   * @param {string} id of the broker node
   * @param {string} name for display
   * @param {object} options of UplinkThread, without the gateway id
   * @param {() => import('./modules').UplinkThreadClass} [threadClass] default: the thread of an MQTT broker
   */
  constructor(id, name, options, threadClass = () => parts.uplink().UplinkThread) {
    this.id = id;
    this.#threadClass = threadClass;
    this.name = name;
    this.#options = options;
    this.#owner = null;
    this.#users = new Set();
    this.#thread = null;
    this.#token = 0;
    this.#refusedCommands = '';
    this.#stopReports = () => {};
    this.#stopping = Promise.resolve();
    this.#isStopping = false;
    this.#wanted = null;
    this.#closed = false;
    this.#reportedAt = 0;
    /** @type {UplinkState} */
    this.state = { state: 'stopped' };
    /** kind: see Complaints. @type {(sentence: string, kind?: string, count?: number) => void} */
    this.onProblem = () => {};
    this.#network = new NetworkWatch({
      check: async (address) => parts.net().checkUplink(address),
      changed: (network) => (this.state = { ...this.state, network }),
      warn: (sentence) => this.onProblem(sentence)
    });
    this.#energy = new (parts.energy().EnergyWatch)();
  }

  /** @returns {string} the broker's address; kafka://… of a Kafka cluster */
  get url() {
    return /** @type {{ url: string }} */ (this.#options).url;
  }

  /** @returns {boolean} true if the sessions are edge nodes of Sparkplug */
  get isSparkplug() {
    const { sparkplugGroup = '' } = /** @type {{ sparkplugGroup?: string }} */ (this.#options);
    return sparkplugGroup !== '';
  }

  /** @returns {number} ms since the thread reported, which it does at least each nine seconds; -1 = none runs */
  get silentMs() {
    return this.#thread ? performance.now() - this.#reportedAt : -1;
  }

  /** @returns {number | undefined} most packets of a session, or records of a class in Kafka, in flight */
  get window() {
    const { inflight, window } = /** @type {{ inflight?: number, window?: number }} */ (this.#options);
    return inflight ?? window;
  }

  /** @returns {string[] | undefined} addresses of the brokers of a Kafka cluster that its node names */
  get brokers() {
    const { brokers } = /** @type {{ brokers?: { host: string, port: number }[] }} */ (this.#options);
    return brokers?.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  }

  /** @param {UplinkState} state on change, and at least each nine seconds */
  #follow(state) {
    this.#reportedAt = performance.now();
    this.#network.follow(state);
    const energy = this.#energy.follow(state.bytesAcked ?? 0);
    this.state = { ...state, network: this.#network.view, ...(energy && { energy }) };
    const { commands } = state;
    if (commands?.state !== 'refused' || commands.code === this.#refusedCommands) return;
    this.#refusedCommands = commands.code;
    this.onProblem(`Commands from the cloud do not arrive: ${commands.reason}`);
  }

  /**
   * @param {EngineHost} host
   * @param {object} user the uplink node
   * @returns {boolean} false if another engine uses this broker
   */
  claim(host, user) {
    if (this.#owner && this.#owner !== host && this.#users.size > 0) return false;
    this.#owner = host;
    this.#users.add(user);
    return true;
  }

  /** @param {object} user */
  release(user) {
    this.#users.delete(user);
  }

  /**
   * Sends the topics of the next plan to a running thread, so that no batch waits for its topic.
   * @param {EngineHost} host
   * @param {UplinkStages} stages
   */
  announce(host, stages) {
    if (this.#thread && this.#token === host.token) this.#thread.setStages(stages);
  }

  /**
   * Starts the thread if necessary and attaches it to the engine's queue, after a plan was applied.
   * @param {EngineHost} host
   * @param {number} uplinkNumber
   * @param {UplinkStages} stages
   */
  async serve(host, uplinkNumber, stages) {
    const token = host.token;
    if (this.#thread && this.#token !== token) this.stop(0);
    this.#wanted = stages;
    await this.#stopping;
    // More deploys may have happened during the wait. The latest one counts.
    if (host.closing || this.#closed || !this.#wanted) return;
    if (this.#thread) this.#thread.setStages(this.#wanted);
    else this.#start(host, uplinkNumber, token, this.#wanted);
  }

  /** True while a thread runs or stops. */
  get isBusy() {
    return this.#thread !== null || this.#isStopping;
  }

  /**
   * Stops the thread. Batches that are not acknowledged return to the engine. Idempotent.
   * @param {number} timeoutMs longest wait for pending acknowledgements; there is none without a connection
   * @returns {Promise<unknown>}
   */
  stop(timeoutMs) {
    const thread = this.#thread;
    this.#thread = null;
    this.#wanted = null;
    if (thread) {
      this.#isStopping = true;
      const waitMs = anyConnected(this.state) ? timeoutMs : 0;
      this.#network.stop();
      this.#energy.stop();
      this.#stopping = Promise.resolve(thread.stop(waitMs))
        .catch((error) => this.onProblem(`The uplink thread did not stop cleanly: ${error.message}`))
        .finally(() => (this.#isStopping = false))
        .finally(this.#stopReports);
      this.state = { state: 'stopped' };
    }
    return this.#stopping;
  }

  /**
   * Call it when the broker node is closed. If the engine closes in the same deploy, the thread runs until the engine
   * has drained.
   * @param {number} timeoutMs
   */
  async close(timeoutMs) {
    // Node-RED calls the close handlers of all nodes in one turn. After it, the engine's handler has run if it closes
    // too.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#owner?.closing) await this.#owner.closing;
    this.#closed = true;
    await this.stop(timeoutMs);
  }

  /**
   * @param {EngineHost} host
   * @param {number} uplinkNumber
   * @param {number} token
   * @param {UplinkStages} stages
   */
  #start(host, uplinkNumber, token, stages) {
    const UplinkThread = this.#threadClass();
    const clientId = /** @type {{ clientId?: string }} */ (this.#options).clientId || host.gatewayId;
    let thread;
    try {
      const replicated = Boolean(host.replicas);
      thread = new UplinkThread({ ...this.#options, clientId, gateway: host.gatewayId, replicated });
    } catch (error) {
      this.state = { state: 'refused', reason: /** @type {Error} */ (error).message };
      throw error;
    }
    this.#thread = thread;
    this.#token = token;
    this.#reportedAt = performance.now();
    this.state = { state: 'connecting' };
    thread.on('state', (state) => {
      if (this.#thread === thread) this.#follow(state);
    });
    thread.on('problem', ({ reason, code, count }) => this.onProblem(reason, code, count));
    thread.on('command', (command) =>
      host.commands.fromCloud(this.id, command, () => thread.answer(command.ack))
    );
    this.#stopReports = host.commands.reportTo(this.id, (report) => thread.report(report));
    thread.setStages(stages);
    thread.attach(token, uplinkNumber);
  }
}

exports.BrokerLink = BrokerLink;
