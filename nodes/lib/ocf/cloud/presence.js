'use strict';
// /oic/prs: which of the user's devices are signed in, and what changes.

const { asUuid, encode, formatOptions } = require('./bodies');
const { OPTION, queryValues, uint } = require('./coap');
const { observeNumbers, observeWish } = require('./relations');
const { checkMethod } = require('./replies');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */
/** @typedef {import('./elsewhere').State} State */
/**
 * @typedef {object} Watcher
 * @property {Request} request
 * @property {number} format
 * @property {Set<string> | null} devices null = all
 * @property {() => number} next number of a notification
 * @property {Buffer[] | null} held changes that came before the first answer; null: it was sent
 */

class Presence {
  #cloud;
  /** By user. @type {Map<string, Set<Watcher>>} */
  #watchers = new Map();
  /** Keeps changes in order, because finding their viewers may need the store. @type {Promise<void>} */
  #last = Promise.resolve();

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /** Requests that watch presence. */
  get size() {
    let sum = 0;
    for (const own of this.#watchers.values()) sum += own.size;
    return sum;
  }

  /** @param {Peer} peer @param {Request} request @param {number} format @returns {Promise<Answer>} */
  async answer(peer, request, format) {
    checkMethod(request, 'GET');
    const wanted = queryValues(request, 'di').map((di) => asUuid(di));
    const devices = wanted.length > 0 ? new Set(wanted) : null;
    const wish = observeWish(request);
    if (wish === 'end') peer.relations.end(request.token);
    if (wish !== 'start') return { code: '2.05', body: await this.#list(peer.uid, devices) };
    peer.relations.check();
    /** @type {Watcher} */
    const watcher = { request, format, devices, next: observeNumbers(), held: [] };
    // Before the list is read, so that no change between them is lost.
    const end = this.#watch(peer.uid, watcher);
    const remove = peer.relations.add(request.token, end);
    try {
      const body = await this.#list(peer.uid, devices);
      setImmediate(() => this.#release(watcher));
      return { code: '2.05', options: [[OPTION.OBSERVE, uint(watcher.next())]], body };
    } catch (error) {
      remove();
      end();
      throw error;
    }
  }

  /**
   * Notifies those that watch a device.
   * @param {string} di
   * @param {State} state
   * @param {string[]} [viewers] users that may see the device, if the caller knows them
   */
  changed(di, state, viewers) {
    if (this.#watchers.size === 0) return;
    this.#last = this.#last.then(async () => {
      try {
        for (const uid of viewers ?? (await this.#cloud.grants.viewers(di))) this.#notify(uid, di, state);
      } catch (error) {
        this.#cloud.problem(error);
      }
    });
  }

  /** @param {string} uid @param {Set<string> | null} devices */
  async #list(uid, devices) {
    const visible = await this.#cloud.store.read('visible', { uid });
    const shown = devices ? visible.filter((di) => devices.has(di)) : visible;
    return { prslist: shown.map((di) => ({ di, state: this.#cloud.stateOf(di) })) };
  }

  /** @param {string} uid @param {Watcher} watcher @returns {() => void} ends it */
  #watch(uid, watcher) {
    const own = this.#watchers.get(uid) ?? new Set();
    this.#watchers.set(uid, own.add(watcher));
    return () => {
      own.delete(watcher);
      if (own.size === 0 && this.#watchers.get(uid) === own) this.#watchers.delete(uid);
    };
  }

  /** @param {string} uid @param {string} di @param {State} state */
  #notify(uid, di, state) {
    const watchers = this.#watchers.get(uid);
    if (!watchers) return;
    const payload = encode({ prslist: [{ di, state }] });
    for (const watcher of watchers) {
      if (watcher.devices && !watcher.devices.has(di)) continue;
      if (watcher.held) watcher.held.push(payload);
      else this.#send(watcher, payload);
    }
  }

  /** Sends what came before the first answer. @param {Watcher} watcher */
  #release(watcher) {
    const held = watcher.held ?? [];
    watcher.held = null;
    for (const payload of held) this.#send(watcher, payload);
  }

  /** @param {Watcher} watcher @param {Buffer} payload */
  #send({ request, format, next }, payload) {
    /** @type {import('./coap').Option[]} */
    const options = [[OPTION.OBSERVE, uint(next())], ...formatOptions(request, format)];
    this.#cloud.answer(request, '2.05', options, payload);
  }
}

exports.Presence = Presence;
