'use strict';
// The request desk of one listener: passes requests of devices to their owner, and requests of the owner to devices.
// The engine must listen at the stage with ListenOptions.desk.

const { guard } = require('../../base/guard');
const { onceATurn } = require('../../base/timing/once-a-turn');
const { answerCode, methodCode, methodOf } = require('./codes');
const { DeskTopics } = require('./desk-topics');

/**
 * Limits of one turn, so that a flood leaves Node-RED time for other work. Events are taken in small parts, because one
 * post may be a notification to a thousand subscribers, and those that the engine still has get newer.
 */
const MAX_EVENTS = 256;
const PART = 16;
const TURN_MS = 10;
/** Requests of one call of the engine. */
const MOST_AT_ONCE = 1024;
const ASK_TIMEOUT_MS = 10000;
const EMPTY = Buffer.alloc(0);
const UNAVAILABLE = 0xa3;
const MAX_AGE = 14;

/** Index: DeskEvent.result. @type {readonly Recorded[]} */
const RECORDED = ['safe', 'full', 'notAllowed', 'notTaken', 'lost'];
/** Index: PushResult. @type {readonly Recorded[]} */
const NOT_PUSHED = ['safe', 'full', 'tooLong', 'lost', 'lost', 'notTaken', 'oddTopic'];

/**
 * @typedef {import('../../../../native/index.js').Engine} Engine
 * @typedef {import('../../../../native/index.js').DeskEvent} DeskEvent
 * @typedef {Pick<Engine, 'takeDesk' | 'answerRequest' | 'answerRequests' | 'identifyConnection' | 'forgetConnection' |
 *   'settleRequest' | 'grantConnection' | 'closeConnection' | 'recordOfConnection' | 'askDevice' |
 *   'cancelAsk'> & import('./desk-topics').TopicEngine} DeskEngine
 * @typedef {[number: number, value: Uint8Array]} Option
 *
 * @typedef {'safe' | 'full' | 'notAllowed' | 'notTaken' | 'lost' | 'tooLong' | 'oddTopic'} Recorded what became of a
 *   record: safe; memory is full or the device is over its rate; the connection has no device, or the permissions
 *   forbid it; nothing takes it; unknown, because the connection ended; device, topic or payload is too long; the
 *   topic has wildcards or characters that brokers refuse
 *
 * @typedef {object} Peer
 * @property {string} address such as 192.0.2.7:40312
 * @property {Record<string, string>} [certificate] that the peer has proven (TlsListenerOptions.certNote)
 *
 * @typedef {object} DeskRequest
 * @property {number} connection
 * @property {string} device '' before identify()
 * @property {Peer} peer
 * @property {import('./codes').Method} method
 * @property {string[]} path
 * @property {string[]} query
 * @property {[number, Buffer][]} options in ascending order, without those of the URI and of blocks
 * @property {Buffer} payload whole, also if it came in blocks
 * @property {Buffer} token
 *
 * @typedef {object} DeviceAnswer
 * @property {number} code such as 0x45
 * @property {[number, Buffer][]} options
 * @property {Buffer} payload
 * @property {boolean} last false: it is of an observation, and notifications follow
 * @property {boolean} failed true: it is not of the device; the payload is a sentence of the gateway
 *
 * @typedef {object} Hooks
 * @property {(request: DeskRequest) => void} asked must lead to answer(), unless the connection ends
 * @property {(connection: number, token: Uint8Array, code: number) => void} [answered] an answer or a notification
 *   leaves, code such as 0x45
 * @property {(connection: number, device: string, reason: string) => void} gone the connection has closed, or it no
 *   longer has `device` (forget(), expiry). Reasons of the engine: closed, protocol, silent, takenOver, expired,
 *   timeout, evicted, refused, busy, notTaken, stopped
 * @property {(topic: number, number: number, payload: Buffer) => void} [posted] a post to a topic that
 *   followTopic() follows is safe. Posts come in the order of their numbers
 * @property {(error: Error) => void} fault gets what `asked`, `gone` or a callback throws
 */

/** The latest handle of a record. A late outcome must not be that of a record of the stage's next desk. */
let lastRecord = 0;

