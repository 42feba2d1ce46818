'use strict';
// The client of the keeper (seganet-tenants): HTTP with JSON over a Unix socket, one connection a request.

const http = require('node:http');
const { KeeperError, unreachable } = require('./keeper-error');
const { TENANT } = require('../../base/tenant-id');

/** For requests that the keeper answers at once. */
const ANSWER_MS = 5000;
/** The list of 1,000 tenants has about 400 bytes each. */
const MAX_ANSWER_BYTES = 8 << 20;
/** A start, with all others before it. */
const WAKE_MS = 600000;
/** An orderly end. */
const SLEEP_MS = 120000;
/** A backup, which reads all data of the tenant. */
const BACKUP_MS = 4 * 3600000;
/** The keeper ends a lease 30 s after its last renewal. */
const RENEW_MS = 10000;
const MAX_RETRY_MS = 3600000;
const MAX_SENTENCE = 500;
/** Name of a user, for the keeper's output. */
const MAX_BY = 128;

/**
 * @typedef {object} Lease
 * @property {string} id
 * @property {string} host
 * @property {number} port
 * @property {string} user
 * @property {string} password
 * @property {string} how start, unpause, running
 * @property {number} readyMs
 *
 * @typedef {{ reason: 'records' | 'connection' | 'timetable' | 'operator', class: number, holder: string }} LeaseRequest
 */

class KeeperClient {
  /** @param {{ socket: string, answerMs?: number }} options socket: absolute path */
  constructor({ socket, answerMs = ANSWER_MS }) {
    this.socket = socket;
    this.answerMs = answerMs;
  }

  /** @returns {Promise<Record<string, unknown>[]>} the tenants as the keeper describes them */
  async tenants() {
    const { tenants } = await this.#ask('GET', '/v1/tenants');
    if (!Array.isArray(tenants)) throw this.#wrong('it has no list of tenants');
    return tenants.filter((each) => typeof each?.name === 'string');
  }

  /**
   * Wakes a tenant, also after failures. For an operator: nothing keeps it awake.
   * @param {string} name
   * @returns {Promise<{ how: string, readyMs: number }>} when it accepts connections
   */
  async wake(name) {
    const { how = '', readyMs = 0 } = await this.#order(name, 'wake', {}, WAKE_MS);
    return { how: String(how), readyMs: Number(readyMs) || 0 };
  }

  /**
   * Stops a tenant. For an operator.
   * @param {string} name
   * @param {{ force?: boolean }} [options] force: although it is in use
   * @returns {Promise<{ state: string }>} when it has ended; rejects with the code leased if it is in use
   */
  async sleep(name, { force = false } = {}) {
    const { state = '' } = await this.#order(name, 'sleep', { force }, SLEEP_MS);
    return { state: String(state) };
  }

  /**
   * Makes a backup. For an operator.
   * @param {string} name
   * @returns {Promise<object>} when it is complete
   */
  async backup(name) {
    await this.#order(name, 'backup', {}, BACKUP_MS);
    return {};
  }

  /**
   * For an operator: what tenants can be made of.
   * @returns {Promise<Record<string, unknown>[]>} as the keeper describes them
   */
  async templates() {
    const { templates } = await this.#ask('GET', '/v1/templates');
    if (!Array.isArray(templates)) throw this.#wrong('it has no list of templates');
    return templates.filter((each) => typeof each?.name === 'string');
  }

  /**
   * Makes a tenant of a template. For an operator.
   * @param {string} name
   * @param {{ template: string, by: string }} options by: who asks
   */
  async add(name, { template, by }) {
    const body = { name, template, by: by.slice(0, MAX_BY) };
    await this.#ask('POST', '/v1/tenants', { body, timeoutMs: SLEEP_MS });
  }

  /**
   * Removes a tenant that was made by add(); its data are kept. For an operator.
   * @param {string} name
   * @param {{ force: boolean, by: string }} options force: although it is in use
   */
  async remove(name, { force, by }) {
    const body = { force, by: by.slice(0, MAX_BY) };
    await this.#ask('DELETE', pathOf(name), { body, timeoutMs: SLEEP_MS });
  }

  /**
   * Begins to copy the flow of a template into its tenants. For an operator.
   * @param {string} template
   * @param {{ by: string }} options
   */
  async rollout(template, { by }) {
    if (!TENANT.test(template)) throw new KeeperError('The template has no valid name.', { code: 'unknown' });
    const body = { by: by.slice(0, MAX_BY) };
    await this.#ask('POST', `/v1/templates/${template}/rollout`, { body, timeoutMs: SLEEP_MS });
  }

  /**
   * For an operator: what the tenant has written to its output.
   * @param {string} name
   * @param {number} lines the latest ones, 1..1000
   * @returns {Promise<string>}
   */
  async logs(name, lines) {
    const { text } = await this.#ask('GET', `${pathOf(name)}/logs?lines=${lines}`);
    if (typeof text !== 'string') throw this.#wrong('it has no text');
    return text;
  }

  /**
   * @param {string} name
   * @returns {Promise<{ code: string, text: string }>} why the tenant takes no records, in the keeper's words
   */
  async why(name) {
    const { code, text } = await this.#ask('GET', `${pathOf(name)}/why`);
    if (typeof code !== 'string' || typeof text !== 'string') throw this.#wrong('it has no text');
    return { code: code.slice(0, 40), text: text.slice(0, 2 * MAX_SENTENCE) };
  }

