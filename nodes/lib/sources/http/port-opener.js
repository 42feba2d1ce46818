'use strict';
// Opens a server when records have a route, and tries again every second while the port is not free.

const { listenSentence, listenStatus } = require('../../engine/listening');
const { shorten } = require('../../base/status');

/** Open requests may finish while the engine drains. */
const CLOSE_MS = 5000;
const CHECK_MS = 1000;

class PortOpener {
  /**
   * @param {import('./http-server').HttpServer} server
   * @param {{ host: string, port: number }} place
   * @param {(sentence: string) => void} error
   */
  constructor(server, place, error) {
    this.door_ = server;
    this.place_ = place;
    this.error_ = error;
    /** Why the server is not open, for the status. */
    this.trouble = '';
    this.isTrying_ = false;
    /** Time of the last check of the open server; 0 = not open. */
    this.checkedAt_ = 0;
    this.isClosed_ = false;
    /** @type {Promise<void>} */
    this.tried_ = Promise.resolve();
  }

  /**
   * Call it at each doorbell. It is cheap while the server is open.
   * @param {boolean} isWanted
   */
  tick(isWanted) {
    const now = performance.now();
    // Each check is a system call (getsockname), and there may be thousands of doorbells a second.
    if (this.checkedAt_ > 0 && now - this.checkedAt_ < CHECK_MS) return;
    this.checkedAt_ = this.door_.port ? now : 0;
    if (this.checkedAt_ > 0) {
      this.door_.refresh(now).catch((error) => this.tell_('certificate not read', error.message));
    } else if (isWanted && !this.isTrying_ && !this.isClosed_) {
      this.isTrying_ = true;
      this.tried_ = this.try_().finally(() => setTimeout(() => (this.isTrying_ = false), 1000).unref());
    }
  }

  async try_() {
    const { host, port } = this.place_;
    try {
      await this.door_.listen();
      this.trouble = '';
    } catch (error) {
      const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
      // Other errors are about the certificate.
      if (/^E[A-Z]+$/.test(code))
        this.tell_(listenStatus(port, code, message), listenSentence(host, port, code, message));
      else this.tell_('certificate not usable', `Devices cannot connect: ${message}`);
    }
  }

  /** @param {string} shown @param {string} sentence reported once */
  tell_(shown, sentence) {
    if (shown !== this.trouble) this.error_(sentence);
    this.trouble = shorten(shown);
  }

  async close() {
    this.isClosed_ = true;
    await this.tried_;
    await this.door_.close(CLOSE_MS);
  }
}

exports.PortOpener = PortOpener;
