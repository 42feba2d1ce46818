'use strict';
// A connection to the control socket of the overlay's program (seganet-overlay node): lines of JSON over a Unix socket.
// A request is {"id":1,"method":"status","params":{}}; its answer has the same id and either "result" or "error".
// Lines without an id are events. Local ports that a connection opened are closed with it.

const net = require('node:net');
const { StringDecoder } = require('node:string_decoder');

/** Characters of a line. The program keeps its status within that. */
const MAX_LINE = 1 << 20;
/** Requests without an answer. */
const MAX_PENDING = 64;

/** An error of the overlay's program, or of the way to it. Its message is a sentence. */
class OverlayError extends Error {
  /** @param {string} message @param {{ code?: string, cause?: unknown }} [options] */
  constructor(message, { code = 'OVERLAY', cause } = {}) {
    super(message, { cause });
    this.name = 'OverlayError';
    /** OVERLAY: the program refused. Others: of the socket, or protocol, or timeout. */
    this.code = code;
  }
}

/** @param {string} socket @param {NodeJS.ErrnoException} error */
function unreachable(socket, error) {
  const code = error.code ?? 'unknown';
  const remedy =
    code === 'EACCES'
      ? 'Only the user that runs it may use it: run the gateway as that user.'
      : 'Start seganet-overlay node, or let the overlay network node start it.';
  return new OverlayError(`The overlay's program does not answer at ${socket} (${code}). ${remedy}`, {
    code,
    cause: error
  });
}

/** @typedef {{ resolve: (result: any) => void, reject: (error: Error) => void, timer: NodeJS.Timeout }} Pending */

class ControlConnection {
  #path;
  #socket;
  #onEvent;
  #onEnd;
  #nextId = 1;
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  #rest = '';
  #isOver = false;

  /**
   * @param {string} path of the socket
   * @param {object} [handlers]
   * @param {() => void} [handlers.onOpen]
   * @param {(event: Record<string, any>) => void} [handlers.onEvent]
   * @param {(error: Error) => void} [handlers.onEnd] called once, not after close()
   */
  constructor(path, { onOpen = () => {}, onEvent = () => {}, onEnd = () => {} } = {}) {
    this.#path = path;
    this.#onEvent = onEvent;
    this.#onEnd = onEnd;
    const decoder = new StringDecoder('utf8');
    this.#socket = net.connect({ path });
    // The process may end while only this connection is open.
    this.#socket.unref();
    this.#socket.on('connect', onOpen);
    this.#socket.on('data', (bytes) => this.#take(decoder.write(bytes)));
    this.#socket.on('error', (error) => this.#end(unreachable(path, error)));
    this.#socket.on('close', () =>
      this.#end(new OverlayError("The overlay's program closed its control socket.", { code: 'closed' }))
    );
  }

  get isOver() {
    return this.#isOver;
  }

  /**
   * @param {string} method
   * @param {object} [params]
   * @param {number} [timeoutMs]
   * @returns {Promise<any>} the result; rejects with an OverlayError
   */
  request(method, params = {}, timeoutMs = 10000) {
    if (this.#isOver)
      return Promise.reject(new OverlayError('The overlay is not connected.', { code: 'closed' }));
    if (this.#pending.size >= MAX_PENDING)
      return Promise.reject(
        new OverlayError(`${MAX_PENDING} requests to the overlay's program wait already.`, { code: 'busy' })
      );
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(
          new OverlayError(`The overlay's program did not answer "${method}" in time.`, { code: 'timeout' })
        );
      }, timeoutMs);
      this.#pending.set(id, { resolve, reject, timer });
      this.#socket.write(`${JSON.stringify({ id, method, params })}\n`);
    });
  }

  /** @param {string} text */
  #take(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (!this.#isOver && line.trim() !== '') this.#line(line);
    if (this.#rest.length > MAX_LINE) this.#malformed('a line that is too long');
  }

  /** @param {string} line */
  #line(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#malformed('a line that is not JSON');
    }
    if (message === null || typeof message !== 'object' || Array.isArray(message))
      return this.#malformed('a line that is not an object');
    if (message.id === undefined) return this.#onEvent(message);
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    this.#pending.delete(message.id);
    clearTimeout(pending.timer);
    if (message.error === undefined) return pending.resolve(message.result ?? {});
    const text = typeof message.error === 'string' ? message.error : message.error?.text;
    pending.reject(new OverlayError(typeof text === 'string' && text ? text : 'The overlay refused.'));
  }

  /** @param {string} what */
  #malformed(what) {
    this.#end(
      new OverlayError(`${this.#path} is not a control socket of the overlay: it sent ${what}.`, {
        code: 'protocol'
      })
    );
  }

  /** @param {Error} error */
  #end(error) {
    if (this.#isOver) return;
    this.#finish(error);
    this.#onEnd(error);
  }

  /** @param {Error} error */
  #finish(error) {
    this.#isOver = true;
    this.#socket.destroy();
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#pending.clear();
  }

  close() {
    if (!this.#isOver) this.#finish(new OverlayError('The connection was closed.', { code: 'closed' }));
  }
}

exports.ControlConnection = ControlConnection;
exports.MAX_PENDING = MAX_PENDING;
exports.OverlayError = OverlayError;
