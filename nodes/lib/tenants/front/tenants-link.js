'use strict';
// The thread that serves the tenants of one engine, as its host sees it. It starts with the first plan that has
// tenants, and stops when the tenants node is closed or the engine has drained.

const parts = require('../../engine/modules');

/**
 * @typedef {import('../uplink/tenants-thread').TenantsThread} TenantsThread
 * @typedef {import('../../engine/host').EngineHost} EngineHost
 * @typedef {import('../uplink/tenant').TenantView} TenantView
 * @typedef {import('../uplink/tenants-thread').PlanTenant} PlanTenant
 * @typedef {Omit<import('../uplink/tenants-thread').TenantsOptions, 'gateway' | 'maxPacketBytes'>} LinkOptions
 */

/** Longest wait for the pending acknowledgements of a tenant that leaves the plan. */
const PART_MS = 1000;
/** The log is searched for records of tenants that sleep: until it is open, and then rarely. */
const LOOK_MS = 1000;
const LOOKS = 30;
/** Begins the name of a tenant's uplink stage in the log. */
const LOG_PREFIX = 'tenant/';
/** Bytes of a tenant's packet in addition to the payload of its command: topic, properties and headers. */
const PACKET_EXTRA_BYTES = 70000;

class TenantsLink {
  #options;
  /** @type {TenantsThread | null} */
  #thread = null;
  /** @type {EngineHost | null} */
  #host = null;
  /** @type {number} Engine.token that the thread is attached to */
  #token = 0;
  /** @type {Promise<unknown>} a thread that is stopping */
  #stopping = Promise.resolve();
  #isClosed = false;
  /** @type {PlanTenant[] | null} of the latest plan, null = the plan has none */
  #wanted = null;
  #reportedAt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #looks = 0;
  /** Stops the reports about commands. */
  #stopReports = () => {};

  /** @param {string} id of the tenants node @param {string} name @param {LinkOptions} options */
  constructor(id, name, options) {
    this.id = id;
    this.name = name;
    this.#options = options;
    /** @type {Record<import('../uplink/tenant').TenantState, number>} */
    this.counts = { asleep: 0, waiting: 0, waking: 0, connecting: 0, awake: 0, leaving: 0, failed: 0 };
    /** @type {Map<string, TenantView>} */
    this.rows = new Map();
    /** @type {Record<string, number>} of all sessions */
    this.totals = {};
    /** Why the thread cannot ask the keeper, '' = it can, or has not tried. */
    this.keeperProblem = '';
    /** kind: see Complaints. @type {(sentence: string, kind?: string, count?: number) => void} */
    this.onProblem = () => {};
  }

  /** @returns {number} ms since the thread reported, which it does once a second; -1 = none runs */
  get silentMs() {
    return this.#thread ? performance.now() - this.#reportedAt : -1;
  }

  /** @param {string} name @returns {string} of its records in the log */
  static logName(name) {
    return LOG_PREFIX + name;
  }

  /** @param {string} node of the log @returns {string} the tenant's name, '' = it is another node */
  static tenantOf(node) {
    return node.startsWith(LOG_PREFIX) ? node.slice(LOG_PREFIX.length) : '';
  }

  /**
   * Takes tenants from the thread that the next plan does not have.
   * @param {PlanTenant[]} tenants of the next plan
   * @returns {Promise<unknown> | null} null: there is nothing to wait for
   */
  part(tenants) {
    const thread = this.#thread;
    if (!thread) return null;
    const names = new Set(tenants.map(({ name }) => name));
    const gone = [...thread.tenants.keys()].filter((name) => !names.has(name));
    if (gone.length === 0) return null;
    return thread.part(gone, PART_MS).then(() => {
      for (const name of gone) this.rows.delete(name);
    });
  }

