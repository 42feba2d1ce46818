'use strict';
// /oic/route/{di}{href}: requests of controllers to devices, through the connection that the device keeps.

const { asUuid } = require('./bodies');
const { OPTION, hasOption } = require('./coap');
const { allows } = require('./grants');
const { segmentsProblem } = require('./href');
const { Refusal } = require('./refusal');
const { viaOf } = require('./registrations');
const { observeWish } = require('./relations');
const { asRefusal, refuse } = require('./replies');
const { forController, forDevice, forEndpoint } = require('./route-options');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./coap').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./coap').Option} Option */
/** @typedef {Pick<Request, 'method' | 'path' | 'query' | 'options' | 'payload'>} Wanted path: on the device */
/**
 * Where answers go.
 * @typedef {object} Taker
 * @property {string} uid the user
 * @property {(answer: DeviceAnswer) => void} take
 * @property {(refusal: Refusal) => void} end the observation was ended without a last answer of the device
 */
/**
 * A request that may be sent. di: device or endpoint; via: the device with the connection; hops: for a request of
 * another gateway, how many more may pass it on
 * @typedef {{ di: string, via: string, question: import('./coap').Question, hops?: number }} Checked
 */
/** @typedef {{ via: string, uid: string, drop: (refusal?: Refusal) => void }} Observation via: device */

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
   * Passes on the request of a connection. Its answer follows later.
   * @param {Peer} peer
   * @param {Request} request
   */
  async forward(peer, request) {
    const [, , first, ...path] = request.path;
    const di = asUuid(first ?? '');
    const { method, query, options, payload, token } = request;
    /** @type {Wanted} */
    const wanted = { method, path, query, options, payload };
    const checked = await this.check(di, peer.uid, wanted);
    // A connection that ended meanwhile would keep its observation.
    if (peer.isGone) return;
    /** @type {Taker} */
    const taker = {
      uid: peer.uid,
      take: ({ code, options: all, payload: body }) => {
        if (!peer.isGone) this.#cloud.answer(request, code, forController(all, request, di), body);
      },
      end: (refusal) => {
        if (!peer.isGone) refuse(this.#cloud.desk, request, refusal);
      }
    };
    const wish = observeWish(request);
    if (wish === 'end') peer.relations.end(token);
    this.checkOpen(checked.via);
    if (wish === 'start') {
      peer.relations.check();
      let remove = () => {};
      const drop = this.observe(checked, taker, () => remove());
      if (drop) remove = peer.relations.add(token, drop);
    } else this.ask(checked, taker);
    this.#cloud.desk.settled?.(request.connection, token);
  }

  /**
   * Checks whether a user may send a request to a device or endpoint.
   * @param {string} di '' = none
   * @param {string} uid
   * @param {Wanted} wanted
   * @returns {Promise<Checked>}
   * @throws {Refusal}
   */
  async check(di, uid, wanted) {
    return this.prepare(di, wanted, (via) => this.#checkRights(via, uid, wanted.method));
  }

  /**
   * As check(), for a request whose right another gateway of the cloud has checked.
   * @param {string} di
   * @param {Wanted} wanted
   * @param {(via: string) => Promise<void>} [checkRights]
   * @returns {Promise<Checked>}
   * @throws {Refusal}
   */
  async prepare(di, wanted, checkRights = async () => {}) {
    const { method, path, query, payload } = wanted;
    if (!di || path.length === 0) throw new Refusal('4.04', 'There is no such device.');
    if (!METHODS.has(method)) throw new Refusal('4.05', 'The method is not known.');
    const via = await viaOf(this.#cloud, di);
    await checkRights(via || di);
    const problem = segmentsProblem(path);
    if (problem) throw new Refusal('4.00', `The path ${problem}.`);
    const options = via ? forEndpoint(wanted) : forDevice(wanted);
    const timeoutMs = this.#cloud.options.requestTimeoutMs;
    return {
      di,
      via: via || di,
      question: { method, path, query, options, payload, observe: false, timeoutMs }
    };
  }

  /** @param {string} di @param {string} uid @param {string} method @throws {Refusal} 4.04, 4.03 */
  async #checkRights(di, uid, method) {
    const rights = await this.#cloud.grants.rights(di, uid);
    if (rights === null) throw new Refusal('4.04', 'There is no such device.');
    if (!allows(rights, method))
      throw new Refusal('4.03', 'The user has no right to do this with the device.');
  }

  /** @param {string} via @throws {Refusal} 5.03 if the device takes no request at present */
  checkOpen(via) {
    if (!this.#cloud.sessions.isReachable(via)) this.#cloud.elsewhere.check(via);
    if (this.isFull(via)) {
      throw new Refusal('5.03', 'The device has too many unanswered requests.', 1);
    }
  }

  /** @param {Checked} checked @param {string} uid @returns {import('./elsewhere').Way} */
  #wayTo({ di, via, hops }, uid) {
    const { desk, elsewhere, sessions } = this.#cloud;
    return (sessions.isReachable(via) ? null : elsewhere.through({ di, via, uid, hops })) ?? desk;
  }

  /**
   * Returns the way of a request of the gateway itself.
   * @param {string} di a device
   * @returns {import('./elsewhere').Way | null} null: it cannot be reached
   */
  ownWayTo(di) {
    const { desk, elsewhere, sessions } = this.#cloud;
    return sessions.isReachable(di) ? desk : elsewhere.through({ di, via: di, uid: '' });
  }

  /**
   * Sends a request that passed check() and checkOpen().
   * @param {Checked} checked
   * @param {Taker} taker
   */
  ask(checked, { uid, take }) {
    const { via, question } = checked;
    const answered = this.count(via);
    try {
      this.#wayTo(checked, uid).ask(via, question, (answer) => {
        answered();
        take(answer);
      });
    } catch (error) {
      answered();
      throw error;
    }
  }

  /**
   * Starts an observation with a GET that passed check() and checkOpen().
   * @param {Checked} checked
   * @param {Taker} taker
   * @param {() => void} onEnd called once when it ends, for whatever reason, unless null is returned
   * @returns {(() => void) | null} ends it; null: it has ended already
   */
  observe(checked, { uid, take, end }, onEnd) {
    const { via, question, hops } = checked;
    const way = this.#wayTo(checked, uid);
    const answered = this.count(via);
    /** @type {Observation} */
    const observation = { via, uid, drop: () => {} };
    let isOpen = true;
    let isAnswered = false;
    let isStarted = false;
    const close = () => {
      isOpen = false;
      answered();
      if (isStarted) onEnd();
      this.#observations.delete(observation);
    };
    /** @type {unknown} */
    let handle;
    try {
      handle = way.ask(via, { ...question, observe: true }, (answer) => {
        if (!isOpen) return;
        isAnswered = true;
        answered();
        if (answer.last || !hasOption(answer, OPTION.OBSERVE)) close();
        take(answer);
      });
    } catch (error) {
      close();
      throw error;
    }
    if (!isOpen) return null;
    isStarted = true;
    observation.drop = (refusal) => {
      if (!isOpen) return;
      close();
      way.cancel(handle);
      // Every request gets an answer, also one whose client has lost interest.
      const last = refusal ?? (isAnswered ? null : new Refusal('5.03', 'The observation was ended.'));
      if (last) end(last);
    };
    this.#observations.add(observation);
    // The rights may have changed after they were checked, when recheck() did not find this observation yet. Those that
    // another gateway checked may be newer than what this one knows.
    if (hops === undefined)
      this.#checkAgain(observation).catch((error) => observation.drop(asRefusal(error)));
    return () => observation.drop();
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
   * Ends the observations whose users may no longer see the device.
   * @param {string} [di] all devices if it is missing
   * @throws {Error} after the last one, if the store failed for any
   */
  async recheck(di) {
    let failure = null;
    for (const observation of [...this.#observations]) {
      if (di !== undefined && observation.via !== di) continue;
      try {
        await this.#checkAgain(observation);
      } catch (error) {
        failure = error;
      }
    }
    if (failure) throw failure;
  }

  /** Ends an observation whose user may no longer see the device. @param {Observation} observation */
  async #checkAgain({ via, uid, drop }) {
    try {
      await this.#checkRights(via, uid, 'GET');
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      drop(error);
    }
  }

  /**
   * Ends the observations through a device that does not come back to this gateway.
   * @param {string} via
   * @param {Refusal} refusal
   */
  lost(via, refusal) {
    for (const observation of [...this.#observations]) if (observation.via === via) observation.drop(refusal);
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
