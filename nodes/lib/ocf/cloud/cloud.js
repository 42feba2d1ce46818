'use strict';

const { answerFormat, checkLinkFormat } = require('./bodies');
const { account, tokenRefresh } = require('./account');
const { Attempts } = require('./attempts');
const { FORMAT } = require('./coap');
const { DeviceStates } = require('./device-states');
const { directory } = require('./directory');
const { discovery } = require('./discovery');
const { NOWHERE } = require('./elsewhere');
const { figuresOf } = require('./counts/figures');
const { Forwarding } = require('./forwarding');
const { Grants } = require('./grants');
const { group, verify } = require('./groups');
const { Invitations } = require('./invitations');
const { Lookups } = require('./lookups');
const { ObservedRecords } = require('./observed-records');
const { withDefaults } = require('./options');
const { OwnObservations } = require('./own-observations');
const { OwnRequests } = require('./own-requests');
const { Presence } = require('./presence');
const { RecentRefusals } = require('./counts/recent-refusals');
const { Refusal } = require('./refusal');
const { registrations } = require('./registrations');
const { asRefusal, refuse, send } = require('./replies');
const { checkCritical } = require('./route-options');
const { Route } = require('./route');
const { session } = require('./session');
const { Sessions } = require('./sessions');
const { SignIns } = require('./sign-ins');
const { core, ping } = require('./small-resources');
const { Tallies } = require('./counts/tallies');
const { Topics } = require('./topics');
const { Upkeep } = require('./upkeep');
const { UserTokens } = require('./user-tokens');

/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./coap').Option} Option */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./replies').Answer} Answer */
/** @typedef {import('./coap').Desk} Desk */
/**
 * @typedef {object} Events what the owner of the cloud may want to know
 * @property {(event: { di: string, state: 'on' | 'off', reason: string }) => void} [presence]
 * @property {(event: { di: string, uid: string, address: string }) => void} [tokenReused] somebody has a copy of a
 *   device's refresh token; its tokens were revoked
 * @property {(event: { di: string, why: string }) => void} [unrecorded] a resource that should be recorded is not, or a
 *   value of it; why: completes "The device …"
 * @property {(error: Error) => void} [problem] something failed that is not the client's fault
 */

/** Requests of a connection that wait for earlier ones. */
const MOST_QUEUED = 64;

/** Resources for which no sign-in is needed, by path. @type {Map<string, (cloud: OcfCloud, peer: Peer, request: Request) => Promise<Answer>>} */
const OPEN = new Map([
  ['oic/sec/account', account],
  ['oic/account', account],
  ['oic/sec/session', session],
  ['oic/account/session', session],
  ['oic/sec/tokenrefresh', tokenRefresh],
  ['oic/account/tokenrefresh', tokenRefresh],
  ['oic/ping', ping],
  ['.well-known/core', (cloud, _peer, request) => core(cloud, request)]
]);
/** Resources by which a device changes what can be observed. */
const CHANGING = new Set(['oic/sec/session', 'oic/account/session', 'oic/rd']);
/** Resources of RFC 9176, whose bodies are link format (RFC 6690). */
const LINK_FORMAT = /^(rd(\/.*)?|rd-lookup\/(res|ep))$/s;
/** Resources of older clients, which expect plain CBOR unless they ask for OCF's format. */
const PLAIN = new Set(['oic/prs', 'oic/ps', 'oic/ping']);

/**
 * The control plane of an OCF cloud: accounts, sessions, directory, presence, topics, and the way to devices. It keeps
 * no connection itself; the desk does.
 */
class OcfCloud {
  #upkeep;
  #devices = 0;
  #endpoints = 0;
  /** @type {Set<NodeJS.Timeout>} */
  #timers = new Set();

  /**
   * @param {object} parts
   * @param {Desk} parts.desk
   * @param {import('../store/operations').Store} parts.store
   * @param {import('./access-codes').Users} parts.users
   * @param {Partial<import('./options').Options> & Pick<import('./options').Options, 'sid' | 'endpoint'>} parts.options
   * @param {Events} [parts.events]
   * @param {() => number} [parts.now] ms since 1970
   */
  constructor({ desk, store, users, options, events = {}, now = Date.now }) {
    this.tallies = new Tallies();
    this.desk = desk;
    this.store = store;
    this.users = users;
    this.options = withDefaults(options);
    this.events = events;
    this.now = now;
    this.attempts = new Attempts(now);
    this.refusals = new RecentRefusals(now);
    this.sessions = new Sessions(now);
    this.grants = new Grants(store);
    this.presence = new Presence(this);
    this.deviceStates = new DeviceStates(this);
    this.signIns = new SignIns(this);
    this.topics = new Topics(this);
    this.lookups = new Lookups(this);
    this.invitations = new Invitations(this);
    this.userTokens = new UserTokens(this);
    /** True while requests over HTTP are taken, too. */
    this.hasHttp = false;
    this.route = new Route(this);
    this.forwarding = new Forwarding(this);
    this.ownRequests = new OwnRequests(this);
    this.ownObservations = new OwnObservations(this);
    this.observedRecords = new ObservedRecords(this);
    /** Devices at other gateways of the cloud. @type {import('./elsewhere').Elsewhere} */
    this.elsewhere = NOWHERE;
    this.isClosed = false;
    this.#upkeep = new Upkeep(this);
  }

