'use strict';
// The thread of one uplink broker. It starts when an engine uses the broker, and stops when the broker node is closed
// or the engine has drained. A broker serves one engine at a time, because a session belongs to one queue.

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
  /**
   * @param {string} id of the broker node
   * @param {string} name for display
   * @param {object} options of UplinkThread, without the gateway id
   */
  constructor(id, name, options) {
    this.id = id;
    this.name = name;
    this.options_ = options;
    /** @type {EngineHost | null} */
    this.owner_ = null;
    /** @type {Set<object>} uplink nodes */
    this.users_ = new Set();
    /** @type {UplinkThread | null} */
    this.thread_ = null;
    /** @type {number} Engine.token that the thread is attached to */
    this.token_ = 0;
    /** Why the broker refuses the session for commands, as last reported. */
    this.refusedCommands_ = '';
    /** Stops the command reports to the thread. */
    this.stopReports_ = () => {};
    /** @type {Promise<unknown>} a thread that is stopping */
    this.stopping_ = Promise.resolve();
    this.isStopping_ = false;
    /** @type {UplinkStages | null} stages of the latest plan, null = the plan does not use this broker */
    this.wanted_ = null;
    this.closed_ = false;
    /** @type {UplinkState} */
    this.state = { state: 'stopped' };
    /** kind: see Complaints. @type {(sentence: string, kind?: string, count?: number) => void} */
    this.onProblem = () => {};
    this.network_ = new NetworkWatch({
      check: async (address) => parts.net().checkUplink(address),
      changed: (network) => (this.state = { ...this.state, network }),
      warn: (sentence) => this.onProblem(sentence)
    });
    this.energy_ = new (parts.energy().EnergyWatch)();
  }

  /** @returns {string} the broker's address */
  get url() {
    return /** @type {{ url: string }} */ (this.options_).url;
  }

  /** @param {UplinkState} state on change, and once a second */
  follow_(state) {
    this.network_.follow(state);
    const energy = this.energy_.follow(state.bytesAcked ?? 0);
    this.state = { ...state, network: this.network_.view, ...(energy && { energy }) };
    const { commands } = state;
    if (commands?.state !== 'refused' || commands.code === this.refusedCommands_) return;
    this.refusedCommands_ = commands.code;
    this.onProblem(`Commands from the cloud do not arrive: ${commands.reason}`);
  }

  /**
   * @param {EngineHost} host
   * @param {object} user the uplink node
   * @returns {boolean} false if another engine uses this broker
   */
  claim(host, user) {
    if (this.owner_ && this.owner_ !== host && this.users_.size > 0) return false;
    this.owner_ = host;
    this.users_.add(user);
    return true;
  }

  /** @param {object} user */
  release(user) {
    this.users_.delete(user);
  }

  /**
   * Sends the topics of the next plan to a running thread, so that no batch waits for its topic.
   * @param {EngineHost} host
   * @param {UplinkStages} stages
   */
  announce(host, stages) {
    if (this.thread_ && this.token_ === host.token) this.thread_.setStages(stages);
  }

  /**
   * Starts the thread if necessary and attaches it to the engine's queue, after a plan was applied.
   * @param {EngineHost} host
   * @param {number} uplinkNumber
   * @param {UplinkStages} stages
   */
  async serve(host, uplinkNumber, stages) {
    const token = host.token;
    if (this.thread_ && this.token_ !== token) this.stop(0);
    this.wanted_ = stages;
    await this.stopping_;
    // More deploys may have happened during the wait. The latest one counts.
    if (host.closing || this.closed_ || !this.wanted_) return;
    if (this.thread_) this.thread_.setStages(this.wanted_);
    else this.start_(host, uplinkNumber, token, this.wanted_);
  }

  /** True while a thread runs or stops. */
  get isBusy() {
    return this.thread_ !== null || this.isStopping_;
  }

  /**
   * Stops the thread. Batches that are not acknowledged return to the engine. Idempotent.
   * @param {number} timeoutMs longest wait for pending acknowledgements; there is none without a connection
   * @returns {Promise<unknown>}
   */
  stop(timeoutMs) {
    const thread = this.thread_;
    this.thread_ = null;
    this.wanted_ = null;
    if (thread) {
      this.isStopping_ = true;
      const waitMs = anyConnected(this.state) ? timeoutMs : 0;
      this.network_.stop();
      this.energy_.stop();
      this.stopping_ = Promise.resolve(thread.stop(waitMs))
        .catch((error) => this.onProblem(`The uplink thread did not stop cleanly: ${error.message}`))
        .finally(() => (this.isStopping_ = false))
        .finally(this.stopReports_);
      this.state = { state: 'stopped' };
    }
    return this.stopping_;
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
    if (this.owner_?.closing) await this.owner_.closing;
    this.closed_ = true;
    await this.stop(timeoutMs);
  }

  /**
   * @param {EngineHost} host
   * @param {number} uplinkNumber
   * @param {number} token
   * @param {UplinkStages} stages
   */
  start_(host, uplinkNumber, token, stages) {
    const { UplinkThread } = parts.uplink();
    const clientId = /** @type {{ clientId?: string }} */ (this.options_).clientId || host.gatewayId;
    let thread;
    try {
      thread = new UplinkThread({ ...this.options_, clientId, gateway: host.gatewayId });
    } catch (error) {
      this.state = { state: 'refused', reason: /** @type {Error} */ (error).message };
      throw error;
    }
    this.thread_ = thread;
    this.token_ = token;
    this.state = { state: 'connecting' };
    thread.on('state', (state) => {
      if (this.thread_ === thread) this.follow_(state);
    });
    thread.on('problem', ({ reason, code, count }) => this.onProblem(reason, code, count));
    thread.on('command', (command) =>
      host.commands.fromCloud(this.id, command, () => thread.answer(command.ack))
    );
    this.stopReports_ = host.commands.reportTo(this.id, (report) => thread.report(report));
    thread.setStages(stages);
    thread.attach(token, uplinkNumber);
  }
}

exports.BrokerLink = BrokerLink;
