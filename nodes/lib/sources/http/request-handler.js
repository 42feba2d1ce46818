'use strict';
// Handles a request from its first line to its response. The status is 200 only if every record is safe.

const { CODES } = require('../../engine/inbox');
const { traceOf } = require('../../base/trace-context');
const { NO_TENANT, splitName } = require('../../base/tenant-id');
const { BodyReader } = require('./body-reader');
const { kindOf, readDocument } = require('./body-records');
const { originsOf, topicRule } = require('./http-options');
const { IdempotencyKeys } = require('./idempotency-keys');
const { RequestRates } = require('./request-rates');
const { HttpRefusal, retryAfter } = require('./http-refusal');
const { parseTarget } = require('./http-route');

const MIN_BUDGET_BYTES = 16 * 1024 * 1024;
const MAX_PENDING = 10000;
/** Statuses of records that the engine did not take, by the error's code; others: 503. */
const STATUS_BY_CODE = new Map(
  /** @type {[string, number][]} */ ([
    [CODES.TOO_LONG, 413],
    [CODES.ODD_TOPIC, 400],
    [CODES.NO_PART, 403],
    [CODES.PART_FULL, 429]
  ])
);
const ANY_CLIENT = { name: '', allows: () => true };

/**
 * @typedef {import('node:http').IncomingMessage} Request
 *
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, string>} headers
 * @property {object | null} body becomes JSON; null = none
 * @property {Buffer | null} [bytes] a body of another type, which the headers name
 * @property {(response: import('node:http').ServerResponse) => void} [stream] writes the body after the headers
 *
 * @typedef {object} Engine
 * @property {(args: import('../../base/record').RecordArgs, done: import('../../engine/inbox').Done) => void} put calls
 *   done when the record is safe
 * @property {() => boolean} hasRoom
 * @property {number} maxPayloadBytes
 */

class RequestHandler {
  #settings;
  #engine;
  #tokens;
  #now;
  #origins;
  #mayPublish;
  #rates;
  #tenant;

  /**
   * @param {import('./http-options').Settings} settings
   * @param {Engine} engine
   * @param {import('../../login/token-file').TokenFile | null} tokens null = every client may send
   * @param {() => number} [now] ms
   * @param {import('../../base/tenant-id').TenantRule} [tenant]
   */
  constructor(settings, engine, tokens, now = () => performance.now(), tenant = NO_TENANT) {
    this.#tenant = tenant;
    this.#settings = settings;
    this.#engine = engine;
    this.#tokens = tokens;
    this.#now = now;
    this.#origins = originsOf(settings.corsOrigins);
    this.#mayPublish = topicRule(settings);
    const limit = settings.maxBodyKiB * 1024;
    this.bodies = new BodyReader(limit, Math.max(MIN_BUDGET_BYTES, 4 * limit));
    this.#rates = new RequestRates(settings.rate, settings.burst);
    /** Of requests that may be repeated. */
    this.keys = new IdempotencyKeys(now);
    this.pending = 0;
    /** Refused requests by status. @type {Record<number, number>} */
    this.refused = {};
    this.accepted = 0;
    /** Called for each request with a wrong token. @type {(address: string) => void} */
    this.onWrongToken = () => {};
    /** True while the engine or the node closes. */
    this.ending = false;
  }

  /**
   * @param {Request} request
   * @param {() => void} [goOn] called when the client may send its body
   * @returns {Promise<Answer>}
   */
  async answer(request, goOn = () => {}) {
    const cors = this.#cors(request);
    try {
      if (request.method === 'OPTIONS' && cors) return { status: 204, headers: cors, body: null };
      const accepted = await this.#take(request, cors, goOn);
      return { status: 200, headers: { ...cors }, body: { accepted } };
    } catch (error) {
      if (!(error instanceof HttpRefusal)) throw error;
      this.refused[error.status] = (this.refused[error.status] ?? 0) + 1;
      return { status: error.status, headers: { ...cors, ...error.headers }, body: error.body };
    }
  }

  /**
   * @param {Request} request
   * @param {object | null} cors
   * @param {() => void} goOn
   * @returns {Promise<number>} safe records
   */
  async #take(request, cors, goOn) {
    const { method, headers, url = '' } = request;
    // A web page can post to an address of this machine, but its browser always sends an Origin.
    if (headers.origin !== undefined && !cors) {
      throw new HttpRefusal(403, 'Web pages may not send records here: see the allowed origins of the node.');
    }
    const route = parseTarget(url, this.#settings.path);
    if (method !== 'POST')
      throw new HttpRefusal(405, 'Send records with POST.', { headers: { Allow: 'POST' } });
    const bearer = this.#bearer(request);
    if (route.device && !bearer.allows(route.device))
      throw new HttpRefusal(403, 'The token is not for this device.');
    const [type] = (headers['content-type'] ?? '').toLowerCase().split(';');
    const kind = kindOf(route, type.trim());
    const tenant = this.#tenantOf(bearer);
    this.#checkRoom();
    this.bodies.check(request);
    goOn();
    const { body, release } = await this.bodies.read(request);
    try {
      const document = readDocument(kind, body, route, {
        maxPayloadBytes: this.#engine.maxPayloadBytes,
        class: this.#settings.class,
        allows: bearer.allows,
        mayPublish: this.#mayPublish,
        tenant,
        trace: traceOf(headers.traceparent, headers.tracestate)
      });
      const key = headers['idempotency-key'];
      const name = Array.isArray(key) ? key[0] : key;
      const submission = this.keys.submission(name, bearer.name, url, body, document.records.length);
      try {
        await this.#run(submission, document);
        return submission.safe;
      } finally {
        submission.leave();
      }
    } finally {
      release();
    }
  }