  /**
   * Must be called before the first request.
   * @throws {Error} if the store belongs to a cloud with another id and has devices
   */
  async start() {
    const known = await this.store.write('claim', { sid: this.options.sid });
    if (known !== this.options.sid) {
      throw new Error(
        `The store belongs to the cloud ${known} and has signed-up devices, which would not find a cloud with the id ${this.options.sid}. Set the cloud id to ${known}, or use another store.`
      );
    }
    await this.recount();
    this.#upkeep.start();
  }

  /** Stops all timers and requests of its own. The store stays open. */
  close() {
    this.isClosed = true;
    this.ownRequests.close();
    this.observedRecords.close();
    this.ownObservations.close();
    this.#upkeep.stop();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /**
   * Answers a request. Never throws. Requests of a connection take effect in their order.
   * @param {Request} request
   */
  asked(request) {
    const peer = this.sessions.peerOf(request);
    this.tallies.asked(peer, request);
    if (peer.silentMs > 0) peer.silentUntil = this.now() + peer.silentMs;
    if (peer.queued >= MOST_QUEUED) {
      this.#refuse(request, new Refusal('5.03', 'The connection has too many unanswered requests.', 1));
      return;
    }
    peer.queued++;
    const work = () => this.#handle(peer, request);
    peer.last = (peer.last ? peer.last.then(work) : work()).then(() => {
      if (--peer.queued === 0) peer.last = null;
    });
  }

  /**
   * The desk sends an answer or a notification, which all leave through it.
   * @param {number} connection
   * @param {Uint8Array} token
   * @param {string | number} code
   */
  answered(connection, token, code) {
    this.tallies.answered(this.sessions.peek(connection), token, code);
  }

  /**
   * The desk lost a connection, or took the device from one that stays open: after forget(), and at the end that
   * identify() named.
   * @param {number} connection
   * @param {string} device
   * @param {string} reason
   */
  gone(connection, device, reason) {
    this.signIns.gone(connection, device, reason);
  }

  /** @param {Peer} peer @param {Request} request */
  async #handle(peer, request) {
    try {
      await this.#dispatch(peer, request);
    } catch (error) {
      if (!(error instanceof Refusal)) this.problem(error);
      if (!peer.isGone) this.#refuse(request, asRefusal(error));
    }
  }

  /** @param {Peer} peer @param {Request} request */
  async #dispatch(peer, request) {
    if (peer.isGone) return;
    checkCritical(request);
    const path = request.path.join('/');
    const open = OPEN.get(path);
    if (!open) this.sessions.checkSignedIn(peer);
    if (path.startsWith('oic/route/')) {
      await this.route.forward(peer, request);
      return;
    }
    const [first, second] = request.path;
    const usual = PLAIN.has(`${first}/${second}`) ? FORMAT.CBOR : FORMAT.OCF;
    let format = FORMAT.LINKS;
    if (LINK_FORMAT.test(path)) checkLinkFormat(request);
    else if (path !== '.well-known/core') format = answerFormat(request, usual);
    const answer = await (open ? open(this, peer, request) : this.#signedIn(peer, request, path, format));
    if (answer && !peer.isGone) send(this.desk, request, answer, format);
    // After the answer, because a device may expect it before any request.
    if (CHANGING.has(path) && peer.di !== '') this.#observe(peer.di);
  }

