'use strict';
// One lease a tenant, shared by all open connections to its pages, or to its service. It is renewed while one of them
// is open, and given back some seconds after the last one, so that a page with many requests wakes its tenant once.

const http = require('node:http');
const { RENEW_MS } = require('./keeper-client');

/** Longest wait for a tenant to start. The connections that asked for it give up earlier. */
const WAKE_MS = 60000;
const IDLE_MS = 5000;
/** Connections to a tenant; the next requests wait. */
const MAX_SOCKETS = 64;
/** Starts of more urgent tenants go first. */
const NORMAL = 3;

/**
 * @typedef {Pick<import('./keeper-client').KeeperClient, 'lease' | 'renew' | 'release'>} Keeper
 * @typedef {{ host: string, password: string, agent: http.Agent, release: () => void }} Hold of one connection; release() is idempotent
 *
 * @typedef {object} Shared what the connections of a tenant share
 * @property {number} users
 * @property {Promise<import('./keeper-client').Lease>} lease
 * @property {http.Agent} agent
 * @property {AbortController} abort ends the wait for the lease
 * @property {NodeJS.Timeout} [renewal]
 * @property {NodeJS.Timeout} [idle] gives the lease back
 * @property {NodeJS.Timeout} [retry] asks for a lease again
 */

class HeldLeases {
  #keeper;
  #warn;
  #times;
  #holder;
  /** @type {Map<string, Shared>} by name of the tenant */
  #shared = new Map();

  /**
   * @param {Keeper} keeper
   * @param {(sentence: string) => void} warn
   * @param {{ renewMs?: number, idleMs?: number, wakeMs?: number, holder?: string }} [options] holder: who the keeper
   *   names as the holder of the leases
   */
  constructor(
    keeper,
    warn,
    { renewMs = RENEW_MS, idleMs = IDLE_MS, wakeMs = WAKE_MS, holder = 'pages' } = {}
  ) {
    this.#holder = holder;
    this.#keeper = keeper;
    this.#warn = warn;
    this.#times = { renewMs, idleMs, wakeMs };
  }

  /** Tenants with a lease, or that wait for one. */
  get size() {
    return this.#shared.size;
  }

  /** Open connections of a tenant, those that wait included. @param {string} name */
  usersOf(name) {
    return this.#shared.get(name)?.users ?? 0;
  }

  /**
   * Resolves when the tenant accepts connections.
   * @param {string} name
   * @param {AbortSignal} signal the connection has ended, or gives up
   * @returns {Promise<Hold>} rejects with a KeeperError, or the reason of the signal
   */
  async hold(name, signal) {
    signal.throwIfAborted();
    const shared = this.#shared.get(name) ?? this.#begin(name);
    shared.users++;
    clearTimeout(shared.idle);
    if (shared.retry) this.#again(name, shared);
    let isOpen = true;
    const release = () => {
      if (!isOpen) return;
      isOpen = false;
      signal.removeEventListener('abort', release);
      if (--shared.users === 0) this.#rest(name, shared);
    };
    signal.addEventListener('abort', release);
    try {
      const { host, password } = await Promise.race([shared.lease, aborted(signal)]);
      return { host, password, agent: shared.agent, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Gives all leases back. @returns {Promise<void>} */
  async close() {
    await Promise.all([...this.#shared].map(([name, shared]) => this.#end(name, shared)));
  }

  /** @param {string} name @returns {Shared} */
  #begin(name) {
    const abort = new AbortController();
    const agent = new http.Agent({ keepAlive: false, maxSockets: MAX_SOCKETS });
    /** @type {Shared} */
    const shared = { users: 0, lease: this.#ask(name, abort.signal), agent, abort };
    this.#shared.set(name, shared);
    this.#keep(name, shared, () => this.#forget(name, shared));
    return shared;
  }

  /** @param {string} name @param {AbortSignal} signal */
  #ask(name, signal) {
    const request = /** @type {const} */ ({ reason: 'connection', class: NORMAL, holder: this.#holder });
    return this.#keeper.lease(name, request, { timeoutMs: this.#times.wakeMs, signal });
  }

  /** @param {string} name @param {Shared} shared @param {(error: Error) => void} onFailure */
  #keep(name, shared, onFailure) {
    shared.lease.then(({ id }) => this.#keepRenewing(name, shared, id), onFailure);
  }

  /**
   * The keeper ended the lease, for example by a restart, but connections are open.
   * @param {string} name
   * @param {Shared} shared
   */
  #again(name, shared) {
    clearInterval(shared.renewal);
    clearTimeout(shared.retry);
    shared.retry = undefined;
    if (this.#shared.get(name) !== shared) return;
    shared.lease = this.#ask(name, shared.abort.signal);
    this.#keep(name, shared, (error) => this.#againLater(name, shared, error));
  }

  /**
   * The open connections have no lease, so the tenant could be stopped while they are in use.
   * @param {string} name
   * @param {Shared} shared
   * @param {Error} error
   */
  #againLater(name, shared, error) {
    if (this.#shared.get(name) !== shared) return;
    if (shared.users === 0) return this.#forget(name, shared);
    this.#warn(error.message);
    shared.retry = setTimeout(() => this.#again(name, shared), this.#times.renewMs).unref();
  }

  /** @param {string} name @param {Shared} shared @param {string} id */
  #keepRenewing(name, shared, id) {
    if (this.#shared.get(name) !== shared) return;
    shared.renewal = setInterval(() => {
      this.#keeper.renew(id).catch((error) => {
        if (error.code === 'gone') this.#again(name, shared);
        else this.#warn(error.message);
      });
    }, this.#times.renewMs).unref();
  }

  /** The last connection has ended. @param {string} name @param {Shared} shared */
  #rest(name, shared) {
    if (this.#shared.get(name) !== shared) return shared.agent.destroy();
    shared.idle = setTimeout(() => void this.#end(name, shared), this.#times.idleMs).unref();
  }

  /** @param {string} name @param {Shared} shared */
  #forget(name, shared) {
    clearInterval(shared.renewal);
    clearTimeout(shared.idle);
    clearTimeout(shared.retry);
    if (this.#shared.get(name) === shared) this.#shared.delete(name);
    if (shared.users === 0) shared.agent.destroy();
  }

  /** @param {string} name @param {Shared} shared */
  async #end(name, shared) {
    this.#forget(name, shared);
    shared.agent.destroy();
    shared.abort.abort();
    try {
      const { id } = await shared.lease;
      await this.#keeper.release(id);
    } catch {
      // There is no lease, or the keeper ends it.
    }
  }
}

/** @param {AbortSignal} signal @returns {Promise<never>} */
function aborted(signal) {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

exports.HeldLeases = HeldLeases;
