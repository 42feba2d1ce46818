'use strict';

const { RENEW_MS } = require('../keeper/keeper-client');

/** An orderly keeper has answered after this time. */
const ANSWER_MS = 500;

/**
 * @typedef {import('../keeper/keeper-client').KeeperClient} KeeperClient
 * @typedef {import('../keeper/keeper-error').KeeperError} KeeperError
 * @typedef {import('./tenant').Tenant} Tenant
 */

/** The leases that keep tenants awake: asks the keeper for them, renews them and gives them back. */
class Leases {
  #keeper;
  #holder;
  #timeoutMs;
  #renewAt = 0;

  /**
   * @param {object} parts
   * @param {Pick<KeeperClient, 'lease' | 'renew' | 'release'>} parts.keeper
   * @param {string} parts.holder of the leases, for display
   * @param {number} parts.connectMs for the keeper
   */
  constructor({ keeper, holder, connectMs }) {
    this.#keeper = keeper;
    this.#holder = holder;
    this.#timeoutMs = connectMs;
  }

  /**
   * Resolves when the tenant is ready.
   * @param {Tenant} tenant
   * @param {AbortSignal} [signal]
   * @throws {KeeperError}
   */
  ask(tenant, signal) {
    return this.#keeper.lease(
      tenant.name,
      { reason: 'records', class: tenant.class, holder: this.#holder },
      { timeoutMs: this.#timeoutMs, signal }
    );
  }

  /** Without an answer, the keeper ends the lease itself. @param {string} id */
  async giveBack(id) {
    const late = new Promise((resolve) => setTimeout(resolve, ANSWER_MS).unref());
    await Promise.race([this.#keeper.release(id).catch(() => {}), late]);
  }

  /** Call it several times a second. @param {Iterable<Tenant>} tenants @param {number} now ms, monotonic */
  renewWhenDue(tenants, now) {
    if (now < this.#renewAt) return;
    this.#renewAt = now + RENEW_MS;
    for (const tenant of tenants) if (tenant.lease) void this.#renew(tenant);
  }

  /** @param {Tenant} tenant */
  async #renew(tenant) {
    const { lease } = tenant;
    if (tenant.isRenewing) return;
    tenant.isRenewing = true;
    try {
      await this.#keeper.renew(lease);
    } catch (error) {
      const { code, isKeeper } = /** @type {KeeperError} */ (error);
      // While the keeper is away, its tenants are served on by their addresses.
      if (isKeeper || tenant.lease !== lease) return;
      if (code === 'gone' || code === 'unknown') await this.#askAgain(tenant, lease);
    } finally {
      tenant.isRenewing = false;
    }
  }

  /**
   * The lease has ended, but the session lasts: asks for another one.
   * @param {Tenant} tenant
   * @param {string} gone
   */
  async #askAgain(tenant, gone) {
    try {
      const { id } = await this.ask(tenant);
      if (tenant.lease === gone) tenant.lease = id;
      else void this.giveBack(id);
    } catch {
      // The next renewal fails too, and tries again. If the tenant stops, its session ends.
    }
  }
}

exports.Leases = Leases;
