'use strict';
// Who brings a command to its device: JavaScript that said so (BLE and the like), then the engine, then flows.

const { isGlob, matchesGlob } = require('../base/glob');
const { restOf } = require('./command');

/**
 * What JavaScript gets of a command.
 * @typedef {object} CommandView
 * @property {string} id @property {string} device @property {string} topic whole, as devices have it
 * @property {string} rest the topic behind the device @property {Buffer} payload @property {0 | 1} qos
 * @property {number} expiresAt ms since 1970
 *
 * What became of it: 'offline', the device cannot be reached now: the command is kept, and tried again after ready();
 * 'busy', tried again in a second; 'timeout', tried again at most twice. An Error is 'refused' with its message.
 * @typedef {'taken' | 'refused' | 'offline' | 'busy' | 'timeout'} Carried
 * @typedef {(command: CommandView) => Promise<Carried> | Carried} Carrier
 *
 * Ends it when it is called.
 * @typedef {(() => void) & { ready(device?: string): void }} Carrying
 *
 * @typedef {object} Listener a flow
 * @property {string} pattern of devices
 * @property {boolean} all before the devices themselves, else for those that cannot be reached alone
 * @property {(command: CommandView, origin: import('./command').Origin) => void} take
 */

const ENDS = ['taken', 'refused', 'offline', 'busy', 'timeout'];

class Carriers {
  /**
   * @param {Pick<import('./native-carrier').NativeCarrier, 'send'>} native
   * @param {(pattern: string) => void} wake a carrier or flow for these devices is there
   */
  constructor(native, wake) {
    this.native_ = native;
    this.wake_ = wake;
    /** @type {Map<string, Carrier>} by device id */
    this.byDevice_ = new Map();
    /** @type {{ pattern: string, fn: Carrier }[]} */
    this.byGlob_ = [];
    /** @type {Set<Listener>} */
    this.listeners_ = new Set();
    this.isHeld_ = false;
  }

  /** Commands of the cloud wait until resume(): the flows are not complete, and a flow that takes them may not be there yet. */
  hold() {
    this.isHeld_ = true;
  }

  resume() {
    if (!this.isHeld_) return;
    this.isHeld_ = false;
    this.wake_('*');
  }

  /**
   * @param {string} pattern device id or glob; an id goes before a glob, the latest of equals counts
   * @param {Carrier} fn
   * @returns {Carrying}
   */
  carry(pattern, fn) {
    const row = { pattern, fn };
    if (isGlob(pattern)) this.byGlob_.unshift(row);
    else this.byDevice_.set(pattern, fn);
    const stop = () => {
      if (this.byDevice_.get(pattern) === fn) this.byDevice_.delete(pattern);
      this.byGlob_ = this.byGlob_.filter((each) => each !== row);
    };
    const ready = (/** @type {string} */ device = pattern) => this.wake_(device);
    ready();
    return Object.assign(stop, { ready });
  }

  /**
   * @param {Listener} listener
   * @returns {() => void} ends it
   */
  listen(listener) {
    this.listeners_.add(listener);
    this.wake_(listener.pattern);
    return () => void this.listeners_.delete(listener);
  }

  /**
   * @param {import('./command').Command} command
   * @param {(outcome: import('./command-queues').Outcome) => void} done called once, perhaps at once
   */
  attempt(command, done) {
    const { device, origin } = command;
    if (this.isHeld_ && origin) return done({ end: 'busy', reason: 'The flows are starting.' });
    if (this.give_(command, true)) return done({ end: 'taken' });
    const byEngine = () =>
      this.native_.send(command, (outcome) => {
        done(outcome.end === 'offline' && this.give_(command, false) ? { end: 'taken' } : outcome);
      });
    const carrier =
      this.byDevice_.get(device) ?? this.byGlob_.find(({ pattern }) => matchesGlob(pattern, device))?.fn;
    if (!carrier) return byEngine();
    call(carrier, command).then((outcome) => (outcome.end === 'offline' ? byEngine() : done(outcome)));
  }

  /**
   * Commands of a flow do not go to flows: that would be a circle.
   * @param {import('./command').Command} command
   * @param {boolean} all
   * @returns {boolean} a flow has it
   */
  give_(command, all) {
    const { origin } = command;
    if (!origin) return false;
    for (const listener of this.listeners_) {
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
