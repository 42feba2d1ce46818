'use strict';
// Who is awake. A tenant whose records wait gets a place, is woken by the keeper, and keeps the place until nothing has
// waited for a while. Without native parts and without a timer of its own: call tick() several times a second.

const { Backoff } = require('../../base/backoff');
const { LEAST_URGENT, Tenant } = require('./tenant');

/** Requests to the keeper at a time, so that an urgent tenant need not wait for all places. */
const MOST_WAKING = 8;
/** Longest wait for the last acknowledgements of a tenant that goes to sleep. */
const LEAVE_MS = 2000;
/**
 * While others wait for a place, a tenant keeps its own for this long, and for a moment if theirs is more urgent. One
 * that has waited for this long goes first.
 */
const TURN_MS = 10000;
const MOMENT_MS = 1000;
/** The keeper ends a lease that was not renewed for 30 s. */
const RENEW_MS = 10000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30000;
const KEEPER_MIN_MS = 250;
const KEEPER_MAX_MS = 5000;
/** A tenant that was awake for this long before it failed is tried again soon. */
const STABLE_MS = 10000;

/**
 * @typedef {import('../../tenants/keeper-client').KeeperClient} KeeperClient
 * @typedef {import('../../tenants/keeper-client').Lease} Lease
 * @typedef {import('../../tenants/keeper-error').KeeperError} KeeperError
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
 * @property {number} mostAwake places
 * @property {number} idleMs
 * @property {number} connectMs for the keeper and the connection together
 */

class Roster {
  /** @param {RosterParts} parts */
  constructor(parts) {
    this.parts = parts;
    /** @type {Map<string, Tenant>} */
    this.tenants = new Map();
    /** Those with a place, in the order in which they got it. @type {Set<Tenant>} */
    this.active = new Set();
    /** @type {Set<Tenant>} */
    this.waiting = new Set();
    /** @type {Set<Tenant>} */
    this.failed = new Set();
    /** Why the keeper cannot be asked, '' = it can. */
    this.keeperProblem = '';
    this.keeperRetryAt = 0;
    this.keeperBackoff = new Backoff(KEEPER_MIN_MS, KEEPER_MAX_MS);
    this.renewAt = 0;
    this.isStopping = false;
  }

  /** Number of leases that are asked for. */
  get waking() {
    let count = 0;
    for (const { state } of this.active) if (state === 'waking') count++;
    return count;
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
    this.waiting.delete(tenant);
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
    for (const tenant of this.active) this.#check(tenant, now);
    if (now >= this.renewAt) {
      this.renewAt = now + RENEW_MS;
      for (const tenant of this.active) if (tenant.lease) void this.#renew(tenant);
    }
    this.#makeRoom(now);
    this.#fill();
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

  /**
   * While others wait for a place: ends the turn of one that has nothing to do, or had its turn.
   * @param {number} now
   */
  #makeRoom(now) {
    const next = this.#next();
    if (!next || this.active.size < this.parts.mostAwake || this.#isKeeperAway(now)) return;
    for (const { state } of this.active) if (state === 'leaving') return;
    let choice = null;
    for (const tenant of this.active) {
      if (tenant.state !== 'awake') continue;
      const isIdle = tenant.idleSince >= 0;
      const isLess = (tenant.session?.class ?? LEAST_URGENT) > next.class;
      if (!isIdle && now - tenant.awakeSince < (isLess ? MOMENT_MS : TURN_MS)) continue;
      // The first one has its place for longest.
      if (!choice || (isIdle && choice.idleSince < 0)) choice = tenant;
    }
    if (choice) this.#leave(choice, LEAVE_MS);
  }

  /**
   * @returns {Tenant | null} that waits: the one that has waited for longer than a turn, else the most urgent, and
   *   among equals the one that waits for longest
   */
  #next() {
    const turnAgo = this.parts.now() - TURN_MS;
    let best = null;
    // In the order in which they began to wait.
    for (const tenant of this.waiting) {
      if (tenant.waitsSince <= turnAgo) return tenant;
      if (!best || tenant.class < best.class) best = tenant;
    }
    return best;
  }

