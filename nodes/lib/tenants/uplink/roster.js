'use strict';
// Who is awake. A tenant whose records wait gets a slot, is woken by the keeper, and keeps the slot until nothing has
// waited for a while. Without native parts and without a timer of its own: call tick() several times a second.

const { Backoff } = require('../../base/backoff');
const { KeeperOutage } = require('./keeper-outage');
const { Leases } = require('./leases');
const { AwakeSlots } = require('./awake-slots');
const { LEAST_URGENT, Tenant } = require('./tenant');

/** Requests to the keeper at a time, so that an urgent tenant need not wait for all slots. */
const MOST_WAKING = 8;
/** Longest wait for the last acknowledgements of a tenant that goes to sleep. */
const LEAVE_MS = 2000;
const RETRY_MIN_MS = 500;
/** Also for the keeper's own time: an operator may have mended the tenant, and a refused lease costs little. */
const RETRY_MAX_MS = 30000;
/** A tenant that was awake for this long before it failed is tried again soon. */
const STABLE_MS = 10000;

/**
 * @typedef {import('../keeper/keeper-client').KeeperClient} KeeperClient
 * @typedef {import('../keeper/keeper-client').Lease} Lease
 * @typedef {import('../keeper/keeper-error').KeeperError} KeeperError
 * @typedef {import('./tenant-session').TenantSession} TenantSession
 * @typedef {import('../../../../native').UplinkSource} UplinkSource
 *
 * @typedef {object} RosterParts
 * @property {Pick<KeeperClient, 'lease' | 'renew' | 'release'>} keeper
 * @property {(number: number, onBell: () => void) => UplinkSource} attach makes the source of a tenant that sleeps
 * @property {(tenant: Tenant, lease: Lease, onState: (state: string, reason: string) => void) => TenantSession} connect
 *   makes a session and begins to connect
 * @property {() => number} now ms, monotonic
 * @property {string} holder of the leases, for display
 * @property {number} mostAwake slots
 * @property {number} idleMs
 * @property {number} connectMs for the keeper and the connection together
 */

class Roster {
  /** @param {RosterParts} parts */
  constructor(parts) {
    this.parts = parts;
    /** @type {Map<string, Tenant>} */
    this.tenants = new Map();
    this.slots = new AwakeSlots(parts.mostAwake);
    /** @type {Set<Tenant>} */
    this.failed = new Set();
    this.leases = new Leases(parts);
    this.outage = new KeeperOutage();
    this.isStopping = false;
  }

  /** Adds a tenant, if it is new. @param {{ name: string, number: number, stage: number }} given */
  add({ name, number, stage }) {
    if (this.tenants.has(name) || this.isStopping) return;
    const tenant = new Tenant(name, number, stage);
    this.tenants.set(name, tenant);
    this.#sleep(tenant);
  }

  /** Records of this tenant wait on disk. @param {string} name */
  want(name) {
    const tenant = this.tenants.get(name);
    if (tenant?.state === 'asleep') this.#wait(tenant);
  }

  /**
   * Removes a tenant from the thread. Its batches that are not acknowledged in time return to the engine.
   * @param {string} name
   * @param {number} timeoutMs longest wait for the acknowledgements
   * @returns {Promise<void>}
   */
  part(name, timeoutMs) {
    const tenant = this.tenants.get(name);
    if (!tenant) return Promise.resolve();
    this.tenants.delete(name);
    this.slots.waiting.delete(tenant);
    this.failed.delete(tenant);
    return new Promise((resolve) => {
      tenant.onParted = resolve;
      if (tenant.session) this.#leave(tenant, timeoutMs);
      else this.#drop(tenant);
      this.#fill();
    });
  }

  /**
   * Lets all tenants sleep, and gives the leases back.
   * @param {number} timeoutMs longest wait for the acknowledgements
   */
  async stop(timeoutMs) {
    this.isStopping = true;
    await Promise.all([...this.tenants.keys()].map((name) => this.part(name, timeoutMs)));
  }

  /** Call it several times a second. */
  tick() {
    const now = this.parts.now();
    for (const tenant of this.failed) if (now >= tenant.retryAt) this.#wait(tenant);
    for (const tenant of this.slots.active) this.#check(tenant, now);
    this.leases.renewWhenDue(this.slots.active, now);
    const leaver = this.outage.isResting(now) ? null : this.slots.leaver(now);
    if (leaver) this.#leave(leaver, LEAVE_MS);
    this.#fill();
  }

  /**
   * Takes what the keeper reports. A tenant that failed is tried at once when it is ready, whoever woke it, when its
   * entry was changed, and when its engine is back.
   * @param {import('../keeper/keeper-events').KeeperEvent} event
   */
  onKeeperEvent({ event, tenant: name, ok }) {
    if (event === 'engine' && ok) return this.retryAll();
    const tenant = event === 'ready' || event === 'changed' ? this.tenants.get(name) : undefined;
    if (tenant?.state !== 'failed') return;
    tenant.backoff = null;
    this.#retry(tenant);
    this.#fill();
  }

