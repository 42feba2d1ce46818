'use strict';

/** @typedef {'absent' | 'created' | 'stopped' | 'starting' | 'running' | 'pausing' | 'paused' | 'stopping' | 'failed'} State */

const MAX_REASON = 400;

/** The status of a tenant, and the events about it. */
class Status {
  #clock;
  #tell;
  /** @type {State} */
  state = 'absent';
  reason = '';
  host = '';
  /** @type {{ at: number, by: string, how: string, readyMs: number } | null} */
  lastWake = null;
  /** Of its volume when it was last measured, 0 = unknown. */
  dataBytes = 0;

  /**
   * @param {import('../../../../../nodes/lib/tenants/file/schema').Spec} spec its entry in the tenants file
   * @param {Pick<import('./tenant-tools').Tools, 'clock' | 'tell'>} tools
   */
  constructor(spec, { clock, tell }) {
    this.#clock = clock;
    this.#tell = tell;
    this.spec = spec;
    this.since = clock.wall();
  }

  /** True if the tenant has a process or container that can be stopped. */
  get isUp() {
    return this.state === 'running' || this.state === 'paused';
  }

  /** @param {State} state @param {string} [reason] */
  set(state, reason = '') {
    if (state !== this.state) this.since = this.#clock.wall();
    this.state = state;
    this.reason = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
  }

  /** @param {string} event @param {object} more */
  tell(event, more) {
    this.#tell({ at: this.#clock.wall(), tenant: this.spec.name, event, ...more });
  }
}

exports.Status = Status;
exports.MAX_REASON = MAX_REASON;
