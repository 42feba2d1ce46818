'use strict';
// Chooses the carrier that delivers a command to its device: JavaScript that registered for it (such as BLE), then the
// engine, then flows.

const { isGlob, matchesGlob } = require('../base/glob');
const { restOf } = require('./command');

/**
 * A command as carriers and flows receive it.
 * @typedef {object} CommandView
 * @property {string} id
 * @property {string} device
 * @property {string} topic the whole topic, as sent to devices
 * @property {string} rest the topic after the device
 * @property {Buffer} payload
 * @property {0 | 1} qos
 * @property {number} expiresAt ms since 1970
 *
 * The result of a delivery. 'offline': the device is not reachable, so the command is stored and tried again after
 * ready(). 'busy': tried again after a second. 'timeout': tried again at most twice. An Error means 'refused' with its
 * message.
 * @typedef {'taken' | 'refused' | 'offline' | 'busy' | 'timeout'} Carried
 * @typedef {(command: CommandView) => Promise<Carried> | Carried} Carrier
 *
 * Call it to remove the carrier.
 * @typedef {(() => void) & { ready(device?: string): void }} Carrying
 *
 * @typedef {object} Listener a flow
 * @property {string} pattern of devices
 * @property {boolean} all true: receives commands before their devices; false: only those for unreachable devices
 * @property {(command: CommandView, origin: import('./command').Origin) => void} take
 */

const ENDS = ['taken', 'refused', 'offline', 'busy', 'timeout'];

class Carriers {
  #native;
  #wake;
  /** @type {Map<string, Carrier>} by device id */
  #byDevice;
  /** @type {{ pattern: string, fn: Carrier }[]} */
  #byGlob;
  /** @type {Set<Listener>} */
  #listeners;
  #isHeld;

  /**
   * @param {Pick<import('./native-carrier').NativeCarrier, 'send'>} native
   * @param {(pattern: string) => void} wake called when a carrier or flow for these devices was added
   */
  constructor(native, wake) {
    this.#native = native;
    this.#wake = wake;
    this.#byDevice = new Map();
    this.#byGlob = [];
    this.#listeners = new Set();
    this.#isHeld = false;
  }

  /** Makes commands of the cloud wait until resume(), because a flow that handles them may not exist yet. */
  hold() {
    this.#isHeld = true;
  }

  resume() {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#wake('*');
  }

  /**
   * @param {string} pattern device id or glob; an id precedes a glob, and the latest among equals applies
   * @param {Carrier} fn
   * @returns {Carrying}
   */
  carry(pattern, fn) {
    const row = { pattern, fn };
    if (isGlob(pattern)) this.#byGlob.unshift(row);
    else this.#byDevice.set(pattern, fn);
    const stop = () => {
      if (this.#byDevice.get(pattern) === fn) this.#byDevice.delete(pattern);
      this.#byGlob = this.#byGlob.filter((each) => each !== row);
    };
    const ready = (/** @type {string} */ device = pattern) => this.#wake(device);
    ready();
    return Object.assign(stop, { ready });
  }

  /**
   * @param {Listener} listener
   * @returns {() => void} removes the listener
   */
  listen(listener) {
    this.#listeners.add(listener);
    this.#wake(listener.pattern);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * @param {import('./command').Command} command
   * @param {(outcome: import('./command-queues').Outcome) => void} done called once, possibly before attempt() returns
   * @param {boolean} [mayGive] false: no flow gets it
   */
  attempt(command, done, mayGive = true) {
    const { device, origin } = command;
    if (this.#isHeld && origin) return done({ end: 'busy', reason: 'The flows are starting.' });
    if (mayGive && this.#give(command, true)) return done({ end: 'taken' });
    const byEngine = () =>
      this.#native.send(command, (outcome) => {
        const isReached = outcome.end !== 'offline' && outcome.end !== 'unheard';
        done(!isReached && mayGive && this.#give(command, false) ? { end: 'taken' } : outcome);
      });
    const carrier =
      this.#byDevice.get(device) ?? this.#byGlob.find(({ pattern }) => matchesGlob(pattern, device))?.fn;
    if (!carrier) return byEngine();
    call(carrier, command).then((outcome) => (outcome.end === 'offline' ? byEngine() : done(outcome)));
  }

  /**
   * Passes a cloud command to the flows that listen. Commands of a flow are not passed to flows, which would be a loop.
   * @param {import('./command').Command} command
   * @param {boolean} all
   * @returns {boolean} true if a flow received it
   */
  #give(command, all) {
    const { origin } = command;
    if (!origin) return false;
    for (const listener of this.#listeners) {
      if (listener.all !== all || !matchesGlob(listener.pattern, command.device)) continue;
      listener.take(view(command), origin);
      return true;
    }
    return false;
  }
}

/**
 * @param {Carrier} carrier
 * @param {import('./command').Command} command
 * @returns {Promise<import('./command-queues').Outcome>} never rejects
 */
async function call(carrier, command) {
  try {
    const end = await carrier(view(command));
    if (ENDS.includes(end)) return { end };
    return { end: 'refused', reason: `The carrier of the command returned "${end}".` };
  } catch (error) {
    return { end: 'refused', reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * @param {import('./command').Command} command
 * @returns {CommandView}
 */
function view(command) {
  const { id, device, topic, payload, qos, expiresAt } = command;
  return { id, device, topic, rest: restOf(command), payload, qos, expiresAt };
}

exports.Carriers = Carriers;
