'use strict';
// /oic/route/{di}{href}: requests of controllers to devices, through the connection that the device keeps.

const { asUuid } = require('./bodies');
const { OPTION, hasOption } = require('./coap');
const { allows } = require('./grants');
const { segmentsProblem } = require('./href');
const { Refusal } = require('./refusal');
const { observeWish } = require('./relations');
const { refuse } = require('./replies');
const { forController, forDevice } = require('./route-options');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./cloud').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {{ di: string, uid: string, request: Request, drop: (refusal?: Refusal) => void }} Observation */

const METHODS = new Set(['GET', 'POST', 'PUT', 'DELETE', 'FETCH', 'PATCH', 'iPATCH']);

class Route {
  #cloud;
  /** Requests that a device has not answered. @type {Map<string, number>} */
  #open = new Map();
  /** @type {Set<Observation>} */
  #observations = new Set();

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /**
   * Passes a request on. Its answer follows later.
   * @param {Peer} peer
   * @param {Request} request
   */
  async forward(peer, request) {
    const [, , first, ...path] = request.path;
    const di = asUuid(first ?? '');
    if (!di || path.length === 0) throw new Refusal('4.04', 'There is no such device.');
    if (!METHODS.has(request.method)) throw new Refusal('4.05', 'The method is not known.');
    await this.#checkRights(di, peer.uid, request.method);
    const problem = segmentsProblem(path);
    if (problem) throw new Refusal('4.00', `The path ${problem}.`);
    const options = forDevice(request);
    const wish = observeWish(request);
    if (wish === 'end') peer.relations.end(request.token);
    if (!this.#cloud.sessions.isReachable(di)) throw new Refusal('5.03', 'The device is offline.');
    if (wish === 'start') peer.relations.check();
    if (this.isFull(di)) {
      throw new Refusal('5.03', 'The device has too many unanswered requests.', 1);
    }
    if (wish === 'start') this.#observe(di, peer, request, path, options);
    else this.#ask(di, peer, request, path, options);
    this.#cloud.desk.settled?.(request.connection, request.token);
  }

  /** @param {string} di @param {string} uid @param {string} method @throws {Refusal} 4.04, 4.03 */
  async #checkRights(di, uid, method) {
    const rights = await this.#cloud.grants.rights(di, uid);
    if (rights === null) throw new Refusal('4.04', 'There is no such device.');
    if (!allows(rights, method))
      throw new Refusal('4.03', 'The user has no right to do this with the device.');
  }

  /**
   * @param {string} di
   * @param {Peer} peer
   * @param {Request} request
   * @param {string[]} path
   * @param {import('./coap').Option[]} options
   */
  #ask(di, peer, request, path, options) {
    const answered = this.count(di);
    try {
      this.#cloud.desk.ask(di, this.#question(request, path, options, false), (answer) => {
        answered();
        if (!peer.isGone) this.#pass(answer, request, di);
      });
    } catch (error) {
      answered();
      throw error;
    }
  }

  /**
   * @param {string} di
   * @param {Peer} peer
   * @param {Request} request
   * @param {string[]} path
   * @param {import('./coap').Option[]} options
   */
  #observe(di, peer, request, path, options) {
    const { desk } = this.#cloud;
    const answered = this.count(di);
    /** @type {Observation} */
    const observation = { di, uid: peer.uid, request, drop: () => {} };
    let isOpen = true;
    let isAnswered = false;
    let remove = () => {};
    const close = () => {
      isOpen = false;
      answered();
      remove();
      this.#observations.delete(observation);
    };
    /** @type {unknown} */
    let handle;
    try {
      handle = desk.ask(di, this.#question(request, path, options, true), (answer) => {
        if (!isOpen) return;
        isAnswered = true;
        answered();
        if (answer.last || !hasOption(answer, OPTION.OBSERVE)) close();
        if (!peer.isGone) this.#pass(answer, request, di);
      });
    } catch (error) {
      close();
      throw error;
    }
    if (!isOpen) return;
    observation.drop = (refusal) => {
      if (!isOpen) return;
      close();
      desk.cancel(handle);
      // Every request gets an answer, also one whose client has lost interest.
      const last = refusal ?? (isAnswered ? null : new Refusal('5.03', 'The observation was ended.'));
      if (last && !peer.isGone) refuse(desk, request, last);
    };
    this.#observations.add(observation);
    remove = peer.relations.add(request.token, () => observation.drop());
  }

  /** True if the device has as many unanswered requests as it may have. @param {string} di */
  isFull(di) {
    return (this.#open.get(di) ?? 0) >= this.#cloud.options.mostOpen;
  }

  /** Counts a request until the returned function is called, which may happen more than once. @param {string} di */
  count(di) {
    this.#open.set(di, (this.#open.get(di) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#open.get(di) ?? 0) - 1;
      if (left > 0) this.#open.set(di, left);
      else this.#open.delete(di);
    };
  }

  /**
   * @param {Request} request
   * @param {string[]} path
   * @param {import('./coap').Option[]} options
   * @param {boolean} observe
   */
  #question({ method, query, payload }, path, options, observe) {
    return {
      method,
      path,
      query,
      options,
      payload,
      observe,
      timeoutMs: this.#cloud.options.requestTimeoutMs
    };
  }

  /** @param {DeviceAnswer} answer @param {Request} request @param {string} di */
  #pass({ code, options, payload }, request, di) {
    this.#cloud.answer(request, code, forController(options, request, di), payload);
  }

  /**
   * Ends the observations whose users may no longer see the device.
   * @param {string} [di] all devices if it is missing
   */
  async recheck(di) {
    for (const observation of [...this.#observations]) {
      if (di !== undefined && observation.di !== di) continue;
      try {
        await this.#checkRights(observation.di, observation.uid, 'GET');
      } catch (error) {
        if (error instanceof Refusal) observation.drop(error);
      }
    }
  }

  /** Requests that devices have not answered. */
  get unanswered() {
    let sum = 0;
    for (const count of this.#open.values()) sum += count;
    return sum;
  }

  get observations() {
    return this.#observations.size;
  }
}

exports.Route = Route;
