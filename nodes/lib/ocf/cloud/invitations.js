'use strict';
// /oic/acl/invite: members of a group invite users, who accept or decline. Users may observe their invitations.

const { encode, formatOptions, mapOf, uuidOf } = require('./bodies');
const { OPTION, uint } = require('./coap');
const { check, idOf, LIMITS: GROUPS } = require('./groups');
const { Refusal } = require('./refusal');
const { observeNumbers, observeWish } = require('./relations');
const { checkMethod } = require('./replies');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */
/**
 * @typedef {object} Watcher
 * @property {Request} request
 * @property {string} uid
 * @property {number} format
 * @property {() => number} next number of a notification
 * @property {Buffer | null} last what the client has; null: nothing yet
 */

const LIMITS = { open: 32, received: 64, inOneRequest: 16 };
/** An invitation ends after a week. */
const LIFETIME_MS = 7 * 86400000;

class Invitations {
  #cloud;
  /** @type {Set<Watcher>} */
  #watchers = new Set();
  /** Keeps notifications in order. @type {Promise<void>} */
  #last = Promise.resolve();
  #isWaiting = false;

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /** @param {Peer} peer @param {Request} request @param {number} format @returns {Promise<Answer>} */
  async answer(peer, request, format) {
    checkMethod(request, 'GET', 'POST', 'DELETE');
    if (request.method === 'GET') return this.#get(peer, request, format);
    const { uid } = peer;
    if (request.method === 'DELETE') return this.#remove(uid, request);
    const body = mapOf(request);
    return 'invite' in body ? this.#invite(uid, body) : this.#reply(uid, body);
  }

  /** Notifies those whose invitations are others now. */
  changed() {
    if (this.#watchers.size === 0 || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#last = this.#last.then(() => {
      this.#isWaiting = false;
      return this.#notify().catch((error) => this.#cloud.problem(error));
    });
  }

  /** @param {Peer} peer @param {Request} request @param {number} format @returns {Promise<Answer>} */
  async #get(peer, request, format) {
    const { uid } = peer;
    const wish = observeWish(request);
    if (wish === 'end') peer.relations.end(request.token);
    if (wish !== 'start') return { code: '2.05', encoded: await this.#list(uid) };
    peer.relations.check();
    /** @type {Watcher} */
    const watcher = { request, uid, format, next: observeNumbers(), last: null };
    // Before the list is read, so that no change between them is lost.
    this.#watchers.add(watcher);
    const end = () => void this.#watchers.delete(watcher);
    const remove = peer.relations.add(request.token, end);
    try {
      const encoded = await this.#list(uid);
      watcher.last = encoded;
      setImmediate(() => this.changed());
      return { code: '2.05', options: [[OPTION.OBSERVE, uint(watcher.next())]], encoded };
    } catch (error) {
      remove();
      end();
      throw error;
    }
  }

  /** @param {string} uid @returns {Promise<Buffer>} */
  async #list(uid) {
    const found = await this.#cloud.store.read('invitations', { uid, now: this.#cloud.now() });
    const received = found.received.map(({ gid, name, inviter }) => ({ gid, gname: name, mid: inviter }));
    const sent = found.sent.map(({ gid, uid: mid }) => ({ gid, mid }));
    return encode({ invited: received, invite: sent });
  }

  async #notify() {
    for (const watcher of this.#watchers) {
      if (watcher.last === null) continue;
      const payload = await this.#list(watcher.uid);
      if (!this.#watchers.has(watcher) || watcher.last.equals(payload)) continue;
      watcher.last = payload;
      const { request, format, next } = watcher;
      /** @type {import('./coap').Option[]} */
      const options = [[OPTION.OBSERVE, uint(next())], ...formatOptions(request, format)];
      this.#cloud.answer(request, '2.05', options, payload);
    }
  }

  /** @param {string} uid @param {Record<string, unknown>} body @returns {Promise<Answer>} */
  async #invite(uid, { invite: list }) {
    const isList = Array.isArray(list) && list.length > 0 && list.length <= LIMITS.inOneRequest;
    const isFine = isList && list.every((each) => each && Object.getPrototypeOf(each) === Object.prototype);
    if (!isFine)
      throw new Refusal('4.00', `invite must be a list of 1 to ${LIMITS.inOneRequest} maps of gid, mid.`);
    const wanted = list.map((each) => ({ gid: uuidOf(each, 'gid'), mid: uuidOf(each, 'mid') }));
    const now = this.#cloud.now();
    for (const { gid, mid } of wanted) {
      const input = { gid, uid, mid, now, expires: now + LIFETIME_MS, most: LIMITS };
      const problem = await this.#cloud.store.write('invite', input);
      this.changed();
      if (problem === 'full') throw new Refusal('5.03', 'There are too many open invitations.', 3600);
      if (problem === 'member') throw new Refusal('4.03', 'The user is a member already.');
      check(problem);
    }
    return { code: '2.04' };
  }

  /** Accepts or declines. @param {string} uid @param {Record<string, unknown>} body @returns {Promise<Answer>} */
  async #reply(uid, body) {
    const gid = uuidOf(body, 'gid');
    const { accept } = body;
    if (typeof accept !== 'boolean') throw new Refusal('4.00', 'accept must be true or false.');
    if (!accept) {
      await this.#withdraw(uid, gid, uid);
      return { code: '2.04' };
    }
    const input = { gid, uid, now: this.#cloud.now(), most: GROUPS };
    const { problem, devices } = await this.#cloud.store.write('acceptInvitation', input);
    if (problem === 'invitation') throw none();
    if (problem) {
      throw new Refusal(
        '5.03',
        `A group has at most ${GROUPS.members} members, and a user at most ${GROUPS.groups} groups.`,
        3600
      );
    }
    this.changed();
    await this.#cloud.sharesChanged(devices);
    return { code: '2.04' };
  }

  /** @param {string} uid @param {Request} request @returns {Promise<Answer>} */
  async #remove(uid, request) {
    const gid = idOf(request, 'gid');
    if (!gid) throw new Refusal('4.00', 'The query must have gid, a UUID.');
    await this.#withdraw(uid, gid, idOf(request, 'mid') || uid);
    return { code: '2.02' };
  }

  /** @param {string} uid @param {string} gid @param {string} mid @throws {Refusal} */
  async #withdraw(uid, gid, mid) {
    if (!(await this.#cloud.store.write('removeInvitation', { gid, uid, mid }))) throw none();
    this.changed();
  }

  get size() {
    return this.#watchers.size;
  }
}

function none() {
  return new Refusal('4.04', 'There is no such invitation.');
}

module.exports = { Invitations, LIMITS };
