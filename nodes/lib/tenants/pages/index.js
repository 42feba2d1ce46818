'use strict';

const { PasswordVerifier } = require('../../login/password-verifier');
const { PageServer } = require('./page-server');

const RETRY_MS = 5000;
const FILES_MS = 10000;

/**
 * @typedef {object} PagesOptions
 * @property {string} host
 * @property {number} port
 * @property {import('../../sources/http/http-server').Tls | null} tls
 * @property {string} passwordFile
 * @property {import('./held-leases').Keeper} keeper
 * @property {(tenant: string) => number} pagesOf see PageServer
 * @property {(sentence: string) => void} warn
 * @property {(sentence: string) => void} error
 */

/** The port for the pages of tenants. While it is not free, it is tried again. */
class Pages {
  #server;
  #verifier;
  #options;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #files;
  #isClosed = false;

  /** @param {PagesOptions} options @throws {Error} with a sentence */
  constructor(options) {
    const { passwordFile, warn } = options;
    if (!passwordFile) {
      throw new Error(
        "The tenants' pages need a password file. Make one with seganet-passwd, with users such as acme/alice."
      );
    }
    this.#options = options;
    this.#verifier = new PasswordVerifier(passwordFile, { warn });
    try {
      this.#server = new PageServer({ ...options, verifier: this.#verifier });
    } catch (error) {
      this.#verifier.close();
      throw error;
    }
    /** Where it listens, 0 = it does not. */
    this.port = 0;
    this.#files = setInterval(() => void this.#server.refresh(), FILES_MS).unref();
    void this.#open('');
  }

  get figures() {
    return this.#server.figures;
  }

  /** @param {string} said error that was reported */
  async #open(said) {
    const { host, port, error } = this.#options;
    try {
      this.port = await this.#server.open();
      if (this.#isClosed) await this.#server.close();
    } catch (thrown) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (thrown);
      const why = code ?? message;
      if (why !== said)
        error(
          `The tenants' pages cannot be opened on ${host}:${port} (${why}). Choose another port, or free it.`
        );
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => void this.#open(why), RETRY_MS).unref();
    }
  }

  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#files);
    this.#verifier.close();
    await this.#server.close();
  }
}

exports.Pages = Pages;