  /** @param {string} di that has signed in, or changed its links */
  #observe(di) {
    this.ownObservations.on(di);
    this.observedRecords.changed(di);
  }

  /** @param {Peer} peer @param {Request} request @param {string} path @param {number} format */
  async #signedIn(peer, request, path, format) {
    if (path === 'oic/rd') return directory(this, peer, request);
    if (path === 'oic/res') return discovery(this, peer, request, format);
    if (path === 'oic/prs') return this.presence.answer(peer, request, format);
    if (path === 'oic/ps' || path.startsWith('oic/ps/')) return this.topics.answer(peer, request, format);
    if (path === 'oic/acl/group') return group(this, peer, request);
    if (path === 'oic/acl/invite') return this.invitations.answer(peer, request, format);
    if (path === 'oic/acl/verify') return verify(this, peer, request);
    if (path === 'rd' || path.startsWith('rd/')) return registrations(this, peer, request);
    if (path === 'rd-lookup/res' || path === 'rd-lookup/ep') return this.lookups.answer(peer, request);
    throw new Refusal('4.04', 'The cloud has no such resource.');
  }

  /** @param {Request} request @param {Refusal} refusal */
  #refuse(request, refusal) {
    const { connection, peer, method, path } = request;
    const di = this.sessions.peek(connection)?.di ?? '';
    const { code, message: reason } = refusal;
    this.refusals.add({ address: peer.address, di, method, path: `/${path.join('/')}`, code, reason });
    try {
      refuse(this.desk, request, refusal);
    } catch (error) {
      this.problem(error);
    }
  }

  /**
   * Sends an answer or notification outside of a request's turn.
   * @param {Request} request
   * @param {string | number} code
   * @param {Option[]} options
   * @param {Buffer} payload
   */
  answer({ connection, token }, code, options, payload) {
    try {
      this.desk.answer(connection, token, code, options, payload);
    } catch (error) {
      // The connection may have ended; what else went wrong is worth a message, but must not stop other notifications.
      this.problem(error);
      this.#answerBadly(connection, token);
    }
  }

  /**
   * Sends the same notification to several observers.
   * @param {Request[]} requests
   * @param {string | number} code
   * @param {Option[]} options
   * @param {Buffer} payload
   */
  answerAll(requests, code, options, payload) {
    const { desk } = this;
    if (!desk.answerAll) return requests.forEach((request) => this.answer(request, code, options, payload));
    try {
      desk.answerAll(requests, code, options, payload);
    } catch (error) {
      this.problem(error);
    }
  }

  /** A request without an answer would keep its place at the desk. @param {number} connection @param {Buffer} token */
  #answerBadly(connection, token) {
    try {
      this.desk.answer(connection, token, '5.02', [], Buffer.alloc(0));
    } catch {
      // Reported above.
    }
  }

  /** Whether a device is signed in, here or elsewhere. @param {string} di @returns {import('./elsewhere').State} */
  stateOf(di) {
    return this.deviceStates.of(di);
  }

  /**
   * Deletes a device with its tokens, links and shares, and ends what others have with it.
   * @param {string} di
   * @returns {Promise<boolean>} false: there was none
   */
  async deleteDevice(di) {
    const viewers = await this.grants.viewers(di);
    const wasThere = await this.store.write('removeDevice', { di });
    if (wasThere) this.#devices--;
    this.dropDevice(di, viewers);
    return wasThere;
  }

  /**
   * Ends the session and the observations of a device that is no longer signed up.
   * @param {string} di
   * @param {string[]} viewers users that could see it
   */
  dropDevice(di, viewers) {
    this.grants.forget(di);
    this.signIns.deleted(di, viewers);
    this.ownObservations.deleted(di);
    this.route.recheck(di).catch((error) => this.#applyLater(error));
    this.lookups.changed();
  }

  /** @param {string} di @param {string} uid @param {'' | 'r' | 'rw'} rights @returns {Promise<string>} '' = done */
  async share(di, uid, rights) {
    const problem = await this.store.write('share', { di, uid, rights });
    await this.sharesChanged([di]);
    return problem;
  }

  /**
   * Applies the rights that users have now, and ends what is no longer allowed. Never throws: the change is in the
   * store, so its client must get a success.
   * @param {string[]} devices
   */
  async sharesChanged(devices) {
    for (const di of devices) this.grants.forget(di);
    try {
      for (const di of devices) {
        await this.forwarding.share(di);
        await this.route.recheck(di);
      }
    } catch (error) {
      this.#applyLater(error);
    }
    if (devices.length > 0) this.lookups.changed();
  }

  /** Reports why a change of the store was not applied in full; upkeep applies it. @param {unknown} error */
  #applyLater(error) {
    this.#upkeep.catchUp();
    this.problem(error);
  }

  /** @param {string} di that has signed up */
  deviceAdded(di) {
    this.#devices++;
    this.grants.forget(di);
  }

  async recount() {
    this.#devices = await this.store.read('countDevices');
    this.#endpoints = await this.store.read('countEndpoints', { now: this.now() });
  }

  get isFull() {
    return this.#devices >= this.options.mostDevices;
  }

  get deviceCount() {
    return this.#devices;
  }

  /** Returns what the metrics and the live view show. Totals are those since the start. */
  figures() {
    return figuresOf(this, { devices: this.#devices, endpoints: this.#endpoints });
  }

  /** @param {Request} request @returns {string} */
  endpointFor(request) {
    const { endpoint } = this.options;
    return typeof endpoint === 'function' ? endpoint(request) : endpoint;
  }

  /** @param {number} ms @param {() => void} work that close() cancels */
  later(ms, work) {
    if (this.isClosed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  /** @param {unknown} error */
  problem(error) {
    this.events.problem?.(error instanceof Error ? error : new Error(String(error)));
  }
}

exports.OcfCloud = OcfCloud;