  /**
   * Starts the thread if necessary, and adds the tenants of a plan that was applied.
   * @param {EngineHost} host
   * @param {PlanTenant[]} tenants
   */
  async serve(host, tenants) {
    if (this.#thread && this.#token !== host.token) void this.stop(0);
    this.#wanted = tenants;
    await this.#stopping;
    // More deploys may have happened during the wait. The latest one counts.
    if (host.closing || this.#isClosed || !this.#wanted) return;
    if (!this.#thread) this.#start(host);
    this.#thread?.serve(this.#wanted);
    this.#looks = 0;
  }

  /** @param {EngineHost} host */
  #start(host) {
    /** @type {typeof import('../uplink')} */
    const { TenantsThread } = parts.threads('tenants');
    const maxPacketBytes = host.maxPacketBytes + PACKET_EXTRA_BYTES;
    const thread = new TenantsThread(
      { ...this.#options, gateway: host.gatewayId, maxPacketBytes },
      host.token
    );
    this.#thread = thread;
    this.#host = host;
    this.#token = host.token;
    this.#reportedAt = performance.now();
    thread.on('state', (state) => {
      if (this.#thread !== thread) return;
      this.#reportedAt = performance.now();
      this.counts = state.counts;
      this.totals = state.totals;
      this.keeperProblem = state.keeperProblem;
      for (const row of state.changes) if (thread.tenants.has(row.name)) this.rows.set(row.name, row);
    });
    // A tenant reaches only its own devices: the name comes from the session, not from the command.
    thread.on('command', ({ name, command, ack }) => {
      const own = { ...command, device: `${name}:${command.device}`, tenant: name };
      const wantsAnswer = command.qos > 0;
      host.commands.fromCloud(this.id, own, (status) => wantsAnswer && thread.answer(name, ack, status));
      // One of QoS 0 needs no result, but the thread hands over only a few that were not received here.
      if (!wantsAnswer) thread.answer(name, ack, 'taken');
    });
    // The tenant's command node has its own answer: the PUBACK with its reason code.
    this.#stopReports = host.commands.reportTo(this.id, () => {});
    thread.on('problem', ({ reason, code, count }) => this.onProblem(reason, code, count));
    thread.on('started', () => (this.#looks = 0));
    thread.on('ended', (sentence) => this.onProblem(sentence, 'THREAD', 1));
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Wakes tenants whose records are only on disk: the engine reads them when there is a session. */
  async #look() {
    const log = this.#host?.log;
    if (!log || (this.#looks > 0 && this.#looks++ < LOOKS)) return;
    const holdings = await log.holdings();
    if (!holdings || !this.#thread) return;
    this.#looks = 1;
    const names = holdings.map(({ node }) => TenantsLink.tenantOf(node)).filter(Boolean);
    if (names.length > 0) this.#thread.want(names);
  }

  /**
   * Stops the thread. Batches that are not acknowledged return to the engine. Idempotent.
   * @param {number} timeoutMs longest wait for the acknowledgements
   * @returns {Promise<unknown>}
   */
  stop(timeoutMs) {
    const thread = this.#thread;
    this.#thread = null;
    this.#wanted = null;
    clearInterval(this.#timer);
    if (!thread) return this.#stopping;
    this.rows.clear();
    this.#stopReports();
    this.#stopping = Promise.resolve(thread.stop(timeoutMs)).catch((error) =>
      this.onProblem(`The thread of the tenants did not stop cleanly: ${error.message}`)
    );
    return this.#stopping;
  }

  /**
   * Call it when the node is closed. If the engine closes in the same deploy, the thread runs until the engine has
   * drained.
   * @param {number} timeoutMs
   */
  async close(timeoutMs) {
    // Node-RED calls the close handlers of all nodes in one turn.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#host?.closing) await this.#host.closing;
    this.#isClosed = true;
    await this.stop(timeoutMs);
  }

  /** For the stats node, the admin API and the metrics. */
  view() {
    const { id, name, counts, keeperProblem, totals } = this;
    return { node: id, name, counts, keeperProblem, totals, tenants: [...this.rows.values()] };
  }
}

exports.TenantsLink = TenantsLink;
