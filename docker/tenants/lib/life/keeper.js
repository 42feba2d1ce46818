'use strict';
// Manages all tenants: their list, the order of their starts, and engines that do not answer.

const { EventEmitter } = require('node:events');
const path = require('node:path');
const { TenantError, isEngineAway, messageOf } = require('../base/errors');
const { DataWatch } = require('./data-watch');
const { isHeld } = require('./hold');
const { LastBackups, noteBackup, readLast } = require('./last-backup');
const { untilAccepts } = require('./readiness');
const { secretsOf, FRONT, KEEPER } = require('./secrets');
const { Starts } = require('./tenant/starts');
const { Tenant } = require('./tenant/tenant');
const { whyOf } = require('./why');
const { unusableDriver } = require('./unusable-driver');

/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */
/** @typedef {import('../drivers/driver').Driver} Driver */
/**
 * @typedef {object} Limits
 * @property {number} starts at once, and one more of class 1
 * @property {number} readyMs longest time of a start
 * @property {number} leaseMs life of a lease after its last renewal
 * @property {number} graceMs time for an orderly end
 * @property {number} warmBytes memory that all paused tenants may take, 0 = any
 * @property {number} [spares] gateways in reserve, default 0
 */
/**
 * @typedef {object} Row of the list
 * @property {string} name
 * @property {string} driver
 * @property {import('./tenant/status').State} state
 * @property {number} since ms since 1970
 * @property {string} reason
 * @property {string} host '' = not known yet
 * @property {number} port
 * @property {number} http 0 = none
 * @property {number} tcp 0 = none
 * @property {number} memoryBytes 0 = it does not run, or unknown
 * @property {{ at: number, by: string, how: string, readyMs: number } | null} lastWake
 * @property {number} leases
 * @property {number} failures in a row
 * @property {number} dataBytes at the last look, 0 = unknown
 * @property {{ memoryMiB: number, volumeMiB: number }} limits
 * @property {boolean} isolated false: its driver does not isolate, or a limit does not hold
 * @property {string} template that it was made from, '' = none
 * @property {boolean} byApi it was made through the socket
 * @property {import('./last-backup').Last | null} backup the last one
 */

/** Time between two checks whether an engine is back. */
const PROBE_MS = 2000;

class Keeper extends EventEmitter {
  #makeDriver;
  #clock;
  #limits;
  #state;
  #starts;
  #accepts;
  /** @type {Map<string, Tenant>} */
  #tenants = new Map();
  /** @type {Map<string, () => void>} by name of the driver; cancels the next look */
  #away = new Map();
  #backups;
  #isClosed = false;
  /** The first list of tenants was taken over. */
  #isApplied = false;
  #dataWatch;
  #warming = Promise.resolve();
  /** @type {Promise<unknown>} */
  #tail = Promise.resolve();

  /**
   * Emits `event` for each change of a tenant.
   * @param {object} parts
   * @param {(name: string) => Driver} parts.drivers throws if there is none
   * @param {import('../base/clock').Clock} parts.clock
   * @param {Limits} parts.limits
   * @param {string} parts.state folder of the tenants' states
   * @param {typeof untilAccepts} [parts.accepts]
   * @param {() => Promise<number>} [parts.free] bytes that are free where the tenants' data are
   */
  constructor({ drivers, clock, limits, state, accepts = untilAccepts, free }) {
    super();
    this.setMaxListeners(0);
    this.#makeDriver = drivers;
    this.#clock = clock;
    this.#limits = limits;
    this.#state = state;
    this.#backups = new LastBackups(state);
    this.#accepts = accepts;
    this.#starts = new Starts(limits.starts);
    this.#dataWatch = new DataWatch({ clock, free, look: () => this.#lookAtData() });
  }

