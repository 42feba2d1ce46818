'use strict';
// The client of an OpenID provider: exchanges the authorization code that a device brought for the user's id.

const { isLoopback } = require('../../base/loopback');
const { SUBJECT } = require('../cloud/access-codes');
const { loadClient } = require('./client-package');

/** Time for one request to the provider. A device waits for its answer meanwhile. */
const REQUEST_SECONDS = 5;
/** Time between two looks for a provider that was not reachable. It doubles. */
const RETRY_MS = 2000;
const MOST_RETRY_MS = 60000;
/** The provider's metadata is read again after this time. */
const METADATA_MS = 3600000;
/** Errors of the system without a connection. */
const UNSENT = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']);

/**
 * @typedef {object} Settings
 * @property {string} issuer URL
 * @property {string} clientId
 * @property {string} clientSecret '' = a public client
 * @property {string} redirectUri with which codes are requested
 * @property {number} [requestSeconds] for tests
 */
/** @typedef {{ issuer: string, sub: string, refreshToken: string }} Login refreshToken '' = there is none */

/** The provider gave no answer that tells whether a code or token is right. */
class Unavailable extends Error {
  /** False: the request cannot have reached the provider. */
  wasSent = true;
}

class Issuer {
  #settings;
  #events;
  #load;
  /** @type {any} */
  #oauth = null;
  /** Metadata and client of openid-client. @type {any} */
  #config = null;
  #readAt = 0;
  /** @type {Promise<any> | null} */
  #reading = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #retryMs = RETRY_MS;
  #isClosed = false;
  /** Why users of the provider cannot sign devices up, for the status; '' = they can. */
  trouble = '';

  /**
   * @param {Settings} settings
   * @param {{ warn: (sentence: string) => void, log: (sentence: string) => void }} events
   * @param {() => Promise<any>} [load] for tests
   */
  constructor(settings, events, load = loadClient) {
    this.#settings = settings;
    this.#events = events;
    this.#load = load;
  }

