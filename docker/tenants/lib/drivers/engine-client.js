'use strict';
// The part of the Docker Engine API that tenants need, over its Unix socket. Podman's service answers the same.

const http = require('node:http');
const { TenantError, messageOf } = require('../base/errors');

/** Newest API version that this program supports; an older engine gets requests in its own version. */
const NEWEST = '1.47';
/** The oldest version of Podman's own API that all of its current versions accept. */
const LIBPOD = '4.0.0';
const ANSWER_MS = 60_000;
const RETRY_MS = 2000;
const MAX_ANSWER_BYTES = 16 << 20;

/** The engine refused. */
class Refusal extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** @param {string} a @param {string} b @returns {string} the older of two versions such as 1.41 */
function older(a, b) {
  const [x, y] = [a, b].map((version) => version.split('.').map(Number));
  return x[0] < y[0] || (x[0] === y[0] && x[1] < y[1]) ? a : b;
}

/**
 * @typedef {object} More
 * @property {unknown} [body] sent as JSON
 * @property {import('node:stream').Readable} [stream] sent as it is, instead of a body
 * @property {AbortSignal} [signal]
 * @property {number} [limitMs] for the answer; 0 = none
 */

class EngineClient {
  #socket;
  #agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  /** @type {Promise<string> | null} */
  #version = null;

  /** @param {string} socket path */
  constructor(socket) {
    this.#socket = socket;
  }

  /**
   * @param {string} method
   * @param {string} path without the version; /libpod/… is Podman's own API
   * @param {More} [more]
   * @returns {Promise<any>} JSON, else a Buffer; null if the answer is empty
   * @throws {Refusal | TenantError} TenantError: the engine does not answer
   */
  async ask(method, path, more = {}) {
    this.#version ??= this.#negotiate();
    let version;
    try {
      version = await this.#version;
    } catch (error) {
      this.#version = null;
      throw error;
    }
    const spoken = path.startsWith('/libpod/') ? LIBPOD : version;
    return (await this.#send(method, `/v${spoken}${path}`, more)).value;
  }

  /** As `ask`, but null if the engine has no such object. @type {EngineClient['ask']} */
  async find(method, path, more) {
    try {
      return await this.ask(method, path, more);
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return null;
      throw error;
    }
  }

  close() {
    this.#agent.destroy();
  }

  /** @returns {Promise<string>} version of the API */
  async #negotiate() {
    const { headers } = await this.#send('GET', '/_ping', {});
    const offered = String(headers['api-version'] ?? '');
    return /^\d+\.\d+$/.test(offered) ? older(offered, NEWEST) : NEWEST;
  }

  /**
   * @param {string} method @param {string} path @param {More} more
   * @returns {Promise<{ value: any, headers: http.IncomingHttpHeaders }>}
   */
  #send(method, path, { body, stream, signal, limitMs = ANSWER_MS }) {
    const data = body === undefined ? null : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const away = (/** @type {unknown} */ error) => {
        this.#version = null;
        reject(
          new TenantError(
            'engine',
            `The engine at ${this.#socket} does not answer: ${messageOf(error)}.`,
            RETRY_MS
          )
        );
      };
      const request = http.request({
        socketPath: this.#socket,
        // A wait for a container's end would block one of the shared connections.
        agent: limitMs === 0 ? false : this.#agent,
        method,
        path,
        signal,
        headers: {
          Host: 'engine',
          ...(data && { 'Content-Type': 'application/json', 'Content-Length': data.length }),
          ...(stream && { 'Content-Type': 'application/x-tar' })
        }
      });
      const timer =
        limitMs &&
        setTimeout(() => request.destroy(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
      request.once('close', () => clearTimeout(timer || undefined));
      // Several errors of one request are possible: of its signal, and of its connection.
      request.on('error', away);
      request.once('response', async (response) => {
        try {
          const bytes = await read(response);
          const { statusCode = 0, headers } = response;
          if (statusCode >= 400) return reject(new Refusal(reasonOf(bytes), statusCode));
          resolve({ value: valueOf(bytes), headers });
        } catch (error) {
          away(error);
        }
      });
      if (stream) stream.pipe(request);
      else request.end(data ?? undefined);
    });
  }
}

/** @param {http.IncomingMessage} response @returns {Promise<Buffer>} */
async function read(response) {
  /** @type {Buffer[]} */
  const parts = [];
  let size = 0;
  for await (const part of response) {
    size += part.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('its answer is too long');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** @param {Buffer} bytes @returns {any} */
function valueOf(bytes) {
  if (bytes.length === 0) return null;
  if (bytes[0] !== 0x7b && bytes[0] !== 0x5b) return bytes;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return bytes;
  }
}

/** @param {Buffer} bytes @returns {string} the engine's sentence */
function reasonOf(bytes) {
  const value = valueOf(bytes);
  return String(value?.message ?? value?.cause ?? bytes.toString()).slice(0, 400);
}

exports.EngineClient = EngineClient;
exports.Refusal = Refusal;
