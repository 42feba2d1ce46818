'use strict';
// Observations of the gateway itself at devices of its cloud. Each waits while its device is signed out, and is set up
// when it signs in, here or at another gateway. While the device changes its connection without signing out, the desk
// does that.

const { RequestFailure, deskQuestion, failureOf } = require('./own-requests');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./coap').DeviceAnswer} DeviceAnswer */
/** @typedef {InstanceType<typeof RequestFailure>} Failure */
/**
 * @typedef {object} ObservationHooks
 * @property {(answer: DeviceAnswer, goesOn: boolean) => void} answered goesOn false: the device ends the observation
 * @property {(failure: Failure) => 'again' | 'end'} failed the device did not answer, or was deleted (then
 *   the result has no effect)
 */
/** @typedef {{ di: string, path: string[], query: string[], timeoutMs: number }} Observed */

/** Observations of one device that have no answer yet. More would take the place of controllers' requests. */
const MOST_ASKING = 4;
const RETRY_MS = 1000;
const MOST_RETRY_MS = 60000;
const EMPTY = Buffer.alloc(0);

class OwnObservation {
  /** @type {NodeJS.Timeout | null} */
  timer = null;
  /** Where it was set up, and what that returned. @type {{ way: import('./elsewhere').Way, handle: unknown } | null} */
  asked = null;
  failures = 0;
  /** waiting: for its device or turn. @type {'waiting' | 'paused' | 'asking' | 'active' | 'ended'} */
  state = 'waiting';

  /** @param {Observed} observed @param {ObservationHooks} hooks @param {(own: OwnObservation) => void} remove */
  constructor(observed, hooks, remove) {
    this.observed = observed;
    this.hooks = hooks;
    this.remove = remove;
  }

  /** Ends it without another call of a hook. */
  end() {
    if (this.state !== 'ended') this.remove(this);
  }
}

class OwnObservations {
  #cloud;
  /** @type {Map<string, Set<OwnObservation>>} */
  #devices = new Map();
  #size = 0;

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /**
   * @param {Observed} observed a signed-up device, which may be offline
   * @param {ObservationHooks} hooks none is called in this call
   * @returns {OwnObservation}
   */
  start(observed, hooks) {
    const own = new OwnObservation(observed, hooks, (each) => this.#end(each));
    const all = this.#devices.get(observed.di) ?? new Set();
    this.#devices.set(observed.di, all.add(own));
    this.#size++;
    this.#pump(observed.di);
    return own;
  }

  /**
   * A device has signed in and got the answer; or, with regions, the way to it may have changed.
   * @param {string} di
   */
  on(di) {
    for (const own of this.#devices.get(di) ?? []) {
      const isElsewhere = own.asked !== null && own.asked.way !== this.#cloud.desk;
      if (own.state === 'paused' || isElsewhere) this.#wait(own);
    }
    this.#pump(di);
  }

  /** A device has left. @param {string} di */
  off(di) {
    for (const own of this.#devices.get(di) ?? []) this.#wait(own);
  }

  /** A device was deleted. @param {string} di */
  deleted(di) {
    for (const own of [...(this.#devices.get(di) ?? [])]) {
      own.end();
      own.hooks.failed(new RequestFailure('deleted', 'The device was deleted.'));
    }
  }

  /** @returns {string[]} devices with observations */
  devices() {
    return [...this.#devices.keys()];
  }

  /** Ends all, without a call of their hooks. */
  close() {
    for (const all of [...this.#devices.values()]) for (const own of [...all]) own.end();
  }

  /** Lets an observation wait for its device or turn. @param {OwnObservation} own */
  #wait(own) {
    if (own.timer) clearTimeout(own.timer);
    if (own.state === 'asking' || own.state === 'active') own.asked?.way.cancel(own.asked.handle);
    own.timer = own.asked = null;
    own.state = 'waiting';
  }

  /** @param {OwnObservation} own */
  #end(own) {
    const { di } = own.observed;
    this.#wait(own);
    own.state = 'ended';
    const all = this.#devices.get(di);
    all?.delete(own);
    if (all?.size === 0) this.#devices.delete(di);
    this.#size--;
    this.#pump(di);
  }

  /** Asks the device for those that wait. @param {string} di */
  #pump(di) {
    const all = this.#devices.get(di);
    if (!all || this.#cloud.isClosed) return;
    const way = this.#cloud.route.ownWayTo(di);
    if (!way) return;
    let asking = 0;
    for (const { state } of all) if (state === 'asking') asking++;
    for (const own of all) {
      if (asking >= MOST_ASKING) return;
      if (own.state !== 'waiting') continue;
      this.#ask(own, way);
      asking++;
    }
  }

  /** @param {OwnObservation} own @param {import('./elsewhere').Way} way */
  #ask(own, way) {
    const { di, path, query, timeoutMs } = own.observed;
    const question = { ...deskQuestion({ method: 'GET', path, query, payload: EMPTY }), observe: true };
    own.state = 'asking';
    /** @type {NonNullable<OwnObservation['asked']>} */
    const asked = { way, handle: null };
    own.asked = asked;
    asked.handle = way.ask(di, { ...question, timeoutMs }, (answer) => {
      if (own.asked === asked && own.state !== 'ended') this.#answered(own, answer);
    });
  }

  /** @param {OwnObservation} own @param {DeviceAnswer} answer */
  #answered(own, answer) {
    if (!answer.last) {
      own.state = 'active';
      own.failures = 0;
      // Without its bytes, which found no room; the next notification has them.
      if (!answer.failed) own.hooks.answered(answer, true);
    } else if (answer.failed) {
      this.#failed(own, failureOf(answer));
    } else {
      own.state = 'paused';
      own.end();
      own.hooks.answered(answer, false);
    }
    this.#pump(own.observed.di);
  }

  /** @param {OwnObservation} own @param {Failure} failure */
  #failed(own, failure) {
    own.asked = null;
    own.state = 'paused';
    const isBrief = failure.reason === 'offline' || failure.reason === 'busy';
    if (!isBrief && own.hooks.failed(failure) === 'end') own.end();
    if (/** @type {string} */ (own.state) !== 'paused') return;
    // The worker of the device may not know its connection yet, although the cloud does.
    const delayMs = Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** own.failures++);
    own.timer = setTimeout(() => {
      this.#wait(own);
      this.#pump(own.observed.di);
    }, delayMs);
    own.timer.unref();
  }

  get size() {
    return this.#size;
  }
}

exports.OwnObservations = OwnObservations;
exports.OwnObservation = OwnObservation;