class CoapDesk {
  #engine;
  #stage;
  #hooks;
  #endBell;
  /** @type {Map<number, (answer: DeviceAnswer) => void>} by handle */
  #asks;
  /** @type {Map<number, (recorded: Recorded) => void>} by handle */
  #records;
  /**
   * @param {DeskEngine} engine
   * @param {number} stage
   * @param {(fn: () => void) => () => void} onBell Upkeep.onBell
   * @param {Hooks} hooks
   */
  constructor(engine, stage, onBell, hooks) {
    this.#engine = engine;
    this.#stage = stage;
    this.#hooks = hooks;
    this.#asks = new Map();
    this.#records = new Map();
    this.topics = new DeskTopics(engine, stage);
    this.#endBell = onBell(onceATurn(() => this.#takeSome()));
  }

  /**
   * Answers a request. An observation (request with Observe 0) gets further answers with the same token, until one has
   * no Observe option or is an error.
   * @param {number} connection
   * @param {Uint8Array} token
   * @param {number | string} code such as 0x45 or '2.05'
   * @param {Option[]} [options] in any order
   * @param {Uint8Array} [payload] of any size; goes in blocks if the peer takes only smaller messages
   * @returns {boolean} false if the connection has closed
   */
  answer(connection, token, code, options = [], payload = EMPTY) {
    const number = answerCode(code);
    this.#hooks.answered?.(connection, token, number);
    return this.#engine.answerRequest(connection, token, number, options, payload);
  }

  /**
   * Gives the same answer to several requests, as answer() does. Who has closed the connection gets none.
   * @param {{ connection: number, token: Uint8Array }[]} requests
   * @param {number | string} code
   * @param {Option[]} [options]
   * @param {Uint8Array} [payload]
   */
  answerAll(requests, code, options = [], payload = EMPTY) {
    const number = answerCode(code);
    for (const { connection, token } of requests) this.#hooks.answered?.(connection, token, number);
    for (let first = 0; first < requests.length; first += MOST_AT_ONCE)
      this.#engine.answerRequests(requests.slice(first, first + MOST_AT_ONCE), number, options, payload);
  }

  /**
   * The connection has proven to be a device. An older connection of the device gets 7.04 and is closed.
   * @param {number} connection
   * @param {object} identity
   * @param {string} identity.device 1 to 256 bytes
   * @param {string} [identity.owner]
   * @param {number} [identity.until] ms since 1970; 0 and Infinity = no end. At the end it is forgotten ('expired')
   * @param {number} [identity.forwardUntil] ms since 1970: requests of the connection, and to it, are forwarded until
   *   then (DeskOptions.forward); 0 = `until`. A further call with the same device changes the ends
   * @param {true} [identity.replace] an older connection is always replaced
   * @returns {boolean} false if the connection has closed or has another device, or the id is not allowed
   */
  identify(connection, { device, owner = '', until = 0, forwardUntil = 0, replace = true }) {
    if (replace !== true) throw new TypeError('replace must be true');
    return this.#engine.identifyConnection(connection, device, owner, whole(until), whole(forwardUntil));
  }

  /**
   * Lets another owner use the device of a connection by requests that are forwarded, until forget().
   * @param {number} connection
   * @param {string} owner 1 to 256 bytes
   * @param {'r' | 'rw'} rights r: GET and FETCH
   */
  grant(connection, owner, rights) {
    return this.#engine.grantConnection(connection, owner, rights === 'rw' ? 2 : 1);
  }

  /** Ends a grant. @param {number} connection @param {string} owner */
  revoke(connection, owner) {
    return this.#engine.grantConnection(connection, owner, 0);
  }

  /**
   * A request that has no answer yet was passed on: forwarded requests of its connection, which would have overtaken
   * it, need not wait any longer.
   * @param {number} connection
   * @param {Uint8Array} token
   */
  settled(connection, token) {
    return this.#engine.settleRequest(connection, token);
  }

  /**
   * Takes the device from a connection, which stays open. gone() follows.
   * @param {number} connection
   * @param {string} reason 1 to 64 bytes
   */
  forget(connection, reason) {
    return this.#engine.forgetConnection(connection, reason);
  }

  /**
   * Sends 7.04 and closes the connection. gone() follows.
   * @param {number} connection
   * @param {string} reason 1 to 64 bytes
   */
  close(connection, reason) {
    return this.#engine.closeConnection(connection, reason);
  }

