'use strict';
// Opens a server when records have a route, and tries again every second while the port is not free.

const { listenSentence, listenStatus } = require('../../engine/listening');
const { shorten } = require('../../base/status');

/** Open requests may finish while the engine drains. */
const CLOSE_MS = 5000;
const CHECK_MS = 1000;

class PortOpener {
  #door;
  #place;
  #error;
  #offer;
  /** Withdraws the port from the overlay. @type {(() => Promise<void>) | undefined} */
  #withdraw;
  #isTrying;
  /** Time of the last check of the open server; 0 = not open. */
  #checkedAt;
  #isClosed;
  /** @type {Promise<void>} */
  #tried;

  /**
   * @param {import('./http-server').HttpServer} server
   * @param {{ host: string, port: number }} place
   * @param {(sentence: string) => void} error
   * @param {import('../../settings/overlay-offer').OfferPlace} [offer] offers the open port to an overlay
   */
  constructor(server, place, error, offer) {
    this.#door = server;
    this.#place = place;
    this.#error = error;
    this.#offer = offer;
    /** Why the server is not open, for the status. */
    this.trouble = '';
    this.#isTrying = false;
    this.#checkedAt = 0;
    this.#isClosed = false;
    this.#tried = Promise.resolve();
  }

  /**
   * Call it at each doorbell. It is cheap while the server is open.
   * @param {boolean} isWanted
   */
  tick(isWanted) {
    const now = performance.now();
    // Each check is a system call (getsockname), and there may be thousands of doorbells a second.
    if (this.#checkedAt > 0 && now - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = this.#door.port ? now : 0;
    if (this.#checkedAt > 0) {
      this.#door.refresh(now).catch((error) => this.#tell('certificate not read', error.message));
    } else if (isWanted && !this.#isTrying && !this.#isClosed) {
      this.#isTrying = true;
      this.#tried = this.#try().finally(() => setTimeout(() => (this.#isTrying = false), 1000).unref());
    }
  }

  async #try() {
    const { host, port } = this.#place;
    try {
      await this.#door.listen();
      this.trouble = '';
      await this.#withdraw?.();
      this.#withdraw = this.#offer?.({ host, port: this.#door.port, network: 'tcp' });
    } catch (error) {
      const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
      // Other errors are about the certificate.
      if (/^E[A-Z]+$/.test(code))
        this.#tell(listenStatus(port, code, message), listenSentence(host, port, code, message));
      else this.#tell('certificate not usable', `Devices cannot connect: ${message}`);
    }
  }

  /** @param {string} shown @param {string} sentence reported once */
  #tell(shown, sentence) {
    if (shown !== this.trouble) this.#error(sentence);
    this.trouble = shorten(shown);
  }

  async close() {
    this.#isClosed = true;
    await this.#tried;
    await this.#door.close(CLOSE_MS);
    await this.#withdraw?.();
  }
}

exports.PortOpener = PortOpener;