  /** Tries all tenants that failed: what the keeper reported meanwhile is unknown. */
  retryAll() {
    this.outage.retry();
    for (const tenant of this.tenants.values()) if (tenant.state === 'failed') this.#retry(tenant);
    this.#fill();
  }

  /** @returns {string[]} tenants that failed because the keeper refused a lease */
  refused() {
    return [...this.failed].flatMap(({ name, isRefused }) => (isRefused ? [name] : []));
  }

  /** Tries a tenant that failed at once. @param {string} name @returns {boolean} false: it does not wait for a time */
  rescue(name) {
    const tenant = this.tenants.get(name);
    if (!tenant || !this.failed.has(tenant)) return false;
    tenant.rescues++;
    this.#wait(tenant);
    this.#fill();
    return true;
  }

  /** Looks for tenants that sleep although something waits for them. @returns {string[]} those that were found */
  listenAgain() {
    const found = [];
    for (const tenant of this.tenants.values()) {
      if (tenant.state !== 'asleep') continue;
      this.#onBell(tenant);
      if (/** @type {import('./tenant').TenantState} */ (tenant.state) === 'asleep') continue;
      tenant.rescues++;
      found.push(tenant.name);
    }
    return found;
  }

  /** @param {Tenant} tenant that failed */
  #retry(tenant) {
    // Its session may still be ending.
    tenant.retryAt = 0;
    if (this.failed.has(tenant)) this.#wait(tenant);
  }

  /** @param {Tenant} tenant @param {number} now */
  #check(tenant, now) {
    const { session, state } = tenant;
    if (!session) return;
    if (state === 'leaving') {
      if (session.isDone || now >= tenant.leaveBy) void this.#left(tenant);
      return;
    }
    session.checkHealth();
    if (state === 'connecting' && now - tenant.waitsSince > this.parts.connectMs)
      return this.#fail(tenant, `no session within ${Math.round(this.parts.connectMs / 1000)} s`);
    const { activity } = session;
    if (!session.isIdle || activity !== tenant.activity) tenant.idleSince = -1;
    else if (tenant.idleSince < 0) tenant.idleSince = now;
    else if (state === 'awake' && now - tenant.idleSince >= this.parts.idleMs) this.#leave(tenant, LEAVE_MS);
    tenant.activity = activity;
  }

  /** Gives free slots to those that wait. */
  #fill() {
    const now = this.parts.now();
    // One request is enough to see whether the keeper is back.
    let requests = this.slots.waking;
    const most = this.outage.problem ? 1 : MOST_WAKING;
    while (!this.slots.isFull && requests < most && !this.outage.isResting(now)) {
      const tenant = this.slots.next(now);
      if (!tenant || this.isStopping) return;
      requests++;
      void this.#wake(tenant);
    }
  }

  /** @param {Tenant} tenant */
  #onBell(tenant) {
    const { source } = tenant;
    if (!source) return;
    const waiting = source.best() || source.bestBacklog();
    if (!waiting && source.retryMs() < 0) return;
    if (waiting > 0) tenant.class = Math.min(tenant.class, waiting);
    if (tenant.state === 'asleep') this.#wait(tenant);
    this.#fill();
  }

  /** @param {Tenant} tenant */
  #wait(tenant) {
    this.failed.delete(tenant);
    tenant.waitsSince = this.parts.now();
    tenant.set('waiting', this.outage.problem);
    this.slots.waiting.add(tenant);
  }

  /** @param {Tenant} tenant */
  async #wake(tenant) {
    const { connect, now } = this.parts;
    this.slots.waiting.delete(tenant);
    this.slots.active.add(tenant);
    tenant.set('waking');
    tenant.wakes++;
    const request = new AbortController();
    tenant.request = request;
    const began = now();
    // The wait for a slot is not the keeper's.
    tenant.waitsSince = began;
    let lease;
    try {
      lease = await this.leases.ask(tenant, request.signal);
    } catch (error) {
      if (tenant.request === request) this.#notWoken(tenant, /** @type {KeeperError} */ (error));
      return;
    }
    if (tenant.request !== request) {
      // The tenant left the plan meanwhile.
      void this.leases.giveBack(lease.id);
      return;
    }
    tenant.request = null;
    tenant.isRefused = false;
    this.#keeperIsBack();
    tenant.lease = lease.id;
    tenant.source?.close();
    tenant.source = null;
    tenant.set('connecting');
    tenant.lastWake = { at: Date.now(), how: lease.how, readyMs: lease.readyMs, connectedMs: -1 };
    try {
      /** @type {TenantSession} */
      const session = connect(tenant, lease, (state, reason) =>
        this.#onSession(tenant, session, state, reason, began)
      );
      tenant.session = session;
      session.start();
    } catch (error) {
      this.#fail(tenant, /** @type {Error} */ (error).message);
    }
    this.#fill();
  }

  /** @param {Tenant} tenant @param {KeeperError} error */
  #notWoken(tenant, error) {
    tenant.request = null;
    // A lease that takes too long is the tenant's fault: the keeper answers when the tenant is ready.
    if (!error.isKeeper || error.code === 'timeout') {
      tenant.isRefused = true;
      if (!error.isKeeper) this.#keeperIsBack();
      this.#fail(tenant, error.message, error.retryMs);
      return this.#fill();
    }
    this.outage.failed(error.message, this.parts.now());
    this.slots.active.delete(tenant);
    this.#wait(tenant);
    for (const each of this.slots.waiting) each.set('waiting', error.message);
  }

  #keeperIsBack() {
    if (!this.outage.problem) return;
    this.outage.ended();
    for (const tenant of this.slots.waiting) tenant.set('waiting');
  }

  /**
   * @param {Tenant} tenant
   * @param {TenantSession} session
   * @param {string} state
   * @param {string} reason
   * @param {number} began
   */
  #onSession(tenant, session, state, reason, began) {
    if (state === 'connected' && tenant.session === session && tenant.state === 'connecting') {
      tenant.awakeSince = this.parts.now();
      tenant.idleSince = -1;
      const connectedMs = Math.round(tenant.awakeSince - began);
      if (tenant.lastWake) tenant.lastWake.connectedMs = connectedMs;
      tenant.sessions++;
      tenant.wokenMs += connectedMs;
      tenant.set('awake');
    }
    if (state !== 'disconnected' && state !== 'refused') return;
    // The session is in the middle of its own step, and would try again after it.
    setImmediate(() => {
      if (tenant.session !== session) return;
      if (tenant.state === 'leaving') void this.#left(tenant);
      else this.#fail(tenant, reason || 'the session ended');
    });
  }

  /**
   * The tenant cannot take records now. They wait, and return to the engine if they were in flight.
   * @param {Tenant} tenant
   * @param {string} reason
   * @param {number} [retryMs] 0 = with back-off
   */
  #fail(tenant, reason, retryMs = 0) {
    const now = this.parts.now();
    tenant.failures++;
    tenant.backoff ??= new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    if (tenant.state === 'awake' && now - tenant.awakeSince > STABLE_MS) tenant.backoff.reset();
    tenant.retryAt = now + Math.min(retryMs || tenant.backoff.next(), RETRY_MAX_MS);
    tenant.set('failed', reason);
    void this.#giveBack(tenant).then(() => {
      if (tenant.onParted) return this.#drop(tenant);
      this.failed.add(tenant);
      this.#listen(tenant);
    });
  }

  /** @param {Tenant} tenant @param {number} timeoutMs */
  #leave(tenant, timeoutMs) {
    tenant.leaveBy = this.parts.now() + timeoutMs;
    tenant.set('leaving');
    tenant.session?.stopTaking();
    if (tenant.session?.isDone) void this.#left(tenant);
  }

  /** @param {Tenant} tenant that has no batch in flight, or no time left */
  async #left(tenant) {
    if (!tenant.session) return;
    const { isIdle } = tenant.session;
    await this.#giveBack(tenant);
    tenant.backoff = null;
    if (tenant.onParted) this.#drop(tenant);
    else this.#sleep(tenant);
    // The rest of its backlog may be on disk only, where no bell rings for it.
    if (!isIdle && tenant.state === 'asleep') this.#wait(tenant);
    this.#fill();
  }

  /** Ends the session and the lease, and frees the slot. @param {Tenant} tenant */
  async #giveBack(tenant) {
    const { session, lease } = tenant;
    tenant.session = null;
    tenant.lease = '';
    await session?.stop();
    this.slots.active.delete(tenant);
    if (lease) await this.leases.giveBack(lease);
  }

  /** @param {Tenant} tenant */
  #sleep(tenant) {
    tenant.class = LEAST_URGENT;
    tenant.set('asleep');
    this.#listen(tenant);
  }

  /** @param {Tenant} tenant */
  #listen(tenant) {
    if (tenant.source || tenant.onParted) return;
    const source = this.parts.attach(tenant.number, () => {
      if (tenant.source === source) this.#onBell(tenant);
    });
    tenant.source = source;
    this.#onBell(tenant);
  }

  /** @param {Tenant} tenant that has left the plan */
  #drop(tenant) {
    tenant.request?.abort();
    tenant.request = null;
    this.slots.active.delete(tenant);
    tenant.source?.close();
    tenant.source = null;
    tenant.onParted?.();
  }

  /** @returns {Record<import('./tenant').TenantState, number>} tenants by state */
  counts() {
    const counts = { asleep: 0, waiting: 0, waking: 0, connecting: 0, awake: 0, leaving: 0, failed: 0 };
    for (const { state } of this.tenants.values()) counts[state]++;
    return counts;
  }

  /** @returns {import('./tenant').TenantView[]} the rows that changed since the last call */
  changes() {
    const rows = [];
    for (const tenant of this.tenants.values()) {
      if (!tenant.isChanged) continue;
      tenant.isChanged = false;
      rows.push(tenant.view());
    }
    return rows;
  }
}

exports.Roster = Roster;