  /**
   * Sends a request to a device. Failures are answers, too: 5.03 if the device is not connected, or with Max-Age 1 if
   * too many of its requests are open; 5.04 if it does not answer in time.
   * @param {string} device
   * @param {object} request
   * @param {string} [request.method] such as GET
   * @param {string[]} request.path
   * @param {string[]} [request.query]
   * @param {Option[]} [request.options]
   * @param {Uint8Array} [request.payload]
   * @param {boolean} [request.observe] requests with the same path, query and Accept share one observation
   * @param {number} [request.timeoutMs] for the first answer
   * @param {(answer: DeviceAnswer) => void} onAnswer called later, never in this call
   * @returns {number} handle for cancel()
   */
  ask(device, request, onAnswer) {
    const { method = 'GET', path, query = [], options = [], payload = EMPTY, observe = false } = request;
    const { timeoutMs = ASK_TIMEOUT_MS } = request;
    const spec = { method: methodCode(method), path, query, options, payload, observe };
    const handle = this.#engine.askDevice(this.#stage, device, spec, timeoutMs);
    if (handle !== 0) this.#asks.set(handle, onAnswer);
    else setImmediate(() => this.#guard(() => onAnswer(full())));
    return handle;
  }

  /**
   * Ends a request or an observation without a further answer.
   * @param {number} handle
   */
  cancel(handle) {
    if (this.#asks.delete(handle)) this.#engine.cancelAsk(handle);
  }

  /**
   * Makes a record of the connection's device.
   * @param {number} connection
   * @param {string} topic
   * @param {Uint8Array} payload
   * @param {number} [recordClass] 1..8; 0 = that of the device
   * @param {number} [post] of topics.openTopic(): the record is a post to that topic; 0 = to none
   * @returns {Promise<Recorded>} when it is safe, or will not be
   */
  record(connection, topic, payload, recordClass = 0, post = 0) {
    const handle = ++lastRecord;
    const result = this.#engine.recordOfConnection(connection, handle, topic, payload, recordClass, post);
    if (result !== 0) return Promise.resolve(NOT_PUSHED[result] ?? 'notTaken');
    return new Promise((resolve) => this.#records.set(handle, resolve));
  }

  /** Ends the desk. Its listener must be closed. Open requests get no answer, and open records are 'lost'. */
  end() {
    this.#endBell();
    for (const handle of [...this.#asks.keys()]) this.cancel(handle);
    for (const resolve of this.#records.values()) resolve('lost');
    this.#records.clear();
    this.topics.end();
    // What is left neither holds memory nor reaches the next desk of the stage.
    while (this.#engine.takeDesk(this.#stage, MAX_EVENTS).length > 0);
  }

  /** @returns {boolean} true if there may be more */
  #takeSome() {
    const end = performance.now() + TURN_MS;
    for (let taken = 0; taken < MAX_EVENTS && performance.now() <= end; taken += PART) {
      const events = this.#engine.takeDesk(this.#stage, PART);
      for (const event of events) this.#guard(() => this.#handle(event));
      if (events.length < PART) return false;
    }
    return true;
  }

  /** @param {() => void} fn */
  #guard(fn) {
    guard(fn, this.#hooks.fault);
  }

  /** @param {DeskEvent} event */
  #handle(event) {
    switch (event.kind) {
      case 'asked':
        return this.#hooks.asked(requestOf(event));
      case 'gone':
        return this.#hooks.gone(event.connection, event.device, event.reason);
      case 'answer': {
        const { handle, code, options, payload, last, failed } = event;
        const onAnswer = this.#asks.get(handle);
        if (last) this.#asks.delete(handle);
        return onAnswer?.({ code, options, payload, last, failed });
      }
      case 'posted':
        return this.#hooks.posted?.(event.handle, event.number, event.payload);
      case 'latest':
        return this.topics.answered(event);
      default: {
        const resolve = this.#records.get(event.handle);
        this.#records.delete(event.handle);
        return resolve?.(RECORDED[event.result] ?? 'lost');
      }
    }
  }
}

/** @param {Extract<DeskEvent, { kind: 'asked' }>} event @returns {DeskRequest} */
function requestOf({ connection, device, address, note, code, path, query, options, payload, token }) {
  const peer = note ? { address, certificate: JSON.parse(note) } : { address };
  return { connection, device, peer, method: methodOf(code), path, query, options, payload, token };
}

/** @param {number} ms since 1970, 0 and Infinity = no end */
const whole = (ms) => (ms === 0 || !Number.isFinite(ms) ? 0 : Math.max(1, Math.trunc(ms)));

/** @returns {DeviceAnswer} the engine takes no further request */
const full = () => ({
  code: UNAVAILABLE,
  options: [[MAX_AGE, Buffer.from([1])]],
  payload: EMPTY,
  last: true,
  failed: true
});

exports.CoapDesk = CoapDesk;
