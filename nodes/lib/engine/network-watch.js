'use strict';
// Checks whether the network interface of an uplink's sessions sends urgent packets first: when a session connects, and
// every minute, because an administrator or a reconnecting modem may change it. The result is only reported.

const EVERY_MS = 60000;
/** Kind of a queue that does not exist or cannot be inspected. */
const UNKNOWN = 'none';

/**
 * @typedef {import('./modules').NetworkView} NetworkView
 * @typedef {import('./modules').UplinkState} UplinkState
 */

class NetworkWatch {
  /**
   * @param {object} context
   * @param {(localAddress: string) => Promise<NetworkView | null>} context.check
   * @param {(view: NetworkView | null) => void} context.changed
   * @param {(sentence: string) => void} context.warn
   */
  constructor({ check, changed, warn }) {
    this.check_ = check;
    this.changed_ = changed;
    this.warn_ = warn;
    /** @type {NetworkView | null} null = unknown yet */
    this.view = null;
    /** Local addresses of the connected sessions, the most urgent first. @type {string[]} */
    this.addresses_ = [];
    this.sessions_ = 0;
    this.warned_ = false;
    /** @type {NodeJS.Timeout | null} */
    this.timer_ = null;
    /** Counts the stops. The result of a check that began before a stop is ignored. */
    this.run_ = 0;
  }

  /** @param {UplinkState} state */
  follow({ sessions = [] }) {
    const addresses = sessions.flatMap(({ state, localAddress }) =>
      state === 'connected' && localAddress ? [localAddress] : []
    );
    const isNew = addresses.length > this.addresses_.length || addresses[0] !== this.addresses_[0];
    this.addresses_ = addresses;
    this.sessions_ = sessions.length;
    if (addresses.length === 0 || !isNew) return;
    this.timer_ ??= setInterval(() => this.look_(), EVERY_MS).unref();
    this.look_();
  }

  stop() {
    this.run_++;
    if (this.timer_) clearInterval(this.timer_);
    this.timer_ = null;
    this.addresses_ = [];
    this.view = null;
  }

  async look_() {
    const [address] = this.addresses_;
    if (!address) return;
    const run = this.run_;
    let view;
    try {
      view = await this.check_(address);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      view = { interface: '', ok: false, kind: 'none', reason, bands: [] };
    }
    if (run !== this.run_) return;
    this.view = view;
    this.changed_(view);
    this.tell_();
  }

  tell_() {
    const { view } = this;
    // A single session has no order, and loopback has no queue. For an interface that was not found, nothing is known.
    const matters = view && !view.ok && view.interface && view.interface !== 'lo' && this.sessions_ > 1;
    if (!matters || this.warned_) return;
    this.warned_ = true;
    const wait = `records wait behind others in the queue of the interface ${view.interface}`;
    const why = view.reason.replace(/\.$/, '');
    if (view.kind === UNKNOWN) return this.warn_(`Whether urgent ${wait} is unknown: ${why}.`);
    this.warn_(
      `Urgent ${wait}: ${why}. ` +
        `"seganet-net plan --interface ${view.interface}" shows what would let them go first.`
    );
  }
}

exports.NetworkWatch = NetworkWatch;
