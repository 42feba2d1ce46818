'use strict';
// One connection between two gateways. Both sides send requests and answer those of the other.

const { OPTION, hasOption, uint, uintOption } = require('../../cloud/coap');
const { Backlog } = require('./backlog');
const { MOST_MESSAGE_BYTES, MOST_OPTIONS, MessageReader, SIGNAL, encodeMessage } = require('./link-messages');

/** @typedef {import('../../cloud/coap').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../../cloud/coap').Option} Option */
/** @typedef {import('./link-messages').Message} Message */
/** @typedef {{ code: number, path: string[], query?: string[], options: Option[], payload: Buffer, observe: boolean, timeoutMs: number }} Outgoing */
/**
 * An observation or request of the other side.
 * @typedef {object} Incoming
 * @property {Message} message
 * @property {boolean} isObserve
 * @property {(code: number, options: Option[], payload: Buffer) => void} answer more than once only for notifications
 * @property {(work: () => void) => void} onEnd calls it when the other side, or the end of the link, ends the request;
 *   at once if that has happened
 */
/**
 * @typedef {object} LinkHooks
 * @property {(incoming: Incoming) => void} asked
 * @property {(reason: string) => void} ended once: silent, closed, released, aborted, slow, protocol, or what end() got
 */
/** @typedef {{ onAnswer: (answer: DeviceAnswer) => void, observe: boolean, path: string[], timer: NodeJS.Timeout | undefined }} Ask */

const LIMITS = {
  /** A silent link gets a Ping after this time, and ends after the same time again. */
  pingMs: 5000,
  /** Requests and observations of each side. */
  mostOpen: 4096,
  /** Bytes that wait for the other side. Above the first, it gets no more requests; above the second, the link ends. */
  busyBytes: 4 << 20,
  mostBytes: 16 << 20
};
const EMPTY = Buffer.alloc(0);
const CODE = { EMPTY: 0, CONTENT: 0x45, BAD_GATEWAY: 0xa2, UNAVAILABLE: 0xa3, GATEWAY_TIMEOUT: 0xa4 };
const GET = 1;
/** Classes of answers. */
const ANSWERS = [2, 4, 5];
/** Most bytes that the head of an option has. */
const OPTION_HEAD = 5;
/** Option of CSM: Max-Message-Size (RFC 8323, 5.3.1). */
const MAX_MESSAGE_SIZE = 2;
/** The other gateway answers within the time that it gives its device. */
const ANSWER_GRACE_MS = 2000;

class Link {
  #stream;
  #hooks;
  #limits;
  #reader = new MessageReader();
  #nextToken = 1;
  /** @type {Map<string, Ask>} */
  #asks = new Map();
  /** Ends of what the other side asked for. @type {Map<string, { end: () => void }>} */
  #served = new Map();
  #pingTimer;
  #heardAt = performance.now();
  /** When the Ping was sent that has no answer yet; -1 = there is none. */
  #pingedAt = -1;
  isOpen = true;

