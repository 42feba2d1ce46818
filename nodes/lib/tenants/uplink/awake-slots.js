'use strict';

const { LEAST_URGENT } = require('./tenant');

/**
 * While others wait for a slot, a tenant keeps its own for this long, and for a moment if theirs is more urgent. One
 * that has waited for this long goes first.
 */
const TURN_MS = 10000;
const MOMENT_MS = 1000;

/** @typedef {import('./tenant').Tenant} Tenant */

/** The slots of tenants that are awake: who gets the next one, and who gives up its own so that others get one. */
class AwakeSlots {
  /** @param {number} most slots */
  constructor(most) {
    this.most = most;
    /** Those with a slot, in the order in which they got it. @type {Set<Tenant>} */
    this.active = new Set();
    /** In the order in which they began to wait. @type {Set<Tenant>} */
    this.waiting = new Set();
  }

  get isFull() {
    return this.active.size >= this.most;
  }

  /** Number of leases that are asked for. */
  get waking() {
    let count = 0;
    for (const { state } of this.active) if (state === 'waking') count++;
    return count;
  }

  /**
   * Returns who gets the next slot.
   * @param {number} now ms, monotonic
   * @returns {Tenant | null} that waits: the one that has waited for longer than a turn, else the most urgent, and
   *   among equals the one that waits for longest
   */
  next(now) {
    const turnAgo = now - TURN_MS;
    let best = null;
    for (const tenant of this.waiting) {
      if (tenant.waitsSince <= turnAgo) return tenant;
      if (!best || tenant.class < best.class) best = tenant;
    }
    return best;
  }

  /**
   * Returns who gives up its slot.
   * @param {number} now ms, monotonic
   * @returns {Tenant | null} whose turn ends because others wait for a slot: one that has nothing to do, or had its
   *   turn
   */
  leaver(now) {
    const next = this.next(now);
    if (!next || !this.isFull) return null;
    for (const { state } of this.active) if (state === 'leaving') return null;
    let choice = null;
    for (const tenant of this.active) {
      if (tenant.state !== 'awake') continue;
      const isIdle = tenant.idleSince >= 0;
      const isLess = (tenant.session?.class ?? LEAST_URGENT) > next.class;
      if (!isIdle && now - tenant.awakeSince < (isLess ? MOMENT_MS : TURN_MS)) continue;
      // The first one has its slot for longest.
      if (!choice || (isIdle && choice.idleSince < 0)) choice = tenant;
    }
    return choice;
  }
}

exports.AwakeSlots = AwakeSlots;
