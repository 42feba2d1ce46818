'use strict';

const { INVITATIONS, USER_TOKENS } = require('../store/operations');

const TICK_MS = 1000;
/** Ticks between deletions of what is expired. */
const LINKS_TICKS = 10;
const CODES_TICKS = 60;

/** Ends sessions, deletes what is expired, and notices changes by seganet-accounts, at regular intervals. */
class Upkeep {
  #cloud;
  /** @type {NodeJS.Timeout | null} */
  #timer = null;
  #ticks = 0;
  /** Changes of the directory that the number of endpoints includes. */
  #counted = 0;
  /** @type {Promise<void> | null} */
  #work = null;
  /** True if something that is kept in memory may be older than the store. */
  #isBehind = false;

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
      this.#cloud.signIns.leave(peer, reason);
      peer.silentUntil = Infinity;
      this.#cloud.signIns.closePeer(peer, reason);
    }
  }

  async #maintain() {
    const { lookups, store } = this.#cloud;
    const now = this.#cloud.now();
    const changes = await store.takeChanges();
    if (this.#isBehind || changes.length > 0) {
      const seen = this.#isBehind ? 'all' : changes;
      this.#isBehind = false;
      try {
        await this.reconcile(seen);
      } catch (error) {
        // The store reports each change once.
        this.#isBehind = true;
        throw error;
      }
    }
    if (this.#ticks % LINKS_TICKS === 0) while (await store.write('removeOldLinks', { now }));
    if (this.#ticks % LINKS_TICKS === 0 && (await store.write('removeOldEndpoints', { now }))) {
      lookups.changed();
    }
    if (this.#counted !== lookups.changes) {
      this.#counted = lookups.changes;
      await this.#cloud.recount();
    }
    if (this.#ticks % CODES_TICKS === 0) {
      await store.write('removeOldCodes', { now });
      await store.write('removeOldUserTokens', { now });
      if (await store.write('removeOldInvitations', { now })) this.#cloud.invitations.changed();
    }
  }

  /** A change was not applied in full: the next tick compares everything with the store. */
  catchUp() {
    this.#isBehind = true;
  }

  /**
   * Applies what another process changed in the store: deleted devices, revoked tokens, other shares, endpoints.
   * Rights are forgotten even if it throws, so that no request uses an old one.
   * @param {import('../store/operations').Changes} [changes]
   * @throws {Error} of the store; it must be called again with all changes
   */
  async reconcile(changes = 'all') {
    const { forwarding, grants, lookups, ownObservations, route, sessions, topics, userTokens } = this.#cloud;
    const isChanged = (/** @type {string} */ what) => changes === 'all' || changes.includes(what);
    const signedIn = [...sessions.signedIn()].filter(({ di }) => isChanged(di));
    const before = new Map();
    try {
      for (const { di } of signedIn) before.set(di, await grants.viewers(di));
    } finally {
      if (changes === 'all') grants.forget();
      else for (const di of changes) grants.forget(di);
    }
    await this.#cloud.recount();
    for (const { di, uid } of signedIn) {
      const found = await grants.of(di);
      if (found?.uid !== uid) {
        this.#cloud.dropDevice(di, before.get(di) ?? []);
        continue;
      }
      if (found.isRevoked) this.#cloud.signIns.endSoon(di);
      await forwarding.share(di);
    }
    for (const di of ownObservations.devices()) {
      if (isChanged(di) && !(await grants.of(di))) ownObservations.deleted(di);
    }
    if (changes === 'all') {
      await route.recheck();
      await topics.recheck();
    } else for (const di of changes) await route.recheck(di);
    if (isChanged(USER_TOKENS)) await userTokens.recheck();
    if (isChanged(INVITATIONS)) this.#cloud.invitations.changed();
    lookups.changed();
  }
}

exports.Upkeep = Upkeep;
