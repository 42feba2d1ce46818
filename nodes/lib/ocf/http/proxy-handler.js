'use strict';
// Handles requests over HTTP to devices of the OCF cloud (RFC 8075). There is no other way than to devices of the
// token's user.

const { BodyReader } = require('../../sources/http/body-reader');
const { HttpRefusal, retryAfter } = require('../../sources/http/http-refusal');
const { dotted } = require('../../sources/coap-desk/codes');
const { decode } = require('../cloud/bodies');
const { OPTION, uint } = require('../cloud/coap');
const { Refusal } = require('../cloud/refusal');
const { viaOf } = require('../cloud/registrations');
const { UNAVAILABLE_SECONDS } = require('../cloud/replies');
const { httpLinks } = require('../cloud/small-resources');
const { SAFE, httpAnswer } = require('./answers');
const { ConversionError, readJson } = require('./cbor-json');
const { conditionsOf } = require('./conditions');
const { EventStreams } = require('./event-streams');
const { cborOf } = require('./json-cbor');
const { Accepted, JSON_FORMAT, JSON_TYPE, OCF, formatOf } = require('./media-types');
const { statusOf } = require('./statuses');
const { targetOf } = require('./target');

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('../../sources/http/request-handler').Answer} Answer */
/** @typedef {import('../cloud/cloud').OcfCloud} OcfCloud */
/** @typedef {import('../cloud/coap').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../cloud/route').Checked} Checked */
/** @typedef {import('../cloud/user-tokens').Bearer & { key: string }} Bearer */

const LIMITS = {
  bodyBytes: 262144,
  /** Bytes of all bodies in memory. */
  bodiesBytes: 16 << 20,
  /** Open requests, of all users and of one. */
  open: 4096,
  openOfUser: 256,
  /** Streams of events, of all users and of one. */
  streams: 512,
  streamsOfUser: 64,
  heartbeatMs: 15000
};
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];
/** Signed tokens are long. */
const BEARER = /^Bearer +([\w~+/.-]{1,8192}=*) *$/i;
const CORE = /^\/\.well-known\/core(\?(.*))?$/s;
/** Interfaces of a link whose resource can only be read. */
const READING = new Set(['oic.if.r', 'oic.if.s', 'oic.if.ll']);
const WRITING = new Set(['oic.if.rw', 'oic.if.a', 'oic.if.startup', 'oic.if.create', 'oic.if.baseline']);

class ProxyHandler {
  #cloud;
  #limits;
  #bodies;
  /** @type {Map<string, number>} */
  #openOf = new Map();
  #open = 0;
  #streams;
  /** Answers by the class of their status, such as 2xx. @type {Map<string, number>} */
  #answers = new Map();
  /** Refused logins: without a token, with a wrong one, after too many wrong ones. */
  #refused = { missing: 0, wrong: 0, limited: 0 };

  /** @param {OcfCloud} cloud @param {Partial<typeof LIMITS>} [limits] */
  constructor(cloud, limits = {}) {
    this.#cloud = cloud;
    this.#limits = { ...LIMITS, ...limits };
    this.#streams = new EventStreams(cloud, this.#limits);
    this.#bodies = new BodyReader(this.#limits.bodyBytes, this.#limits.bodiesBytes);
    /** True while the cloud closes. */
    this.ending = false;
  }

  /**
   * @param {Request} request
   * @param {() => void} [goOn] called when the client may send its body
   * @returns {Promise<Answer>}
   */
  async answer(request, goOn = () => {}) {
    const answer = await this.#answerOf(request, goOn);
    const code = `${Math.trunc(answer.status / 100)}xx`;
    this.#answers.set(code, (this.#answers.get(code) ?? 0) + 1);
    return answer;
  }

