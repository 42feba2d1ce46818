'use strict';

const TICK_MS = 1000;
/** Ticks between looks for changes by other processes, and between deletions of what is expired. */
const CHANGES_TICKS = 2;
const LINKS_TICKS = 10;
const CODES_TICKS = 60;

/** Ends sessions, deletes what is expired, and notices changes by seganet-accounts, at regular intervals. */
class Upkeep {
  #cloud;
  /** @type {NodeJS.Timeout | null} */
  #timer = null;
  #ticks = 0;
  /** @type {Promise<void> | null} */
  #work = null;

  /** @param {import('./cloud').OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  start() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  stop() {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick() {
    this.endOverdue();
    this.#cloud.observedRecords.expire();
    this.#cloud.userTokens.endExpired();
    this.#ticks++;
    // A slow store must not pile up work.
    if (this.#work) return;
    this.#work = this.#maintain()
      .catch((error) => this.#cloud.problem(error))
      .finally(() => {
        this.#work = null;
      });
  }

  /** Closes connections whose session or watch is over. */
  endOverdue() {
    const { sessions } = this.#cloud;
    for (const { peer, reason } of sessions.overdue()) {
      this.#cloud.leave(peer, reason);
      peer.silentUntil = Infinity;
      this.#cloud.closePeer(peer, reason);
    }
  }

  async #maintain() {
    const { store } = this.#cloud;
    const now = this.#cloud.now();
    if (this.#ticks % CHANGES_TICKS === 0 && (await store.wasChanged())) await this.reconcile();
    if (this.#ticks % LINKS_TICKS === 0) while (await store.write('removeOldLinks', { now }));
    if (this.#ticks % LINKS_TICKS === 0 && (await store.write('removeOldEndpoints', { now }))) {
      this.#cloud.lookups.changed();
    }
    if (this.#ticks % CODES_TICKS === 0) {
      await store.write('removeOldCodes', { now });
      await store.write('removeOldUserTokens', { now });
    }
  }

  /** Applies what another process changed in the store: deleted devices, other shares, revoked tokens. */
  async reconcile() {
    const { forwarding, grants, lookups, ownObservations, route, sessions, userTokens } = this.#cloud;
    const before = new Map();
    for (const { di } of sessions.signedIn()) before.set(di, await grants.viewers(di));
    grants.forget();
    await this.#cloud.recount();
    for (const { di, uid } of [...sessions.signedIn()]) {
      if ((await grants.of(di))?.uid !== uid) this.#cloud.dropDevice(di, before.get(di) ?? []);
      else await forwarding.share(di);
    }
    for (const di of ownObservations.devices()) if (!(await grants.of(di))) ownObservations.deleted(di);
    await route.recheck();
    await userTokens.recheck();
    lookups.changed();
  }
}

exports.Upkeep = Upkeep;
