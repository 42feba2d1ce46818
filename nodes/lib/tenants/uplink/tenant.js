'use strict';

/**
 * asleep: nothing waits for it · waiting: for a slot, or for the keeper · waking: the keeper starts it · connecting ·
 * awake: its records are sent · leaving: the last acknowledgements are awaited · failed: it is tried again later
 * @typedef {'asleep' | 'waiting' | 'waking' | 'connecting' | 'awake' | 'leaving' | 'failed'} TenantState
 */

/**
 * A row about a tenant, for the status and the page.
 * @typedef {object} TenantView
 * @property {string} name
 * @property {TenantState} state
 * @property {number} since ms since 1970
 * @property {string} reason why it does not take records, '' = it takes them, or none wait
 * @property {number} wakes how often it was woken
 * @property {number} failures how often it could not be woken, or its session ended
 * @property {number} sessions how often it was connected
 * @property {number} rescues how often the watchdog tried it again
 * @property {number} wokenMs of these, the times from the first waiting batch to the session, in total
 * @property {{ at: number, how: string, readyMs: number, connectedMs: number } | null} lastWake connectedMs: from the
 *   first waiting batch to the session
 */

/** The class of a tenant whose records are on disk only. */
const LEAST_URGENT = 8;

/** One tenant in the thread. While it sleeps, this object and its UplinkSource are all that it costs. */
class Tenant {
  /** @param {string} name @param {number} number of its lanes @param {number} stage */
  constructor(name, number, stage) {
    this.name = name;
    this.number = number;
    this.stage = stage;
    /** @type {TenantState} */
    this.state = 'asleep';
    this.since = Date.now();
    this.reason = '';
    /** Rings when a batch waits. null while it has a session. @type {import('../../../../native').UplinkSource | null} */
    this.source = null;
    /** @type {import('./tenant-session').TenantSession | null} */
    this.session = null;
    /** @type {string} id; '' = none */
    this.lease = '';
    this.isRenewing = false;
    /** Cancels the request for a lease. @type {AbortController | null} */
    this.request = null;
    /** Most urgent class that waits for it. */
    this.class = LEAST_URGENT;
    /** When it began to wait, or became awake, was left, or is tried again; ms, monotonic. */
    this.waitsSince = 0;
    this.awakeSince = 0;
    this.leaveBy = 0;
    this.retryAt = 0;
    /** When its session became idle, -1 = it is not. */
    this.idleSince = -1;
    /** Of its session at the last check. */
    this.activity = -1;
    /** The keeper refused the last lease, so only the keeper knows when it may start. */
    this.isRefused = false;
    /** Between failures. @type {import('../../base/backoff').Backoff | null} */
    this.backoff = null;
    /** It leaves the plan. @type {(() => void) | null} */
    this.onParted = null;
    this.wakes = 0;
    this.failures = 0;
    this.rescues = 0;
    this.sessions = 0;
    this.wokenMs = 0;
    /** @type {TenantView['lastWake']} */
    this.lastWake = null;
    /** Its row has not been reported. */
    this.isChanged = true;
  }

  /** @param {TenantState} state @param {string} [reason] */
  set(state, reason = '') {
    if (state !== this.state) this.since = Date.now();
    else if (reason === this.reason) return;
    this.state = state;
    this.reason = reason;
    this.isChanged = true;
  }

  /** True while it uses one of the slots. */
  get isActive() {
    const { state } = this;
    return state === 'waking' || state === 'connecting' || state === 'awake' || state === 'leaving';
  }

  /** @returns {TenantView} */
  view() {
    const { name, state, since, reason, wakes, failures, sessions, rescues, wokenMs, lastWake } = this;
    return { name, state, since, reason, wakes, failures, sessions, rescues, wokenMs, lastWake };
  }
}

exports.Tenant = Tenant;
exports.LEAST_URGENT = LEAST_URGENT;
