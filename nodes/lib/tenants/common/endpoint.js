'use strict';

const RETRY_MS = 5000;
const FILES_MS = 10000;

/**
 * @typedef {object} Server
 * @property {() => Promise<number>} open resolves to the port
 * @property {() => Promise<void>} refresh uses renewed certificates
 * @property {() => Promise<void>} close
 */

/**
 * A port by which people and programs reach their tenants. While it is not free, it is tried again.
 * @template {Server} S
 */
class Endpoint {
  #options;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #files;
  #isClosed = false;

  /**
   * @param {S} server
   * @param {{ what: string, host: string, port: number, error: (sentence: string) => void }} options what: the begin of
   *   the sentence that reports a port that is not free
   */
  constructor(server, options) {
    this.server = server;
    this.#options = options;
    /** Where it listens, 0 = it does not. */
    this.port = 0;
    this.#files = setInterval(() => void server.refresh(), FILES_MS).unref();
    void this.#open('');
  }

  /** @param {string} said error that was reported */
  async #open(said) {
    const { what, host, port, error } = this.#options;
    try {
      this.port = await this.server.open();
      if (this.#isClosed) await this.server.close();
    } catch (thrown) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (thrown);
      const why = code ?? message;
      if (why !== said) error(`${what} on ${host}:${port} (${why}). Choose another port, or free it.`);
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => void this.#open(why), RETRY_MS).unref();
    }
  }

  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#files);
    await this.server.close();
  }
}

exports.Endpoint = Endpoint;
