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
  #check;
  #changed;
  #warn;
  /** Local addresses of the connected sessions, the most urgent first. @type {string[]} */
  #addresses;
  #sessions;
  #warned;
  /** @type {NodeJS.Timeout | null} */
  #timer;
  /** Counts the stops. The result of a check that began before a stop is ignored. */
  #run;

  /**
   * @param {object} context
   * @param {(localAddress: string) => Promise<NetworkView | null>} context.check
   * @param {(view: NetworkView | null) => void} context.changed
   * @param {(sentence: string) => void} context.warn
   */
  constructor({ check, changed, warn }) {
    this.#check = check;
    this.#changed = changed;
    this.#warn = warn;
    /** @type {NetworkView | null} null = unknown yet */
    this.view = null;
    this.#addresses = [];
    this.#sessions = 0;
    this.#warned = false;
    this.#timer = null;
    this.#run = 0;
  }

  /** @param {UplinkState} state */
  follow({ sessions = [] }) {
    const addresses = sessions.flatMap(({ state, localAddress }) =>
      state === 'connected' && localAddress ? [localAddress] : []
    );
    const isNew = addresses.length > this.#addresses.length || addresses[0] !== this.#addresses[0];
    this.#addresses = addresses;
    this.#sessions = sessions.length;
    if (addresses.length === 0 || !isNew) return;
    this.#timer ??= setInterval(() => this.#look(), EVERY_MS).unref();
    this.#look();
  }

  stop() {
    this.#run++;
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#addresses = [];
    this.view = null;
  }

  async #look() {
    const [address] = this.#addresses;
    if (!address) return;
    const run = this.#run;
    let view;
    try {
      view = await this.#check(address);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      view = { interface: '', ok: false, kind: 'none', reason, bands: [] };
    }
    if (run !== this.#run) return;
    this.view = view;
    this.#changed(view);
    this.#tell();
  }

  #tell() {
    const { view } = this;
    // A single session has no order, and loopback has no queue. For an interface that was not found, nothing is known.
    const matters = view && !view.ok && view.interface && view.interface !== 'lo' && this.#sessions > 1;
    if (!matters || this.#warned) return;
    this.#warned = true;
    const wait = `records wait behind others in the queue of the interface ${view.interface}`;
    const why = view.reason.replace(/\.$/, '');
    if (view.kind === UNKNOWN) return this.#warn(`Whether urgent ${wait} is unknown: ${why}.`);
    this.#warn(
      `Urgent ${wait}: ${why}. ` +
        `"seganet-net plan --interface ${view.interface}" shows what would let them go first.`
    );
  }
}

exports.NetworkWatch = NetworkWatch;
