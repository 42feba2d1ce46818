'use strict';

const { EventEmitter } = require('node:events');
const path = require('node:path');
const { ManagedThread } = require('../../base/managed-thread');

/**
 * @typedef {object} TenantsOptions
 * @property {string} gateway id
 * @property {string} socket of the keeper, absolute
 * @property {number} mostAwake
 * @property {number} idleMs
 * @property {number} connectMs
 * @property {string} [topic] template of the topic at which a tenant gets its envelopes
 * @property {number} [maxPacketBytes] of a tenant
 * @property {string} [nativePath]
 *
 * @typedef {Required<TenantsOptions>} CheckedOptions
 *
 * A tenant of the plan.
 * @typedef {{ name: string, number: number, stage: number }} PlanTenant number: of its lanes
 *
 * @typedef {object} TenantsState
 * @property {Record<import('./tenant').TenantState, number>} counts tenants by state
 * @property {string} keeperProblem why the keeper cannot be asked, '' = it can
 * @property {import('./tenant').TenantView[]} changes rows that changed since the last event
 * @property {Record<string, number>} totals of all sessions since the first thread started
 */

const FILE = path.join(__dirname, 'tenants-worker.js');
const DEFAULT_NATIVE = path.join(__dirname, '../../../../native');
const TOPIC = 'gw/{gateway}/{class}';
const MAX_PACKET_BYTES = 256 * 1024;
/** Time that the thread may take beyond its time-out to give leases back. */
const GRACE_MS = 1500;

/**
 * The thread that serves all tenants of one engine, as seen from Node-RED's thread. Records never pass through this
 * object. Events: 'started': a thread knows the tenants, but not whose records are on disk;
 * 'state' TenantsState, once a second; 'problem' {code, reason, count}; 'ended' with a sentence: the
 * thread ended unexpectedly and starts again; 'command' {name, command, ack}: a tenant sent a command to one of its
 * devices, call answer(name, ack, status) when it is safe, or was not kept; at once if its QoS is 0.
 */
class TenantsThread extends EventEmitter {
  /** @param {TenantsOptions} options @param {number} token Engine.token */
  constructor(options, token) {
    super();
    /** @type {CheckedOptions} */
    this.options = {
      topic: TOPIC,
      maxPacketBytes: MAX_PACKET_BYTES,
      nativePath: DEFAULT_NATIVE,
      ...options
    };
    /** @type {Map<string, PlanTenant>} */
    this.tenants = new Map();
    /** Totals of earlier threads, and of the present one. @type {Record<string, number>} */
    this.past = {};
    /** @type {Record<string, number>} */
    this.present = {};
    /** @type {Map<number, () => void>} */
    this.partings = new Map();
    this.lastParting = 0;
    this.isStopping = false;
    this.thread = new ManagedThread({
      file: FILE,
      name: 'seganet-tenants',
      workerData: () => ({ options: this.options, token }),
      onStart: () => {
        this.thread.post({ type: 'tenants', tenants: [...this.tenants.values()] });
        this.emit('started');
      },
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    this.thread.start();
  }

  /** Adds tenants. Call it when their stages are in the plan. @param {PlanTenant[]} tenants */
  serve(tenants) {
    const fresh = tenants.filter(({ name }) => !this.tenants.has(name));
    if (fresh.length === 0) return;
    for (const tenant of fresh) this.tenants.set(tenant.name, tenant);
    this.thread.post({ type: 'tenants', tenants: fresh });
  }

  /** Records of these tenants wait on disk. @param {string[]} names */
  want(names) {
    this.thread.post({ type: 'want', names });
  }

  /**
   * A command is safe, or was not kept.
   * @param {string} name
   * @param {number[]} ack
   * @param {import('../../commands/command').Status} status the first one of the command
   */
  answer(name, ack, status) {
    this.thread.post({ type: 'answer', name, ack, status });
  }

  /**
   * Removes tenants, before a plan without them. Batches that they do not acknowledge in time return to the engine.
   * @param {string[]} names
   * @param {number} timeoutMs
   * @returns {Promise<void>}
   */
  part(names, timeoutMs) {
    for (const name of names) this.tenants.delete(name);
    if (!this.thread.isRunning || this.isStopping) return Promise.resolve();
    const id = ++this.lastParting;
    return new Promise((resolve) => {
      this.partings.set(id, resolve);
      this.thread.post({ type: 'part', id, names, timeoutMs });
    });
  }

  /**
   * Ends the sessions, gives the leases back, and ends the thread.
   * @param {number} timeoutMs longest wait for the acknowledgements
   * @returns {Promise<unknown>}
   */
  stop(timeoutMs) {
    this.isStopping = true;
    return this.thread.stop({ type: 'stop', timeoutMs }, timeoutMs + GRACE_MS);
  }

  /** @param {any} message */
  #onMessage({ type, ...message }) {
    if (type === 'state') {
      this.present = message.totals;
      this.thread.markHealthy();
      this.emit('state', { ...message, totals: sum(this.past, this.present) });
    } else if (type === 'problem' || type === 'command') this.emit(type, message);
    else if (type === 'parted') this.#parted(message.id);
    else if (type === 'stopped') this.thread.terminate();
  }

  /** @param {number} id */
  #parted(id) {
    this.partings.get(id)?.();
    this.partings.delete(id);
  }

  /** @param {string} cause @param {number} restartMs */
  #onExit(cause, restartMs) {
    this.past = sum(this.past, this.present);
    this.present = {};
    // Its sources are closed, so all its batches are back in the engine.
    for (const id of [...this.partings.keys()]) this.#parted(id);
    if (this.isStopping) return;
    this.emit(
      'ended',
      `The thread of the tenants ended unexpectedly (${cause}). It restarts in ${restartMs} ms.`
    );
  }
}

/** @param {Record<string, number>} one @param {Record<string, number>} other */
function sum(one, other) {
  const all = { ...one };
  for (const [name, count] of Object.entries(other)) all[name] = (all[name] ?? 0) + count;
  return all;
}

exports.TenantsThread = TenantsThread;