  /** @param {number} now */
  #isKeeperAway(now) {
    return this.keeperProblem !== '' && now < this.keeperRetryAt;
  }

  /** Gives free places to those that wait. */
  #fill() {
    const now = this.parts.now();
    // One request is enough to see whether the keeper is back.
    let requests = this.waking;
    const most = this.keeperProblem ? 1 : MOST_WAKING;
    while (this.active.size < this.parts.mostAwake && requests < most && !this.#isKeeperAway(now)) {
      const tenant = this.#next();
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
    tenant.set('waiting', this.keeperProblem);
    this.waiting.add(tenant);
  }

  /** @param {Tenant} tenant */
  async #wake(tenant) {
    const { keeper, holder, connectMs, connect, now } = this.parts;
    this.waiting.delete(tenant);
    this.active.add(tenant);
    tenant.set('waking');
    tenant.wakes++;
    const request = new AbortController();
    tenant.request = request;
    const began = now();
    // The wait for a place is not the keeper's.
    tenant.waitsSince = began;
    let lease;
    try {
      lease = await keeper.lease(
        tenant.name,
        { reason: 'records', class: tenant.class, holder },
        { timeoutMs: connectMs, signal: request.signal }
      );
    } catch (error) {
      if (tenant.request === request) this.#notWoken(tenant, /** @type {KeeperError} */ (error));
      return;
    }
    if (tenant.request !== request) {
      // The tenant left the plan meanwhile.
      void keeper.release(lease.id).catch(() => {});
      return;
    }
    tenant.request = null;
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
      if (!error.isKeeper) this.#keeperIsBack();
      this.#fail(tenant, error.message, error.retryMs);
      return this.#fill();
    }
    if (!this.keeperProblem) this.keeperBackoff.reset();
    this.keeperProblem = error.message;
    this.keeperRetryAt = this.parts.now() + this.keeperBackoff.next();
    this.active.delete(tenant);
    this.#wait(tenant);
    for (const each of this.waiting) each.set('waiting', error.message);
  }

  #keeperIsBack() {
    if (!this.keeperProblem) return;
    this.keeperProblem = '';
    for (const tenant of this.waiting) tenant.set('waiting');
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
    tenant.retryAt = now + (retryMs || tenant.backoff.next());
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
    tenant.isWanted = false;
    tenant.set('leaving');
    tenant.session?.stopTaking();
    if (tenant.session?.isDone) void this.#left(tenant);
  }

  /** @param {Tenant} tenant that has no batch in flight, or no time left */
  async #left(tenant) {
    if (!tenant.session) return;
    await this.#giveBack(tenant);
    tenant.backoff = null;
    if (tenant.onParted) this.#drop(tenant);
    else this.#sleep(tenant);
    this.#fill();
  }

  /** Ends the session and the lease, and frees the place. @param {Tenant} tenant */
  async #giveBack(tenant) {
    const { session, lease } = tenant;
    tenant.session = null;
    tenant.lease = '';
    await session?.stop();
    this.active.delete(tenant);
    // Without an answer, the keeper ends the lease itself.
    if (lease) await Promise.race([this.parts.keeper.release(lease).catch(() => {}), soon()]);
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
    this.active.delete(tenant);
    tenant.source?.close();
    tenant.source = null;
    tenant.onParted?.();
  }

  /** @param {Tenant} tenant */
  async #renew(tenant) {
    const { lease } = tenant;
    if (tenant.isRenewing) return;
    tenant.isRenewing = true;
    try {
      await this.parts.keeper.renew(lease);
    } catch (error) {
      const { code, isKeeper } = /** @type {KeeperError} */ (error);
      // While the keeper is away, its tenants are served on by their addresses.
      if (isKeeper || tenant.lease !== lease) return;
      if (code === 'gone' || code === 'unknown') await this.#leaseAgain(tenant, lease);
    } finally {
      tenant.isRenewing = false;
    }
  }

  /**
   * The lease has ended, but the session lasts: asks for another one.
   * @param {Tenant} tenant
   * @param {string} gone
   */
  async #leaseAgain(tenant, gone) {
    const { keeper, holder, connectMs } = this.parts;
    const request = /** @type {const} */ ({ reason: 'records', class: tenant.class, holder });
    try {
      const { id } = await keeper.lease(tenant.name, request, { timeoutMs: connectMs });
      if (tenant.lease === gone) tenant.lease = id;
      else void keeper.release(id).catch(() => {});
    } catch {
      // The next renewal fails too, and tries again. If the tenant stops, its session ends.
    }
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

/** Resolves when an orderly keeper would have answered. */
function soon() {
  return new Promise((resolve) => setTimeout(resolve, 500).unref());
}

exports.Roster = Roster;