  /**
   * @param {import('node:stream').Duplex} stream decrypted
   * @param {LinkHooks} hooks
   * @param {Partial<typeof LIMITS>} [limits]
   */
  constructor(stream, hooks, limits = {}) {
    this.#stream = stream;
    this.#hooks = hooks;
    this.#limits = { ...LIMITS, ...limits };
    stream.on('error', () => {});
    stream.on('close', () => this.end('closed'));
    stream.on('end', () => this.end('closed'));
    stream.on('data', (/** @type {Buffer} */ bytes) => this.#receive(bytes));
    this.#pingTimer = setInterval(() => this.#watch(), this.#limits.pingMs / 2);
    this.#pingTimer.unref();
    this.#write({ code: SIGNAL.CSM, options: [[MAX_MESSAGE_SIZE, uint(MOST_MESSAGE_BYTES)]] });
  }

  /** Requests and observations of this side. */
  get open() {
    return this.#asks.size;
  }

  /** Requests and observations of the other side. */
  get served() {
    return this.#served.size;
  }

  get isFull() {
    return this.#asks.size >= this.#limits.mostOpen || this.#stream.writableLength > this.#limits.busyBytes;
  }

  /**
   * Sends a request.
   * @param {Outgoing} outgoing
   * @param {(answer: DeviceAnswer) => void} onAnswer called later, never in this call
   * @returns {string | null} handle for cancel()
   */
  ask({ code, path, query = [], options, payload, observe, timeoutMs }, onAnswer) {
    if (!this.isOpen || this.isFull) {
      setImmediate(onAnswer, failure(CODE.UNAVAILABLE, 'The region of the device is busy.', 1));
      return null;
    }
    const token = Buffer.alloc(4);
    token.writeUInt32BE(this.#nextToken);
    this.#nextToken = (this.#nextToken + 1) >>> 0;
    const key = token.toString('latin1');
    const timer = setTimeout(() => {
      this.cancel(key);
      onAnswer(failure(CODE.GATEWAY_TIMEOUT, 'The region of the device did not answer in time.'));
    }, timeoutMs + ANSWER_GRACE_MS);
    this.#asks.set(key, { onAnswer, observe, path, timer });
    this.#write({
      code,
      token,
      options: [...uriOptions(path, query), ...options, ...(observe ? [observing(0)] : [])],
      payload
    });
    return key;
  }