  /** @param {Request} request @param {() => void} goOn @returns {Promise<Answer>} */
  async #answerOf(request, goOn) {
    try {
      return await this.#take(request, goOn);
    } catch (error) {
      const refusal = this.#refusalOf(error);
      const { status, headers, body } = refusal;
      this.#cloud.refusals.add({
        address: addressOf(request.socket),
        di: '',
        method: `HTTP ${request.method}`,
        path: (request.url ?? '').split('?')[0],
        code: String(status),
        reason: refusal.message
      });
      return { status, headers: { 'Cache-Control': 'no-store', ...SAFE, ...headers }, body };
    }
  }

  /** @param {unknown} error @returns {HttpRefusal} */
  #refusalOf(error) {
    if (error instanceof HttpRefusal) return error;
    if (error instanceof Refusal) {
      const headers = error.maxAge === undefined ? {} : retryAfter(error.maxAge);
      return new HttpRefusal(statusOf(error.code, { hasBody: true, allow: [] }), error.message, { headers });
    }
    this.#cloud.problem(error);
    return new HttpRefusal(503, 'The cloud cannot do this at present.', {
      headers: retryAfter(UNAVAILABLE_SECONDS)
    });
  }

  /** @param {Request} request @param {() => void} goOn @returns {Promise<Answer>} */
  async #take(request, goOn) {
    const { method = '', url = '' } = request;
    const core = CORE.exec(url);
    if (core) return coreAnswer(method, core[2]);
    if (!/^\/hc(\/|$)/.test(url)) throw new HttpRefusal(404, 'There is no such resource here.');
    if (!METHODS.includes(method)) {
      throw new HttpRefusal(405, `Use ${METHODS.join(', ')}.`, { headers: { Allow: METHODS.join(', ') } });
    }
    if (this.ending) throw new HttpRefusal(503, 'The cloud is closing.', { headers: retryAfter(5) });
    const bearer = await this.#bearer(request);
    const done = this.#count(bearer.uid);
    try {
      return await this.#serve(request, goOn, bearer);
    } finally {
      done();
    }
  }

  /** @param {Request} request @returns {Promise<Bearer>} @throws {HttpRefusal} 401 */
  async #bearer({ headers: { authorization }, socket }) {
    const challenge = 'Bearer realm="seganet"';
    if (authorization === undefined) {
      this.#refused.missing++;
      const more = { headers: { 'WWW-Authenticate': challenge } };
      throw new HttpRefusal(401, 'Send a token: Authorization: Bearer TOKEN.', more);
    }
    const token = BEARER.exec(authorization)?.[1] ?? '';
    // A malformed header counts as a wrong token.
    const bearer = await this.#cloud.userTokens.find(token, addressOf(socket)).catch((error) => {
      if (error instanceof Refusal && error.code === '4.29') this.#refused.limited++;
      throw error;
    });
    if (bearer) return bearer;
    this.#refused.wrong++;
    const more = { headers: { 'WWW-Authenticate': `${challenge}, error="invalid_token"` } };
    throw new HttpRefusal(401, 'The token is wrong, revoked or expired.', more);
  }

  /** Counts an open request until the returned function is called. @param {string} uid */
  #count(uid) {
    const own = this.#openOf.get(uid) ?? 0;
    if (own >= this.#limits.openOfUser || this.#open >= this.#limits.open) {
      throw new HttpRefusal(429, 'There are too many open requests.', { headers: retryAfter(1) });
    }
    this.#openOf.set(uid, own + 1);
    this.#open++;
    return () => {
      this.#open--;
      const left = (this.#openOf.get(uid) ?? 0) - 1;
      if (left > 0) this.#openOf.set(uid, left);
      else this.#openOf.delete(uid);
    };
  }

  /** @param {Request} request @param {() => void} goOn @param {Bearer} bearer @returns {Promise<Answer>} */
  async #serve(request, goOn, bearer) {
    const { method = '', url = '', headers } = request;
    const target = targetOf(url);
    if (!target) throw new HttpRefusal(404, 'The address must be /hc/, the id of a device, and a path.');
    const { di, path, query } = target;
    const accepted = new Accepted(headers.accept);
    const isStream = method === 'GET' && accepted.wantsEvents;
    const options = [...conditionsOf(method, headers), ...(isStream ? [] : acceptOf(accepted))];
    this.#bodies.check(request);
    goOn();
    const { body, release } = await this.#bodies.read(request);
    try {
      const payload = body.length > 0 ? await this.#payload(request, di, body, options) : body;
      const wanted = { method: method === 'HEAD' ? 'GET' : method, path, query, options, payload };
      if (isStream) {
        // The token may have ended while the body was read.
        const valid = await this.#bearer(request);
        if (request.socket.destroyed) throw new HttpRefusal(400, 'The request ended too early.');
        return await this.#streams.open(request.socket, valid, di, wanted);
      }
      const { route } = this.#cloud;
      const checked = await route.check(di, bearer.uid, wanted);
      route.checkOpen(checked.via);
      const answer = await this.#ask(checked, bearer.uid);
      const hasTags = options.some(([number]) => number === OPTION.ETAG);
      const isRefused = dotted(answer.code) === '4.05';
      const allow = isRefused ? await this.#allowed(bearer.uid, di, path, method) : [];
      return httpAnswer(answer, { method, di, accepted, hasTags, allow });
    } finally {
      release();
    }
  }

  /**
   * Returns the payload for the device, and adds its format to the options.
   * @param {Request} request
   * @param {string} di
   * @param {Buffer} body
   * @param {import('../cloud/coap').Option[]} options
   * @returns {Promise<Buffer>}
   */
  async #payload({ method = '', headers }, di, body, options) {
    if (method !== 'POST' && method !== 'PUT') throw new HttpRefusal(400, `${method} has no body.`);
    const format = formatOf(headers['content-type']);
    // Endpoints of RFC 9176 may take JSON itself.
    const isConverted = format === JSON_FORMAT && (await viaOf(this.#cloud, di)) === '';
    options.push([OPTION.CONTENT_FORMAT, uint(isConverted ? OCF : format)]);
    if (!isConverted) return body;
    try {
      return cborOf(readJson(body));
    } catch (error) {
      if (error instanceof ConversionError) throw new HttpRefusal(400, `The body ${error.message}.`);
      throw error;
    }
  }

  /** @param {Checked} checked @param {string} uid @returns {Promise<DeviceAnswer>} */
  #ask(checked, uid) {
    return new Promise((resolve) => {
      this.#cloud.route.ask(checked, { uid, take: resolve, end: () => {} });
    });
  }

  /**
   * Returns what the published link says of a resource whose device refused a method. The device may know better, so
   * the refused method is not among them.
   * @param {string} uid
   * @param {string} di
   * @param {string[]} path
   * @param {string} method
   * @returns {Promise<string[]>} empty = not known
   */
  async #allowed(uid, di, path, method) {
    const { store, now } = this.#cloud;
    const links = await store.read('find', { uid, types: [], devices: [di], now: now(), most: 256 });
    const link = links.find(({ href }) => href === `/${path.join('/')}`);
    const interfaces = link ? decode(Buffer.from(link.body)).if : [];
    if (!Array.isArray(interfaces)) return [];
    const isWriting = interfaces.some((each) => WRITING.has(each) && each !== 'oic.if.baseline');
    const isReading = interfaces.some((each) => READING.has(each));
    const known = isWriting ? ['GET', 'HEAD', 'POST'] : isReading ? ['GET', 'HEAD'] : [];
    const refused = method === 'HEAD' ? ['GET', 'HEAD'] : method === 'GET' ? ['GET', 'HEAD'] : [method];
    return known.filter((each) => !refused.includes(each));
  }

  /** Ends all streams, and refuses further requests. */
  close() {
    this.ending = true;
    this.#streams.close();
  }

  get streams() {
    return this.#streams.size;
  }

  get open() {
    return this.#open;
  }

  /** Returns what the metrics and the live view show. Totals are those since the start. */
  figures() {
    return {
      requests: [...this.#answers].map(([code, count]) => ({ code, count })),
      open: this.#open,
      streams: this.#streams.size,
      refused: { ...this.#refused }
    };
  }
}

/** @param {import('node:net').Socket} socket @returns {string} such as 192.0.2.7:40312 */
function addressOf({ remoteAddress = '', remotePort = 0 }) {
  return `${remoteAddress}:${remotePort}`;
}

/** @param {Accepted} accepted @returns {import('../cloud/coap').Option[]} @throws {HttpRefusal} 406 */
function acceptOf(accepted) {
  // JSON is made of whatever CBOR the device answers.
  if (accepted.weight(JSON_TYPE) > 0) return [];
  const { format } = accepted;
  if (format !== null) return [[OPTION.ACCEPT, uint(format)]];
  throw new HttpRefusal(
    406,
    `Answers are available as ${JSON_TYPE}, application/cbor and application/vnd.ocf+cbor.`
  );
}

/** @param {string} method @param {string | undefined} query @returns {Answer} */
function coreAnswer(method, query = '') {
  if (method !== 'GET' && method !== 'HEAD') {
    throw new HttpRefusal(405, 'Use GET.', { headers: { Allow: 'GET, HEAD' } });
  }
  let decoded;
  try {
    decoded = decodeURIComponent(query);
  } catch {
    throw new HttpRefusal(400, 'The address has a malformed percent-encoding.');
  }
  const bytes = Buffer.from(httpLinks({ query: [decoded] }));
  const headers = { ...SAFE, 'Content-Type': 'application/link-format', 'Cache-Control': 'no-cache' };
  return { status: 200, headers, body: null, bytes };
}

module.exports = { ProxyHandler, LIMITS };