  /** Looks for the provider, and again until it is there. */
  start() {
    this.#look();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /**
   * Exchanges an authorization code. The provider takes it once only.
   * @param {string} code
   * @returns {Promise<Login | null>} null: the provider refuses it
   * @throws {Unavailable}
   */
  exchange(code) {
    const { redirectUri } = this.#settings;
    return this.#ask(async (oauth, config) => {
      // Authorization code flow without the redirect, which another program than this one got (RFC 6749 section 4.1.3).
      const tokens = await oauth.genericGrantRequest(config, 'authorization_code', {
        code,
        redirect_uri: redirectUri
      });
      return this.#loginOf(config, tokens);
    });
  }

  /**
   * Asks for new tokens of a user, which tells whether the provider still allows the user.
   * @param {string} refreshToken
   * @returns {Promise<{ refreshToken: string } | null>} the token for the next question, '' = the same one; null: the
   *   provider refuses it
   * @throws {Unavailable}
   */
  renew(refreshToken) {
    return this.#ask(async (oauth, config) => {
      const tokens = await oauth.refreshTokenGrant(config, refreshToken);
      return { refreshToken: tokens.refresh_token ?? '' };
    });
  }

  /**
   * Returns the provider's metadata (OpenID Connect Discovery, section 3).
   * @returns {Promise<{ issuer: string, jwks_uri?: string }>}
   * @throws {Unavailable}
   */
  async metadata() {
    // It is looked for at intervals already.
    if (!this.#config && this.trouble) throw new Unavailable(`The provider of users is ${this.trouble}.`);
    try {
      return (await this.#current()).serverMetadata();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /**
   * @template T
   * @param {(oauth: any, config: any) => Promise<T>} question
   * @returns {Promise<T | null>} null: the provider refuses the code or token
   * @throws {Unavailable}
   */
  async #ask(question) {
    let isReady = false;
    try {
      const config = await this.#current();
      isReady = true;
      const answer = await question(this.#oauth, config).catch((error) => {
        if (error?.error === 'invalid_grant') return null;
        throw error;
      });
      this.#reached();
      return answer;
    } catch (error) {
      throw Object.assign(this.#failed(error), { wasSent: isReady && !isUnsent(error) });
    }
  }

  /** @param {any} config @param {any} tokens @returns {Login} */
  #loginOf(config, tokens) {
    const sub = tokens.claims()?.sub;
    if (typeof sub !== 'string' || !SUBJECT.test(sub)) {
      throw new Error('its answer has no ID token with a user; ask for the scope openid at the login');
    }
    return { issuer: config.serverMetadata().issuer, sub, refreshToken: tokens.refresh_token ?? '' };
  }

  /** Returns the client, and reads the provider's metadata if necessary. */
  async #current() {
    if (!this.#config) return this.#read();
    if (performance.now() - this.#readAt > METADATA_MS && !this.#reading) this.#read().catch(() => {});
    return this.#config;
  }

  /** @returns {Promise<any>} */
  #read() {
    this.#reading ??= this.#discover().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #discover() {
    const { issuer, clientId, clientSecret, requestSeconds = REQUEST_SECONDS } = this.#settings;
    const oauth = (this.#oauth ??= await this.#load());
    const url = new URL(issuer);
    const isPlain = url.protocol === 'http:';
    if (isPlain && !isLoopback(url.hostname)) throw new Error('it needs https');
    const execute = isPlain ? [oauth.allowInsecureRequests] : [];
    const found = await oauth.discovery(url, clientId, undefined, oauth.None(), {
      execute,
      timeout: requestSeconds
    });
    const metadata = found.serverMetadata();
    const authentication = clientSecret
      ? authenticationFor(oauth, metadata.token_endpoint_auth_methods_supported)(clientSecret)
      : oauth.None();
    const config = new oauth.Configuration(metadata, clientId, undefined, authentication);
    config.timeout = requestSeconds;
    // Without this, the TLS connection alone proves the ID token.
    oauth.enableNonRepudiationChecks(config);
    for (const change of execute) change(config);
    this.#config = config;
    this.#readAt = performance.now();
    return config;
  }

  #look() {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#read().then(
      () => this.#reached(),
      (error) => this.#failed(error)
    );
  }

  #reached() {
    this.#retryMs = RETRY_MS;
    if (!this.trouble) return;
    this.trouble = '';
    this.#events.log(`The provider of users ${this.#settings.issuer} works again.`);
  }

  /** @param {any} error @returns {Unavailable} */
  #failed(error) {
    const { shown, why, mayPass } = explained(error);
    const sentence = `The provider of users ${this.#settings.issuer} cannot be used: ${why}. Sign-ups with its codes are answered with 5.03 meanwhile.`;
    if (!this.#isClosed && this.trouble !== shown) this.#events.warn(sentence);
    this.trouble = shown;
    if (mayPass && !this.#isClosed) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), this.#retryMs).unref();
      this.#retryMs = Math.min(this.#retryMs * 2, MOST_RETRY_MS);
    }
    return new Unavailable(sentence);
  }
}

/** True if there was no connection for the request. @param {any} error */
function isUnsent(error) {
  for (let each = error; each instanceof Error; each = /** @type {any} */ (each.cause)) {
    if (UNSENT.has(/** @type {NodeJS.ErrnoException} */ (each).code ?? '')) return true;
  }
  return false;
}

/**
 * Returns how the client proves itself. A provider that lists no methods takes HTTP Basic (OpenID Connect Discovery,
 * section 3).
 * @param {any} oauth
 * @param {string[] | undefined} methods
 */
function authenticationFor(oauth, methods = ['client_secret_basic']) {
  return methods.includes('client_secret_post') ? oauth.ClientSecretPost : oauth.ClientSecretBasic;
}

/**
 * @param {any} error
 * @returns {{ shown: string, why: string, mayPass: boolean }} shown: for the status; mayPass: without a change here
 */
function explained(error) {
  if (error?.code === 'NO_CLIENT') {
    return { shown: 'openid-client missing', why: error.message.replace(/\.$/, ''), mayPass: false };
  }
  if (error?.error === 'invalid_client' || error?.error === 'unauthorized_client') {
    return {
      shown: 'client refused',
      why: 'it refuses the client id or secret; correct both in the node',
      mayPass: false
    };
  }
  /** @type {string[]} */
  const reasons = [];
  for (
    let each = error;
    each instanceof Error && reasons.length < 4;
    each = /** @type {any} */ (each.cause)
  ) {
    const { code, message, error_description: described } = /** @type {any} */ (each);
    const reason = each.name === 'TimeoutError' ? 'no answer in time' : (described ?? message) || code;
    if (reason && !reasons.includes(reason)) reasons.push(reason);
  }
  const why = reasons.join(': ').replace(/\.$/, '') || String(error);
  return { shown: 'not reachable', why, mayPass: true };
}

exports.Issuer = Issuer;
exports.Unavailable = Unavailable;