  /** @param {string} name @param {string} action @param {object} body @param {number} timeoutMs */
  #order(name, action, body, timeoutMs) {
    return this.#ask('POST', `${pathOf(name)}/${action}`, { body, timeoutMs });
  }

  /**
   * Asks the keeper to wake a tenant. Resolves when the tenant accepts connections.
   * @param {string} name
   * @param {LeaseRequest} request
   * @param {{ timeoutMs: number, signal?: AbortSignal }} limits
   * @returns {Promise<Lease>}
   */
  async lease(name, request, { timeoutMs, signal }) {
    const options = { body: request, timeoutMs, signal };
    const answer = await this.#ask('POST', `${pathOf(name)}/lease`, options);
    const { lease: id, host, port, user = '', password = '', how = '', readyMs = 0 } = answer;
    if (typeof id !== 'string' || !/^[\w.:-]{1,128}$/.test(id)) throw this.#wrong('the lease has no id');
    if (typeof host !== 'string' || !/^[\w.:-]{1,255}$/.test(host))
      throw this.#wrong('the lease has no host');
    if (!Number.isInteger(port) || port < 1 || port > 65535) throw this.#wrong('the lease has no port');
    return {
      id,
      host,
      port,
      user: String(user),
      password: String(password),
      how: String(how),
      readyMs: Number(readyMs) || 0
    };
  }

  /** @param {string} lease @returns {Promise<void>} rejects with the code gone if it has ended */
  async renew(lease) {
    await this.#ask('PUT', `/v1/leases/${lease}`);
  }

  /** Idempotent. @param {string} lease @returns {Promise<void>} */
  async release(lease) {
    try {
      await this.#ask('DELETE', `/v1/leases/${lease}`);
    } catch (error) {
      const { code } = /** @type {KeeperError} */ (error);
      if (code !== 'gone' && code !== 'unknown') throw error;
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ body?: object, timeoutMs?: number, signal?: AbortSignal }} [options]
   * @returns {Promise<any>} the answer's object
   * @throws {KeeperError}
   */
  #ask(method, path, { body, timeoutMs = this.answerMs, signal } = {}) {
    const payload = body ? Buffer.from(JSON.stringify(body)) : null;
    const headers = payload ? { 'content-type': 'application/json', 'content-length': payload.length } : {};
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath: this.socket, method, path, headers, agent: false });
      const timer = setTimeout(() => {
        const sentence = `The keeper of the tenants did not answer within ${timeoutMs / 1000} s (${method} ${path}).`;
        request.destroy(new KeeperError(sentence, { code: 'timeout' }));
      }, timeoutMs);
      const abort = () => request.destroy(new KeeperError('The request was canceled.', { code: 'canceled' }));
      /** @param {Error | null} error @param {unknown} [answer] */
      const end = (error, answer) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        if (error) reject(error instanceof KeeperError ? error : unreachable(this.socket, error));
        else resolve(answer);
      };
      signal?.addEventListener('abort', abort, { once: true });
      if (signal?.aborted) abort();
      request.on('error', end);
      request.on('response', (response) => {
        /** @type {Buffer[]} */
        const chunks = [];
        let bytes = 0;
        response.on('data', (chunk) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > MAX_ANSWER_BYTES) request.destroy(this.#wrong(`it exceeds ${MAX_ANSWER_BYTES} bytes`));
        });
        response.on('error', end);
        response.on('end', () => {
          try {
            end(null, this.#read(response.statusCode ?? 0, Buffer.concat(chunks)));
          } catch (error) {
            end(/** @type {Error} */ (error));
          }
        });
      });
      request.end(payload ?? undefined);
    });
  }

  /** @param {number} status @param {Buffer} bytes @returns {object} */
  #read(status, bytes) {
    let answer = /** @type {any} */ ({});
    try {
      if (bytes.length > 0) answer = JSON.parse(bytes.toString());
    } catch {
      throw this.#wrong('it is not JSON');
    }
    if (typeof answer !== 'object' || answer === null) throw this.#wrong('it is no object');
    if (status >= 200 && status < 300) return answer;
    const sentence = String(answer.error ?? `The keeper answered ${status}.`).slice(0, MAX_SENTENCE);
    const word = typeof answer.code === 'string' && /^[\w-]{1,40}$/.test(answer.code) ? answer.code : '';
    const code = status === 410 ? 'gone' : status === 404 ? 'unknown' : word || 'failed';
    const retryMs = Number.isFinite(answer.retryMs) ? Math.min(MAX_RETRY_MS, Math.max(0, answer.retryMs)) : 0;
    throw new KeeperError(sentence, { code, retryMs });
  }

  /** @param {string} why */
  #wrong(why) {
    return new KeeperError(
      `The answer of the keeper of the tenants on ${this.socket} cannot be used: ${why}. Use a keeper of the same release.`,
      { code: 'protocol' }
    );
  }
}

/** @param {string} name @returns {string} path of a tenant @throws {KeeperError} */
function pathOf(name) {
  if (!TENANT.test(name)) throw new KeeperError('The tenant has no valid name.', { code: 'unknown' });
  return `/v1/tenants/${name}`;
}

exports.KeeperClient = KeeperClient;
exports.RENEW_MS = RENEW_MS;