  /** Ends a request or an observation without a further answer. @param {string | null} handle */
  cancel(handle) {
    const ask = handle === null ? undefined : this.#asks.get(handle);
    if (!ask || handle === null) return;
    clearTimeout(ask.timer);
    this.#asks.delete(handle);
    if (!ask.observe) return;
    this.#write({
      code: GET,
      token: Buffer.from(handle, 'latin1'),
      options: [...uriOptions(ask.path, []), observing(1)]
    });
  }

  /**
   * Ends the link. Open requests of this side get 5.03, and those of the other side end.
   * @param {string} reason
   */
  end(reason) {
    if (!this.isOpen) return;
    this.isOpen = false;
    clearInterval(this.#pingTimer);
    // A peer that does not read would not get a last message, either.
    if (reason === 'silent' || reason === 'slow' || this.#stream.destroyed) this.#stream.destroy();
    else this.#closeSoon(reason);
    const asks = [...this.#asks.values()];
    this.#asks.clear();
    const served = [...this.#served.values()];
    this.#served.clear();
    for (const { end } of served) end();
    for (const { onAnswer, timer } of asks) {
      clearTimeout(timer);
      onAnswer(failure(CODE.UNAVAILABLE, 'The connection to the region of the device was lost.'));
    }
    this.#hooks.ended(reason);
  }

  /** Lets the last message leave. @param {string} reason */
  #closeSoon(reason) {
    const stream = this.#stream;
    stream.resume();
    if (reason === 'closed') stream.end();
    else stream.end(encodeMessage({ code: reason === 'protocol' ? SIGNAL.ABORT : SIGNAL.RELEASE }));
    const timer = setTimeout(() => stream.destroy(), 1000);
    timer.unref();
    stream.once('close', () => clearTimeout(timer));
  }

  #watch() {
    const now = performance.now();
    const { pingMs } = this.#limits;
    if (this.#pingedAt >= 0) {
      if (now - this.#pingedAt >= pingMs) this.end('silent');
      return;
    }
    // A gateway that was busy has not read yet, so a link never ends without a Ping.
    if (now - this.#heardAt < pingMs) return;
    this.#pingedAt = now;
    this.#write({ code: SIGNAL.PING, token: EMPTY });
  }

  /** @param {Buffer} bytes */
  #receive(bytes) {
    if (!this.isOpen) return;
    this.#heardAt = performance.now();
    this.#pingedAt = -1;
    let messages;
    try {
      messages = this.#reader.feed(bytes);
    } catch {
      return this.end('protocol');
    }
    for (const message of messages) if (this.isOpen) this.#take(message);
  }

  /** @param {Message} message */
  #take(message) {
    const { code, token } = message;
    const kind = code >> 5;
    if (code === SIGNAL.PING) return this.#write({ code: SIGNAL.PONG, token });
    if (code === SIGNAL.RELEASE) return this.end('released');
    if (code === SIGNAL.ABORT) return this.end('aborted');
    if (kind === 7 || code === CODE.EMPTY) return;
    if (kind === 0) return this.#serve(message);
    if (ANSWERS.includes(kind)) this.#answered(message);
    else this.end('protocol');
  }

  /** @param {Message} message */
  #answered({ code, token, options, payload }) {
    const key = token.toString('latin1');
    const ask = this.#asks.get(key);
    if (!ask) return;
    clearTimeout(ask.timer);
    const goesOn = ask.observe && code >> 5 === 2 && hasOption({ options }, OPTION.OBSERVE);
    if (!goesOn) this.#asks.delete(key);
    ask.onAnswer({ code, options, payload, last: !goesOn });
  }

  /** @param {Message} message */
  #serve(message) {
    const { code, token } = message;
    const key = token.toString('latin1');
    const observe = code === GET ? uintOption(message, OPTION.OBSERVE) : undefined;
    const before = this.#served.get(key);
    this.#served.delete(key);
    before?.end();
    if (observe === 1) return this.#write({ code: CODE.CONTENT, token });
    if (this.#served.size >= this.#limits.mostOpen) {
      const { options, payload } = failure(CODE.UNAVAILABLE, 'The link has too many open requests.', 1);
      return this.#write({ code: CODE.UNAVAILABLE, token, options, payload });
    }
    const backlog = new Backlog();
    const entry = { end: () => backlog.end() };
    this.#served.set(key, entry);
    this.#hooks.asked({
      message,
      isObserve: observe === 0,
      onEnd: (work) => backlog.add(work),
      answer: (answerCode, options, payload) => {
        if (this.#served.get(key) !== entry) return;
        // Written as it is, it would end the link for all.
        const size = options.reduce((sum, [, { length }]) => sum + OPTION_HEAD + length, payload.length + 1);
        if (options.length > MOST_OPTIONS || size > MOST_MESSAGE_BYTES) {
          this.#served.delete(key);
          this.#write({
            code: CODE.BAD_GATEWAY,
            token,
            payload: Buffer.from('The answer of the device is too large.')
          });
          return entry.end();
        }
        const goesOn = observe === 0 && answerCode >> 5 === 2 && hasOption({ options }, OPTION.OBSERVE);
        if (!goesOn) this.#served.delete(key);
        this.#write({ code: answerCode, token, options, payload });
      }
    });
  }

  /** @param {{ code: number, token?: Buffer, options?: Option[], payload?: Buffer }} message */
  #write(message) {
    if (!this.isOpen || this.#stream.destroyed) return;
    this.#stream.write(encodeMessage(message));
    if (this.#stream.writableLength > this.#limits.mostBytes) this.end('slow');
  }
}

/** @param {number} value @returns {Option} */
const observing = (value) => [OPTION.OBSERVE, uint(value)];

/** @param {string[]} path @param {string[]} query @returns {Option[]} */
function uriOptions(path, query) {
  return [
    ...path.map((segment) => /** @type {Option} */ ([OPTION.URI_PATH, Buffer.from(segment)])),
    ...query.map((part) => /** @type {Option} */ ([OPTION.URI_QUERY, Buffer.from(part)]))
  ];
}

/** @param {number} code @param {string} sentence @param {number} [maxAge] s @returns {DeviceAnswer} */
function failure(code, sentence, maxAge) {
  return {
    code,
    options: maxAge === undefined ? [] : [[OPTION.MAX_AGE, uint(maxAge)]],
    payload: Buffer.from(sentence),
    last: true,
    failed: true
  };
}

module.exports = { Link, LIMITS, failure };