  get names() {
    return [...this.#tenants.keys()];
  }

  /**
   * Applies the list of tenants: it inspects new ones, stops missing ones, and updates the settings of changed ones.
   * @param {Spec[]} specs
   * @returns {Promise<{ added: string[], removed: string[], changed: string[] }>} when all is done
   */
  apply(specs) {
    const run = this.#tail.then(() => this.#apply(specs));
    this.#tail = run.catch(() => {});
    return run;
  }

  /** @param {Spec[]} specs */
  async #apply(specs) {
    const wanted = new Map(specs.map((spec) => [spec.name, spec]));
    const before = [...this.#tenants.values()].map(({ status }) => status.spec);
    /** @type {Record<'added' | 'removed' | 'changed', string[]>} */
    const result = { added: [], removed: [], changed: [] };
    /** @type {Promise<void>[]} */
    const closing = [];
    /** Tenants that get their driver only now. */
    const healed = new Set();
    for (const [name, tenant] of this.#tenants) {
      const spec = wanted.get(name);
      const isSame = spec?.driver === tenant.status.spec.driver;
      if (isSame && (!tenant.problem || this.#driver(spec.driver).problem)) continue;
      this.#tenants.delete(name);
      if (isSame) healed.add(name);
      else result.removed.push(name);
      closing.push(tenant.close({ isStopped: true }));
    }
    // A tenant that changes its driver keeps its data, so the old process must end first.
    const outcomes = await Promise.allSettled(closing);
    /** @type {Promise<void>[]} */
    const looks = [];
    for (const [name, spec] of wanted) {
      const tenant = this.#tenants.get(name);
      if (!tenant) {
        (healed.has(name) ? result.changed : result.added).push(name);
        looks.push(this.#look(this.#make(spec)));
      } else if (JSON.stringify(tenant.status.spec) !== JSON.stringify(spec)) {
        result.changed.push(name);
        tenant.update(spec);
      }
    }
    outcomes.push(...(await Promise.allSettled(looks)));
    // This event lets a front that was refused try again.
    for (const name of this.#isApplied ? [...result.added, ...result.changed] : [])
      this.#tell({ at: this.#clock.wall(), tenant: name, event: 'changed' });
    this.#isApplied = true;
    for (const driver of new Set([...specs, ...before].map((spec) => spec.driver)))
      this.#driver(driver).keepSpares?.(
        specs.filter((spec) => spec.driver === driver),
        this.#limits.spares ?? 0,
        () => this.#starts.isBusy
      );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed && !isEngineAway(failed.reason)) throw failed.reason;
    return result;
  }

  /** @param {string} name @returns {Tenant} */
  tenant(name) {
    const tenant = this.#tenants.get(name);
    if (!tenant) throw new TenantError('unknown', `There is no tenant '${name.slice(0, 64)}'.`);
    return tenant;
  }

  /**
   * @param {string} name
   * @param {{ by: string, priority: number, holder: string }} request
   * @param {AbortSignal} signal
   */
  async lease(name, request, signal) {
    const tenant = this.tenant(name);
    const { password } = secretsOf(path.join(this.#state, name));
    return { ...(await tenant.lease(request, signal)), user: FRONT, password };
  }

  /** @param {string} lease @returns {boolean} */
  renew(lease) {
    return this.#tenants.get(lease.split('.', 1)[0])?.renew(lease) ?? false;
  }

  /** @param {string} lease @returns {boolean} */
  release(lease) {
    return this.#tenants.get(lease.split('.', 1)[0])?.release(lease) ?? false;
  }

  /** @param {string} name @param {number} lines @returns {Promise<string>} */
  logs(name, lines) {
    const { spec } = this.tenant(name).status;
    return this.#driver(spec.driver).logs(spec, lines);
  }

  /** @returns {Promise<Row[]>} */
  list() {
    return Promise.all([...this.#tenants.values()].map((tenant) => this.#row(tenant)));
  }

  /** @returns {import('../drivers/spares').SparesRow} of all drivers that keep some */
  get spares() {
    const none = { waiting: 0, most: 0, memoryBytes: 0, reason: '' };
    const drivers = new Set([...this.#tenants.values()].map(({ status }) => status.spec.driver));
    return [...drivers].map((name) => this.#driver(name).spares).find((row) => row) ?? none;
  }

  /**
   * Tells why a tenant takes no records.
   * @param {string} name
   * @returns {{ name: string, state: string, code: string, text: string }}
   */
  why(name) {
    const { status, leases, failures, retryMs, isWaking } = this.tenant(name);
    const { spec, state, reason, since } = status;
    const known = {
      ...{ name, state, reason, leases, failures, retryMs, isWaking },
      sinceMs: this.#clock.wall() - since,
      isHeld: isHeld(this.#state, name),
      awayDriver: this.#away.has(spec.driver) ? spec.driver : ''
    };
    return { name, state, ...whyOf(known) };
  }

  /** Records that a backup ended. @param {string} name @param {{ ok: boolean, reason: string }} result */
  backedUp(name, { ok, reason }) {
    const at = this.#clock.wall();
    // A killed process could not record it.
    const last = readLast(this.#state, name);
    if (!ok || !last?.ok) noteBackup(this.#state, name, { at, ok, reason });
    this.#tell({ at, tenant: name, event: 'backup', ok, reason });
  }

  /**
   * Emits an event about what was asked for through the socket.
   * @param {{ tenant: string, event: string, [detail: string]: unknown }} event
   */
  announce(event) {
    this.#tell({ at: this.#clock.wall(), ...event });
  }

  /** @param {{ isStopped: boolean }} options true: all tenants end, too */
  async close({ isStopped }) {
    this.#isClosed = true;
    this.#dataWatch.close();
    for (const cancel of this.#away.values()) cancel();
    await Promise.allSettled([...this.#tenants.values()].map((tenant) => tenant.close({ isStopped })));
  }

  /** Stops the least recently used paused tenants while all of them take too much memory. */
  async #limitWarm() {
    const paused = [...this.#tenants.values()].filter(({ status }) => status.state === 'paused');
    const sizes = await Promise.all(
      paused.map(({ status }) =>
        this.#driver(status.spec.driver)
          .memory(status.spec)
          .catch(() => 0)
      )
    );
    let rest = sizes.reduce((sum, size) => sum + size, 0);
    const rows = paused
      .map((tenant, i) => ({ tenant, bytes: sizes[i], at: tenant.status.lastWake?.at ?? 0 }))
      .sort((a, b) => a.at - b.at);
    for (const { tenant, bytes } of rows) {
      if (rest <= this.#limits.warmBytes) return;
      // A tenant that woke meanwhile is in use, and refuses to stop.
      if (tenant.status.state === 'paused') await tenant.sleep().catch(() => {});
      rest -= bytes;
    }
  }

  /** Compares the data of running tenants with their limits. */
  async #lookAtData() {
    for (const tenant of this.#tenants.values()) await tenant.checkData().catch(() => {});
  }

  /** @param {string} name @returns {Driver} one that refuses everything if it cannot be made */
  #driver(name) {
    try {
      return this.#makeDriver(name);
    } catch (error) {
      return unusableDriver(name, messageOf(error));
    }
  }

  /** @param {Spec} spec @returns {Tenant} */
  #make(spec) {
    const { leaseMs, readyMs, graceMs } = this.#limits;
    const tenant = new Tenant(spec, {
      driver: this.#driver(spec.driver),
      clock: this.#clock,
      starts: this.#starts,
      accepts: (...args) => this.#whenAccepts(...args),
      tell: (event) => this.#tell(event),
      onEngineAway: () => this.#engineAway(spec.driver),
      isHeld: (name) => isHeld(this.#state, name),
      leaseMs,
      readyMs,
      graceMs
    });
    this.#tenants.set(spec.name, tenant);
    return tenant;
  }

  /** @param {Spec} spec @param {string} host @param {string} how @param {AbortSignal} signal */
  #whenAccepts(spec, host, how, signal) {
    // A paused tenant was ready before, and its users wait only some milliseconds. So the keeper does not log in again.
    if (!spec.port || how === 'unpause')
      return this.#accepts({ host, port: spec.port || spec.http || spec.tcp, login: null }, signal);
    const { password } = secretsOf(path.join(this.#state, spec.name));
    return this.#accepts({ host, port: spec.port, login: { user: KEEPER, password } }, signal);
  }

  /** @param {Tenant} tenant */
  async #look(tenant) {
    if (tenant.problem) return tenant.giveUp(tenant.problem);
    try {
      await tenant.reconcile();
    } catch (error) {
      // A tenant that cannot be inspected must not block the others.
      tenant.status.reason = messageOf(error);
      if (isEngineAway(error)) this.#engineAway(tenant.status.spec.driver);
    }
  }

  /** Checks repeatedly until the engine is back, and then inspects all of its tenants. @param {string} driver */
  #engineAway(driver) {
    if (this.#away.has(driver) || this.#isClosed) return;
    this.#tell({ at: this.#clock.wall(), tenant: '', event: 'engine', driver, ok: false });
    const probe = async () => {
      try {
        await this.#driver(driver).check();
      } catch {
        if (!this.#isClosed) this.#away.set(driver, this.#clock.timer(PROBE_MS, probe));
        return;
      }
      this.#away.delete(driver);
      if (this.#isClosed) return;
      this.#tell({ at: this.#clock.wall(), tenant: '', event: 'engine', driver, ok: true });
      for (const tenant of this.#tenants.values()) {
        if (tenant.status.spec.driver === driver) this.#look(tenant).catch(() => {});
      }
    };
    this.#away.set(driver, this.#clock.timer(PROBE_MS, probe));
  }

  /** @param {Tenant} tenant @returns {Promise<Row>} */
  async #row(tenant) {
    const { leases, failures } = tenant;
    const { spec, state, since, reason, host, lastWake, dataBytes } = tenant.status;
    const { memoryMiB, volumeMiB } = spec.limits;
    const driver = this.#driver(spec.driver);
    const weakness = driver.weakness?.(spec) ?? '';
    const isUp = state === 'running' || state === 'paused';
    return {
      name: spec.name,
      driver: spec.driver,
      state,
      since,
      reason: reason || weakness || (driver.lacks?.(spec) ?? ''),
      host,
      port: spec.port,
      http: spec.http,
      tcp: spec.tcp,
      memoryBytes: isUp ? await driver.memory(spec).catch(() => 0) : 0,
      lastWake,
      leases,
      failures,
      dataBytes,
      limits: { memoryMiB, volumeMiB },
      isolated: driver.isIsolated && weakness === '',
      template: spec.template,
      byApi: spec.byApi,
      backup: this.#backups.get(spec.name)
    };
  }

  /** @param {object} event */
  #tell(event) {
    this.emit('event', event);
    const { event: what } = /** @type {{ event?: string }} */ (event);
    if (what === 'paused' && this.#limits.warmBytes > 0) {
      this.#warming = this.#warming.then(() => this.#limitWarm());
    }
  }
}

exports.Keeper = Keeper;