  /**
   * @param {Request} request
   * @returns {import('../../login/token-file').Bearer}
   */
  #bearer({ headers: { authorization }, socket }) {
    const bearer = this.#tokens ? this.#tokens.find(authorization) : ANY_CLIENT;
    if (bearer) return bearer;
    if (authorization !== undefined) this.onWrongToken(`${socket.remoteAddress}:${socket.remotePort}`);
    const headers = { 'WWW-Authenticate': 'Bearer realm="seganet"' };
    throw new HttpRefusal(401, 'A token is required: Authorization: Bearer …', { headers });
  }

  /**
   * @param {import('../../login/token-file').Bearer} bearer
   * @returns {string} '' = the node has no tenant rule
   */
  #tenantOf({ name }) {
    const { from, name: own } = this.#tenant;
    if (from !== 'user') return own;
    const { tenant } = splitName(name);
    if (tenant) return tenant;
    throw new HttpRefusal(403, 'The token belongs to no tenant: its name must be like acme/pump-1.');
  }

  #checkRoom() {
    if (this.ending) throw new HttpRefusal(503, 'The gateway is stopping.', { headers: retryAfter(5) });
    if (this.#engine.hasRoom() && this.pending < MAX_PENDING) return;
    throw new HttpRefusal(503, 'The engine is full.', { headers: retryAfter(2), body: { accepted: 0 } });
  }

  /**
   * @param {import('./submission').Submission} submission
   * @param {import('./body-records').Document} document
   */
  async #run(submission, { records, place }) {
    /** @type {Map<string, number>} */
    const wanted = new Map();
    for (const index of submission.open) {
      const { deviceId } = records[index];
      wanted.set(deviceId, (wanted.get(deviceId) ?? 0) + 1);
    }
    const waitS = this.#rates.take(wanted, this.#now());
    if (waitS > 0) {
      const more = { headers: retryAfter(waitS), body: { accepted: submission.safe } };
      throw new HttpRefusal(429, 'The device sends too fast.', more);
    }
    submission.run(
      records,
      (args, done) => this.#put(args, done),
      () => this.#engine.hasRoom() && this.pending < MAX_PENDING
    );
    await submission.settled(this.#settings.safeTimeoutS * 1000);
    if (!submission.isDone) throw this.#notSafe(submission, place(submission.firstOpen));
  }

  /**
   * @param {import('../../base/record').RecordArgs} args
   * @param {import('../../engine/inbox').Done} done
   */
  #put(args, done) {
    this.pending++;
    let isOpen = true;
    const settle = (/** @type {Error | undefined} */ error) => {
      if (!isOpen) return;
      isOpen = false;
      this.pending--;
      if (!error) this.accepted++;
      done(error);
    };
    try {
      this.#engine.put(args, settle);
    } catch (error) {
      settle(/** @type {Error} */ (error));
      throw error;
    }
  }

  /**
   * @param {import('./submission').Submission} submission
   * @param {object} place of the first record that is not safe
   */
  #notSafe({ safe, pending, error }, place) {
    const code = /** @type {{ code?: string } | null} */ (error)?.code;
    const status = STATUS_BY_CODE.get(code ?? '') ?? 503;
    const why = error?.message ?? (pending ? 'The records are not safe yet.' : 'The engine is full.');
    return new HttpRefusal(status, why, {
      headers: status === 503 || status === 429 ? retryAfter(5) : {},
      body: { ...place, accepted: safe, ...(pending > 0 && { pending }) }
    });
  }

  /**
   * @param {Request} request
   * @returns {Record<string, string> | null} null: web pages of its origin are refused
   */
  #cors({ headers: { origin } }) {
    if (origin === undefined || !this.#origins.some((each) => each === '*' || each === origin)) return null;
    return {
      'Access-Control-Allow-Origin': origin,
      'Access-Control-Allow-Methods': 'POST',
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, Idempotency-Key, Traceparent, Tracestate',
      'Access-Control-Max-Age': '600',
      Vary: 'Origin'
    };
  }
}

exports.RequestHandler = RequestHandler;
